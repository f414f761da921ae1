"""The data sets of the arena: functions of the paper, Friedman's, formulas of physics, scikit-learn's, voices.

Those of a function have noise on the target; a model is scored against the target without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import torch
from sklearn import datasets

from chebact.lab import LabError, functions
from chebact.lab.arena.entrants import Task
from chebact.lab.arena.formulas import FORMULAS, Formula
from chebact.lab.columns.reading import numbers_in, read_sheet
from chebact.lab.spec import stream

__all__ = ["DATASETS", "DataSet", "Table", "voice_file"]

Array = Any
POINTS = 1000
PAPER_NOISE = (0.01, 0.04)
NOISE = (0.0, 0.01, 0.04, 0.1)
FRIEDMAN_NOISE = 0.01


@dataclass(frozen=True)
class Table:
    """X (row, column) and y (row,) to learn from; `truth` (row,) is the target without noise, where that is known;
    rows of the same of `groups` (row,) stay together; `splits` are pairs of training and test rows, where fixed.
    """

    x: Array
    y: Array
    truth: Array | None = None
    groups: Array | None = None
    splits: tuple[tuple[Array, Array], ...] | None = None


@dataclass(frozen=True)
class DataSet:
    """A row: the task and what makes the table. Sets of the same function with different noise have one `family`. A set
    of a `file` that the project does not carry is left out where the file is not there. `cells` are rows times columns
    of a large one.
    """

    name: str
    title: str
    task: Task
    family: str
    make: Callable[..., Table]
    file: str | None = None
    cells: int = 0


def noise_of(name: str, count: int) -> Array:
    """Normal numbers that depend on the name: the same ones at every noise level of a function."""
    return torch.randn(count, generator=stream("arena", name, "noise"), dtype=torch.float64).numpy()


def uniform(name: str, columns: int) -> Array:
    """Points (row, column) in [0, 1) that depend on the name."""
    return torch.rand(POINTS, columns, generator=stream("arena", name, "x"), dtype=torch.float64).numpy()


def from_paper(name: str, noise: float) -> Table:
    """A function of the paper in the form that its figures were made with; the noise is in units of the target."""
    x = 2 * uniform(name, functions.recipe(name).features) - 1
    truth = functions.target(name, torch.from_numpy(x), "released")[:, 0].numpy()
    return Table(x, truth + noise * noise_of(name, POINTS), truth)


def from_formula(formula: Formula, noise: float) -> Table:
    """Points of a formula, uniform in its ranges; the noise is in deviations of the target."""
    low, high = numpy.array(formula.ranges).T
    x = low + (high - low) * uniform(formula.name, len(formula.ranges))
    truth = formula.values(x)
    return Table(x, truth + noise * truth.std() * noise_of(formula.name, POINTS), truth)


def from_friedman(name: str) -> Table:
    """Points of one of Friedman's functions; the noise is in deviations of the target."""
    x, truth = getattr(datasets, f"make_{name}")(POINTS, random_state=0)
    return Table(x, truth + FRIEDMAN_NOISE * truth.std() * noise_of(name, POINTS), truth)


def from_library(name: str) -> Table:
    """A set that comes with scikit-learn."""
    return Table(*getattr(datasets, f"load_{name}")(return_X_y=True))


def from_voices(path: Path, subject: str, label: str, drop: tuple[str, ...]) -> Table:
    """Recordings of voices: a person's stay together."""
    sheet = read_sheet(path)
    inputs = [name for name in sheet.columns if name not in (subject, label, *drop)]
    columns = [numbers_in(sheet, name) for name in inputs]
    if any(column is None for column in columns):
        raise LabError(f"{path} must have numbers in all columns but {subject}, {label} and {', '.join(drop)}")
    people = numpy.unique(sheet.column(subject), return_inverse=True)[1]
    return Table(numpy.array(columns, dtype=float).T, numpy.array(sheet.column(label)), groups=people)


def voice_file(data: DataSet, folder: Path) -> Path | None:
    """The file of a set that the project does not carry, in a folder; None where it is not there, or not needed."""
    path = None if data.file is None else folder / data.file
    return path if path is not None and path.is_file() else None


def paper_rows() -> list[DataSet]:
    return [
        DataSet(
            f"{name}-{noise:g}", f"{row.title}, noise {noise:g}", "regression", name, partial(from_paper, name, noise)
        )
        for name, row in functions.DATASETS.items()
        for noise in PAPER_NOISE
    ]


def friedman_rows() -> list[DataSet]:
    names = {f"friedman{number}": f"Friedman #{number}" for number in (1, 2, 3)}
    return [DataSet(name, title, "regression", name, partial(from_friedman, name)) for name, title in names.items()]


def formula_rows() -> list[DataSet]:
    return [
        DataSet(
            f"feynman-{row.name.lower()}-{noise:g}",
            f"{row.name}, noise {noise:g}",
            "regression",
            f"feynman-{row.name.lower()}",
            partial(from_formula, row, noise),
        )
        for row in FORMULAS.values()
        for noise in NOISE
    ]


def library_row(name: str, title: str, task: Task, cells: int = 0) -> DataSet:
    own = title.replace(" ", "-")
    return DataSet(own, title, task, own, partial(from_library, name), cells=cells)


def voice_row(name: str, title: str, file: str, subject: str, label: str, *drop: str) -> DataSet:
    make = partial(from_voices, subject=subject, label=label, drop=drop)
    return DataSet(name, title, "classification", name, make, file)


DATASETS: dict[str, DataSet] = {
    row.name: row
    for row in (
        *paper_rows(),
        *friedman_rows(),
        *formula_rows(),
        library_row("diabetes", "diabetes", "regression"),
        library_row("breast_cancer", "breast cancer", "classification"),
        library_row("wine", "wine", "classification"),
        library_row("digits", "digits", "classification", cells=1797 * 64),
        voice_row(
            "voices-replicated", "voices, replicated", "parkinson_replicated_acoustic.csv",
            "ID", "Status", "Recording", "Gender",
        ),
        voice_row(
            "voices-multiple", "voices, multiple", "parkinson_multiple_sound.csv", "subject_id", "class_info", "UPDRS"
        ),
    )
}  # fmt: skip
"""The table by name."""
