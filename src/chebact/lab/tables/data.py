"""The data sets: those that come with scikit-learn, Friedman's functions, and formulas of physics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy
import torch
from sklearn import datasets

from chebact.lab.spec import stream
from chebact.lab.tables.formulas import FORMULAS, Formula

__all__ = ["DATASETS", "DataSet", "Task"]

Array = Any
Task = Literal["regression", "classification"]
POINTS = 1000
NOISE = 0.01  # of the target's deviation


@dataclass(frozen=True)
class DataSet:
    """A row: what is learned, whether from generated data, and what makes X (row, column) and y (row,)."""

    name: str
    title: str
    task: Task
    generated: bool
    make: Callable[[], tuple[Array, Array]]


def with_noise(name: str, x: Array, y: Array) -> tuple[Array, Array]:
    """The data with normal noise on the target, drawn from the name."""
    drawn = torch.randn(len(y), generator=stream("tables", name, "noise"), dtype=torch.float64).numpy()
    return x, y + NOISE * y.std() * drawn


def from_formula(formula: Formula) -> tuple[Array, Array]:
    """Points of a formula, uniform in its ranges."""
    drawn = torch.rand(
        POINTS, len(formula.ranges), generator=stream("tables", formula.name, "x"), dtype=torch.float64
    ).numpy()
    low, high = numpy.array(formula.ranges).T
    x = low + (high - low) * drawn
    return with_noise(formula.name, x, formula.values(x))


def from_friedman(name: str) -> tuple[Array, Array]:
    """Points of one of Friedman's functions."""
    return with_noise(name, *getattr(datasets, f"make_{name}")(POINTS, random_state=0))


def loaded(name: str) -> tuple[Array, Array]:
    """A set that comes with scikit-learn."""
    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return x, y


DATASETS: dict[str, DataSet] = {
    row.name: row
    for row in (
        DataSet("diabetes", "diabetes", "regression", False, partial(loaded, "diabetes")),
        DataSet("breast-cancer", "breast cancer", "classification", False, partial(loaded, "breast_cancer")),
        DataSet("wine", "wine", "classification", False, partial(loaded, "wine")),
        DataSet("digits", "digits", "classification", False, partial(loaded, "digits")),
        *(
            DataSet(f"friedman{n}", f"Friedman #{n}", "regression", True, partial(from_friedman, f"friedman{n}"))
            for n in (1, 2, 3)
        ),
        *(
            DataSet(f"feynman-{row.name.lower()}", row.name, "regression", True, partial(from_formula, row))
            for row in FORMULAS.values()
        ),
    )
}
"""The table by name."""
