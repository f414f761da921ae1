"""From the arguments of `chebact run clinical` to the tables that it learns from."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from chebact.lab import LabError
from chebact.lab.clinical.cohorts import generated_choice_cohort, generated_cohort
from chebact.lab.clinical.table import Columns, DataError, Recordings, TwoLabels, preset, read_recordings, rows_of
from chebact.lab.options import Several, about

__all__ = ["TableOptions", "resolve_tables"]

COLUMNS = ("subject", "label", "positive", "negative")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")  # of a folder


@dataclass(frozen=True)
class TableOptions:
    """What table to learn from, and what its columns mean."""

    data: Annotated[Path | None, about("A CSV file with one row per recording; without it, generated data.")] = None
    preset: Annotated[
        str | None,
        about("A table with known columns: dementiabank, famouspeople, parkinson-replicated or parkinson-multiple."),
    ] = None
    name: Annotated[str | None, about("What to call the data: the preset or the file's name by default.")] = None
    subject: Annotated[str | None, about("The column that says who was recorded.")] = None
    label: Annotated[str | None, about('The column of the label: a value, or JSON such as [{"name": "ad"}].')] = None
    positive: Annotated[str | None, about("The label of class 1.")] = None
    negative: Annotated[
        tuple[str, ...], Several, about("The labels of class 0; recordings of any other are left out.")
    ] = ()
    features: Annotated[str | None, about("A text file with one feature name per line, or the word all.")] = None
    drop: Annotated[tuple[str, ...], Several, about("Columns that are no features.")] = ()
    two_labels: Annotated[
        TwoLabels,
        about("What becomes of a subject with recordings of both classes: refuse the table, keep or drop the subject."),
    ] = "refuse"
    select: Annotated[
        str | None,
        about(
            "A second CSV file of the same columns on which Boruta chooses the features; or the word folds, to have "
            "them chosen on the training side of every fold; or the word none."
        ),
    ] = None


def resolve_tables(options: TableOptions) -> tuple[Recordings, Recordings | None]:
    """The table, and the one to choose the features on, if any."""
    if options.data is None:
        named = [f"--{each}" for each in ("preset", "name", *COLUMNS, "drop") if getattr(options, each)]
        named += ["--two-labels"] * (options.two_labels != "refuse")
        if named:
            raise LabError(f"{', '.join(named)} is about a table of your own; name its file with --data")
        return generated_tables(options.features, options.select)
    meaning = resolve_columns(options)
    called = options.name or options.preset or options.data.stem
    if not NAME.fullmatch(called) or called in ("generated", "generated-choice"):
        wanted = "letters, digits, dots and dashes, 100 at most, and not generated"
        raise LabError(f"the name of the data must be {wanted}, got {called!r}; choose one with --name")
    meaning = replace(meaning, features=resolve_features(options.features, meaning, options.select))
    table = read_recordings(options.data, meaning, name=called)
    if options.select in (None, "folds", "none"):
        return table, None
    return table, read_second_table(Path(str(options.select)), meaning, table)


def generated_tables(features: str | None, select: str | None) -> tuple[Recordings, Recordings | None]:
    """The embedded cohorts; features are chosen on the second unless something else is asked for."""
    table = generated_cohort()
    if features not in (None, "all"):
        table = table.with_features(read_names(Path(str(features))))
    if select not in (None, "folds", "none"):
        raise LabError(f"--select {select} needs a table of your own; name its file with --data")
    return table, generated_choice_cohort() if features is None and select is None else None


def resolve_columns(options: TableOptions) -> Columns:
    """The preset's columns, with those of the options instead, and more to drop."""
    given = {name: getattr(options, name) for name in COLUMNS if getattr(options, name)}
    if options.preset is not None:
        known = replace(preset(options.preset), **given)
        return replace(known, drop=(*known.drop, *options.drop), two_labels=options.two_labels)
    missing = [f"--{name}" for name in ("subject", "label", "positive") if name not in given]
    if missing:
        raise LabError(f"a table needs {', '.join(missing)}, or a --preset that knows its columns")
    return Columns(**given, drop=options.drop, two_labels=options.two_labels)


def resolve_features(features: str | None, meaning: Columns, select: str | None) -> tuple[str, ...] | None:
    """The names in the file; all for the word all, or where Boruta chooses; else the preset's."""
    if features == "all" or (features is None and select not in (None, "none")):
        return None
    return meaning.features if features is None else tuple(read_names(Path(features)))


def read_names(path: Path) -> list[str]:
    try:
        names = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(
            f"cannot read the features from {path}: give a text file with one name per line, or the word all"
        ) from error
    twice = [name for index, name in enumerate(names) if name in names[:index]]
    if twice or not names:
        raise LabError(f"{path} names {twice[0]!r} twice" if twice else f"{path} names no feature")
    return names


def read_second_table(path: Path, meaning: Columns, table: Recordings) -> Recordings:
    """The table to choose features on: of its columns, those that the first has too."""
    header, _ = rows_of(path)
    common = tuple(name for name in table.features if name in header)
    if not common:
        raise DataError(f"{path} has no feature in common with {table.name}")
    chooser = read_recordings(path, replace(meaning, features=common, drop=()))
    return replace(chooser, name=path.stem)
