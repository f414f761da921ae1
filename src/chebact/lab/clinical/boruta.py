"""Feature choice by Boruta: a column is kept if forests find it more useful than shuffled ones, in repeated rounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chebact.lab import LabError

__all__ = ["BorutaChoice", "boruta_choice"]


@dataclass(frozen=True)
class BorutaChoice:
    """The numbers of the columns that were chosen, and how: `confirmed` by the test; `tentative` where none is
    confirmed but some are still undecided; `best`, the one of the best rank, where there is nothing better.
    """

    columns: tuple[int, ...]
    how: str


def boruta_choice(
    x: NDArray[np.float64], y: NDArray[np.int64], *, seed: int, trees: int = 150, rounds: int = 100, jobs: int = 1
) -> BorutaChoice:
    """Choose columns of x (recording, feature) for the classes y (recording,).

    The forest has `trees` trees of depth 5, balanced between the classes, and `rounds` are made at the most. `jobs`
    threads grow the trees; it does not change the outcome. x and y are not modified.

    >>> random = np.random.default_rng(0)
    >>> x, y = random.standard_normal((60, 3)), np.arange(60) % 2
    >>> x[:, 1] += 3 * y
    >>> boruta_choice(x, y, seed=1, trees=20, rounds=20)
    BorutaChoice(columns=(1,), how='confirmed')
    """
    try:
        from boruta import BorutaPy
        from sklearn.ensemble import RandomForestClassifier
    except ImportError as error:
        raise LabError("choosing features needs the packages of the laboratory: pip install 'chebact[lab]'") from error
    if len(np.unique(y)) < 2:
        raise LabError("features cannot be chosen where all recordings have one label")
    forest = RandomForestClassifier(n_jobs=jobs, max_depth=5, class_weight="balanced")
    random = np.random.RandomState(seed)
    found = BorutaPy(forest, n_estimators=trees, max_iter=rounds, random_state=random).fit(x.copy(), y.copy())
    for how, mask in (
        ("confirmed", found.support_),
        ("tentative", found.support_weak_),
        ("best", found.ranking_ == found.ranking_.min()),
    ):
        if mask.any():
            return BorutaChoice(tuple(int(column) for column in np.flatnonzero(mask)), how)
    raise AssertionError("some column has the best rank")
