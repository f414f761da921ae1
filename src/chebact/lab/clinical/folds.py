"""Cross validation by subject: nobody is on both sides of a fold, and scaling is fitted on the training side only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from chebact.lab.clinical.cells import DataError

__all__ = ["Fold", "Scaling", "shuffle_by_subject", "subject_folds"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Fold:
    """The numbers of the recordings to learn from and of those to test on."""

    train: Integers
    test: Integers


def subject_folds(subjects: Sequence[str], folds: int, generator: torch.Generator) -> list[Fold]:
    """Shuffle the subjects and split them in `folds` parts, of nearly equal size; each part is the test side once.

    >>> parts = subject_folds(["a", "a", "b", "c"], 3, torch.Generator().manual_seed(0))
    >>> sorted(number for fold in parts for number in fold.test.tolist())
    [0, 1, 2, 3]
    """
    everyone, codes = encode_subjects(subjects)
    if not 2 <= folds <= len(everyone):
        raise DataError(f"folds must be from 2 to {len(everyone)}, the number of subjects, got {folds}")
    shuffled = torch.randperm(len(everyone), generator=generator).numpy()
    parts = [np.isin(codes, part) for part in np.array_split(shuffled, folds)]
    return [Fold(np.flatnonzero(~part), np.flatnonzero(part)) for part in parts]


def encode_subjects(subjects: Sequence[str]) -> tuple[list[str], Integers]:
    """The subjects in the order in which they come up, and each recording's index among them."""
    everyone = list(dict.fromkeys(subjects))
    codes = {subject: code for code, subject in enumerate(everyone)}
    return everyone, np.array([codes[subject] for subject in subjects], dtype=np.int64)


def shuffle_by_subject(y: Integers, subjects: Sequence[str], generator: torch.Generator) -> Integers:
    """Permute the labels among the subjects: y (recording,) in which there is nothing to learn.

    >>> shuffle_by_subject(np.array([1, 1, 0]), ["a", "a", "b"], torch.Generator().manual_seed(1)).tolist()
    [0, 0, 1]
    """
    everyone, codes = encode_subjects(subjects)
    label = np.zeros(len(everyone), dtype=np.int64)
    label[codes] = y
    dealt: Integers = label[torch.randperm(len(everyone), generator=generator).numpy()][codes]
    return dealt


@dataclass(frozen=True, eq=False)
class Scaling:
    """Mean and deviation of the columns that are not constant in the part it was fitted on.

    >>> scaling = Scaling.fit(np.array([[1.0, 7.0], [3.0, 7.0]]))
    >>> scaling.columns.tolist(), scaling(np.array([[5.0, 9.0]])).tolist()
    ([0], [[3.0]])
    """

    columns: Integers
    mean: Floats
    deviation: Floats

    @classmethod
    def fit(cls, x: Floats) -> Scaling:
        """Fit on x (recording, feature) of the training side."""
        columns = np.flatnonzero(np.ptp(x, axis=0) > 0)
        return cls(columns, x[:, columns].mean(axis=0), x[:, columns].std(axis=0))

    def __call__(self, x: Floats) -> Floats:
        """The columns that are kept, standardised: (recording, feature) -> (recording, kept)."""
        return (x[:, self.columns] - self.mean) / self.deviation
