"""Scores of a two-class cross validation, from the counts of each fold: every definition of the tables lives here."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["METRICS", "Counts", "counted", "scores_of"]

METRICS = {
    "accuracy": "Accuracy",
    "sensitivity": "Sensitivity",
    "specificity": "Specificity",
    "micro_f1": "Micro-F1",
    "macro_f1": "Macro-F1",
    "balanced_accuracy": "Balanced accuracy",
}


@dataclass(frozen=True)
class Counts:
    """Of the recordings tested, how many were right and wrong of either class; positive is class 1."""

    true_positive: int
    false_positive: int
    true_negative: int
    false_negative: int

    def __add__(self, other: Counts) -> Counts:
        """The counts of both taken together."""
        mine, others = vars(self).values(), vars(other).values()
        return Counts(*(one + two for one, two in zip(mine, others, strict=True)))

    @property
    def accuracy(self) -> float:
        """The part that is right."""
        return part(self.true_positive + self.true_negative, sum(vars(self).values()))

    @property
    def sensitivity(self) -> float:
        """The part of class 1 that is found."""
        return part(self.true_positive, self.true_positive + self.false_negative)

    @property
    def specificity(self) -> float:
        """The part of class 0 that is left alone."""
        return part(self.true_negative, self.true_negative + self.false_positive)

    @property
    def balanced_accuracy(self) -> float:
        """The mean of sensitivity and specificity."""
        return (self.sensitivity + self.specificity) / 2

    @property
    def f1(self) -> float:
        """F1 of class 1; zero where there is neither a true nor a false positive or negative to count."""
        return part(2 * self.true_positive, 2 * self.true_positive + self.false_positive + self.false_negative)


def part(some: int, whole: int) -> float:
    return some / whole if whole else 0.0


def counted(truth: Sequence[int], predicted: Sequence[int]) -> Counts:
    """Count the four cases.

    >>> counted([1, 1, 0, 0, 0], [1, 0, 0, 0, 1])
    Counts(true_positive=1, false_positive=1, true_negative=2, false_negative=1)
    """
    pairs = [(int(one), int(other)) for one, other in zip(truth, predicted, strict=True)]
    return Counts(pairs.count((1, 1)), pairs.count((0, 1)), pairs.count((0, 0)), pairs.count((1, 0)))


def scores_of(folds: Sequence[Counts]) -> dict[str, float]:
    """The metrics of one seed. All but macro-F1 come from the counts of all folds taken together, micro-F1 being F1 of
    class 1; macro-F1 is the mean of the folds' F1, and `macro_f1_spread` their deviation.
    """
    pooled, each = sum(folds, Counts(0, 0, 0, 0)), [fold.f1 for fold in folds]
    return {
        "accuracy": pooled.accuracy,
        "sensitivity": pooled.sensitivity,
        "specificity": pooled.specificity,
        "micro_f1": pooled.f1,
        "macro_f1": statistics.fmean(each),
        "balanced_accuracy": pooled.balanced_accuracy,
        "macro_f1_spread": statistics.stdev(each) if len(each) > 1 else 0.0,
    }
