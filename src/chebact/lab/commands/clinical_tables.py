"""From the arguments of `chebact run clinical` to the tables that it learns from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from chebact.data.clinical import Columns, DataError, Recordings, TwoLabels, preset, read_recordings
from chebact.data.clinical_cohorts import generated_choice_cohort, generated_cohort
from chebact.lab import LabError

__all__ = ["tables_asked"]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def tables_asked(
    data: Path | None,
    known: str | None,
    name: str | None,
    columns: Mapping[str, Any],
    features: str | None,
    drop: tuple[str, ...],
    two_labels: TwoLabels,
    select: str | None,
) -> tuple[Recordings, Recordings | None]:
    """The table, and the one to choose the features on, if any."""
    if data is None:
        given = [
            f"--{each}" for each, value in {**columns, "preset": known, "drop": drop, "name": name}.items() if value
        ]
        if given:
            raise LabError(f"{', '.join(given)} says something about a table: name the file with --data")
        return generated(features, select)
    meaning = replace(columns_asked(known, columns), drop=drop or columns_asked(known, columns).drop)
    meaning = replace(meaning, two_labels=two_labels)
    called = name or known or data.stem
    if not NAME.fullmatch(called) or called in ("generated", "generated-choice"):
        raise LabError(f"{called!r} is no name for data: give one of letters, digits, dots and dashes with --name")
    meaning = replace(meaning, features=features_asked(features, meaning, select))
    table = read_recordings(data, meaning, name=called)
    if select in (None, "folds", "none"):
        return table, None
    return table, second(Path(str(select)), meaning, table)


def generated(features: str | None, select: str | None) -> tuple[Recordings, Recordings | None]:
    """The embedded cohorts; features are chosen on the second unless something else is asked for."""
    table = generated_cohort()
    if features not in (None, "all"):
        table = table.with_features(lines_of(Path(str(features))))
    if select not in (None, "folds", "none"):
        raise LabError(f"--select {select} wants a table of your own: name it with --data")
    return table, generated_choice_cohort() if features is None and select is None else None


def columns_asked(known: str | None, columns: Mapping[str, Any]) -> Columns:
    """The preset's columns with those that are given in their place."""
    given = {name: value for name, value in columns.items() if value}
    if known is not None:
        return replace(preset(known), **given)
    missing = [f"--{name}" for name in ("subject", "label", "positive") if name not in given]
    if missing:
        raise LabError(f"a table needs {', '.join(missing)}, or a --preset that knows its columns")
    return Columns(**given)


def features_asked(features: str | None, meaning: Columns, select: str | None) -> tuple[str, ...] | None:
    """The names in the file; all where that is asked for, or where Boruta is to choose; else the preset's."""
    if features == "all" or (features is None and select not in (None, "none")):
        return None
    return meaning.features if features is None else tuple(lines_of(Path(features)))


def lines_of(path: Path) -> list[str]:
    try:
        names = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"cannot read the features from {path}: give a text file of a name a line, or all") from error
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice or not names:
        raise LabError(f"{path} names {twice[0]!r} twice" if twice else f"{path} names no feature")
    return names


def second(path: Path, meaning: Columns, table: Recordings) -> Recordings:
    """The table to choose features on: of its columns, those that the first has too."""
    from chebact.data.clinical import rows_of

    header, _ = rows_of(path)
    common = tuple(name for name in table.features if name in header)
    if not common:
        raise DataError(f"{path} has no feature in common with {table.name}")
    chooser = read_recordings(path, replace(meaning, features=common, drop=()))
    return replace(chooser, name=path.stem)
