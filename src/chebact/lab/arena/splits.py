"""The splits of a table: the same for all models."""

from __future__ import annotations

from typing import Any

import numpy
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold

from chebact.lab import LabError
from chebact.lab.arena.data import Table
from chebact.lab.arena.entrants import Task

__all__ = ["splits_of"]


def splits_of(table: Table, task: Task, folds: int) -> list[tuple[Any, Any]]:
    """Training and test rows of each split: those that are fixed, or a cross-validation of shuffled rows, with the same
    share of the classes in each part, and all rows of a group in one.
    """
    if table.splits is not None:
        return list(table.splits)
    if folds < 2:
        raise LabError(f"folds must be an integer from 2 on, got {folds}")
    if task == "classification":
        rarest = int(numpy.unique(table.y, return_counts=True)[1].min())
        if rarest < folds:
            raise LabError(f"folds must be {rarest} at most, the rows of the rarest class, got {folds}")
    kind = KFold if task == "regression" else StratifiedKFold if table.groups is None else StratifiedGroupKFold
    return list(kind(folds, shuffle=True, random_state=0).split(table.x, table.y, table.groups))
