"""Data of a user: a file of comma-separated values, or a folder in the layout of the UCI splits.

That layout is used by papers on small regression: `data.txt` (a row per line, numbers divided by blanks),
`index_features.txt` and `index_target.txt` (columns from 0), `n_splits.txt`, and `index_train_N.txt` and
`index_test_N.txt` (rows from 0) for N from 0. A CSV file may have such rows in a folder of its own.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from chebact.lab import LabError
from chebact.lab.arena.data import DATASETS, Table
from chebact.lab.arena.entrants import Task
from chebact.lab.arena.spec import OwnData
from chebact.lab.columns.encoding import Encoding
from chebact.lab.columns.reading import as_number, read_sheet

__all__ = ["Own", "read_own"]

Array = Any
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
FEWEST = 10  # rows, to learn from


@dataclass(frozen=True)
class Own:
    """A table of a user by its name, with its task and a hash of its numbers and splits."""

    name: str
    task: Task
    table: Table
    digest: str


def read_own(options: OwnData) -> Own | None:
    """The table that was asked for, or None; a LabError says what is wrong with it."""
    if options.data is None:
        given = [f"--{name}" for name in ("target", "splits", "drop") if getattr(options, name)]
        given += ["--task"] * (options.task != "auto")
        if given:
            raise LabError(f"{', '.join(given)} is about a table of your own; name it with --data")
        return None
    name = options.data.stem if options.data.is_file() else options.data.name
    if not NAME.fullmatch(name) or name in DATASETS:
        raise LabError(
            f"the name of --data must be letters, digits, dots and dashes, and none of the arena's own sets, got "
            f"{name!r}: rename it"
        )
    task, table = read_folder(options) if options.data.is_dir() else read_csv(options)
    check_table(options.data, table)
    return Own(name, task, table, digest_of(table))


def check_table(path: Path, table: Table) -> None:
    """A LabError where there is nothing to learn, or too few rows to learn it from."""
    if len(table.x) < FEWEST:
        raise LabError(f"{path} must have {FEWEST} rows or more, got {len(table.x)}")
    parts = [("the target", table.y), *((f"the target in split {n}", table.y[each]) for n, each in trained(table))]
    for what, y in parts:
        if len(y) < FEWEST:
            raise LabError(f"{path}: {what} must have {FEWEST} rows or more to learn from, got {len(y)}")
        if len(numpy.unique(y)) == 1:
            raise LabError(f"{path}: {what} must have two values or more, got {y[0]} in all rows; name another column")


def trained(table: Table) -> list[tuple[int, Array]]:
    """The rows to learn from in every split of the user's."""
    return [(number, train) for number, (train, _) in enumerate(table.splits or ())]


def read_csv(options: OwnData) -> tuple[Task, Table]:
    """A table of a CSV file; texts become a column of 0 and 1 per value, as in `chebact fit`."""
    assert options.data is not None
    if options.target is None:
        raise LabError(f"--target must name the column of {options.data} to learn, got none")
    if options.target in (options.drop or ()):
        raise LabError(f"--drop must leave the target in, got {options.target!r}; take it out of --drop")
    sheet = read_sheet(options.data)
    encoding = Encoding.of(sheet, options.target, options.task, options.drop)
    x, y = encoding.x(sheet), encoding.y(sheet)
    splits = None if options.splits is None else read_splits(options.splits, len(x))
    return encoding.task, Table(x, y, splits=splits)


def read_folder(options: OwnData) -> tuple[Task, Table]:
    """A table in the layout of the UCI splits; it is a regression unless the task is given."""
    assert options.data is not None
    named = [f"--{name}" for name in ("target", "splits", "drop") if getattr(options, name)]
    if named:
        raise LabError(f"{options.data} is a folder with its own index files: leave out {', '.join(named)}")
    rows = read_numbers(options.data / "data.txt")
    width = rows.shape[1]
    features = read_index(options.data / "index_features.txt", width, "column")
    (target, *more) = read_index(options.data / "index_target.txt", width, "column")
    if more:
        raise LabError(f"{options.data / 'index_target.txt'} must name one column, got {1 + len(more)}")
    if target in features:
        raise LabError(
            f"{options.data / 'index_features.txt'} must not have the column of the target, got {target}; take it out"
        )
    y = rows[:, target]
    task: Task = "classification" if options.task == "classification" else "regression"
    return task, Table(rows[:, features], y, splits=read_splits(options.data, len(rows)))


def read_splits(folder: Path, rows: int) -> tuple[tuple[Array, Array], ...]:
    """The pairs of training and test rows in a folder."""
    (count,) = read_index(folder / "n_splits.txt", 10_000, "number of splits", only=1)
    if count < 1:
        raise LabError(f"{folder / 'n_splits.txt'} must be 1 or more, got {count}")
    pairs = []
    for number in range(count):
        train, test = (read_index(folder / f"index_{part}_{number}.txt", rows, "row") for part in ("train", "test"))
        if set(train) & set(test):
            both = min(set(train) & set(test))
            raise LabError(f"{folder / f'index_test_{number}.txt'} must have no row of the training, got {both}")
        pairs.append((numpy.array(train), numpy.array(test)))
    return tuple(pairs)


def read_numbers(path: Path) -> Array:
    """Numbers (line, cell) of a text file, divided by blanks; a LabError names the line that is not like the first."""
    try:
        lines = [(number, line.split()) for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)]
    except UnicodeDecodeError as error:
        raise LabError(f"cannot read {path}: it is not text in UTF-8") from error
    except OSError as error:
        raise LabError(f"cannot read {path}: {error.strerror}; the layout of the UCI splits has that file") from error
    lines = [(number, cells) for number, cells in lines if cells]
    if not lines:
        raise LabError(f"{path} must have a line of numbers or more, got none")
    for number, cells in lines:
        if len(cells) != len(lines[0][1]):
            raise LabError(f"{path}, line {number} must have {len(lines[0][1])} numbers as line 1, got {len(cells)}")
        wrong = next((cell for cell in cells if as_number(cell) is None), None)
        if wrong is not None:
            raise LabError(f"{path}, line {number} must be finite numbers, got {wrong!r}")
    return numpy.array([[float(cell) for cell in cells] for _, cells in lines])


def read_index(path: Path, limit: int, what: str, only: int | None = None) -> list[int]:
    """The integers of an index file, from 0 and below a limit, each once; they are often written as 1.0e+00."""
    numbers = read_numbers(path).ravel()
    for number in numbers:
        if number != int(number) or not 0 <= number < limit:
            raise LabError(f"{path} must have each {what} as an integer from 0 to {limit - 1}, got {number:g}")
    found = [int(number) for number in numbers]
    if only is not None and len(found) != only:
        raise LabError(f"{path} must be one number, got {len(found)}")
    twice = (
        next((number for number in found if found.count(number) > 1), None) if len(set(found)) < len(found) else None
    )
    if twice is not None:
        raise LabError(f"{path} must have each {what} once, got {twice} more than once")
    return found


def digest_of(table: Table) -> str:
    """A hash of the numbers and of the splits: a changed table is another spec."""
    found = hashlib.sha256(numpy.ascontiguousarray(table.x).tobytes())
    found.update("\n".join(map(str, table.y.tolist())).encode())
    for train, test in table.splits or ():
        found.update(f"{train.tolist()}{test.tolist()}".encode())
    return found.hexdigest()[:16]
