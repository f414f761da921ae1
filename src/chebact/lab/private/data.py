"""The tables: two that come with scikit-learn and one of voices from a file, and their splits."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy
from sklearn import datasets
from sklearn.model_selection import StratifiedGroupKFold, StratifiedShuffleSplit

from chebact.lab import LabError

__all__ = ["DATASETS", "DataSet", "Split", "Table", "splits_of"]

Array = Any
Split = tuple[Array, Array]
"""The indices of the training rows and of the test rows."""
CLIP = 3.0
"""The client clips standardised features to this size, so that the inputs of the network lie in a box."""
TEST_PART = 5  # a fifth of the rows, or of the people
NO_FEATURES = ("ID", "Recording", "Status")


@dataclass(frozen=True)
class Table:
    """x (row, feature), y (row,) as 0 ... classes - 1, and who a row is about, None where nobody has two."""

    x: Array
    y: Array
    groups: Array | None = None


@dataclass(frozen=True)
class DataSet:
    """A row: its name, its title, and what reads it, from a file if `from_file`."""

    name: str
    title: str
    read: Callable[[Path | None], Table]
    from_file: bool = False


def loaded(name: str, path: Path | None) -> Table:
    """A set that comes with scikit-learn."""
    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return Table(x, y)


def read_voices(path: Path | None) -> Table:
    """UCI 489, the replicated acoustic features: 240 recordings of 80 people, 44 features and the gender."""
    if path is None or not path.is_file():
        raise LabError(f"voice must be the CSV file of UCI 489, got {path}; name it with --voice")
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows or any(name not in rows[0] for name in NO_FEATURES):
        raise LabError(f"voice must have the columns {', '.join(NO_FEATURES)}, got another file: {path}")
    features = [name for name in rows[0] if name not in NO_FEATURES]
    x = numpy.array([[float(row[name]) for name in features] for row in rows])
    return Table(x, numpy.array([int(row["Status"]) for row in rows]), numpy.array([row["ID"] for row in rows]))


DATASETS: dict[str, DataSet] = {
    row.name: row
    for row in (
        DataSet("breast-cancer", "breast cancer", partial(loaded, "breast_cancer")),
        DataSet("wine", "wine", partial(loaded, "wine")),
        DataSet("voice", "Parkinson's from voice", read_voices, from_file=True),
    )
}
"""The table by name."""


def splits_of(table: Table, count: int, seed: int) -> list[Split]:
    """Splits with the same share of every class; the recordings of a person stay on one side."""
    if table.groups is None:
        dealt = StratifiedShuffleSplit(count, test_size=1 / TEST_PART, random_state=seed).split(table.x, table.y)
        return [(train, test) for train, test in dealt]
    found: list[Split] = []
    while len(found) < count:  # every deal of the people gives one split
        folds = StratifiedGroupKFold(TEST_PART, shuffle=True, random_state=1000 * seed + len(found))
        train, test = next(iter(folds.split(table.x, table.y, table.groups)))
        found.append((train, test))
    return found


def standardised(table: Table, split: Split) -> tuple[Array, Array]:
    """The features of both parts, by the mean and deviation of the training part, clipped: (row, feature) twice."""
    train, test = split
    mean, deviation = table.x[train].mean(axis=0), table.x[train].std(axis=0)
    scaled = (table.x - mean) / numpy.where(deviation > 0, deviation, 1.0)
    clipped = numpy.clip(scaled, -CLIP, CLIP)
    return clipped[train], clipped[test]
