"""Scores of a two-class cross validation, from the counts of each fold: every definition of the tables lives here."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["METRICS", "Counts", "Metric", "counted", "metrics_in", "scores_of"]


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


Score = Callable[[Sequence[Counts]], float]


def pooled(folds: Sequence[Counts]) -> Counts:
    """The counts of all folds taken together."""
    return sum(folds, Counts(0, 0, 0, 0))


def macro_f1(folds: Sequence[Counts]) -> float:
    """The mean of the folds' F1."""
    return statistics.fmean(fold.f1 for fold in folds)


def macro_f1_spread(folds: Sequence[Counts]) -> float:
    """The deviation of the folds' F1."""
    return statistics.stdev(fold.f1 for fold in folds) if len(folds) > 1 else 0.0


@dataclass(frozen=True)
class Metric:
    """A column: its title, its score from the counts of one seed's folds, and the tables that show it."""

    title: str
    score: Score
    tables: tuple[str, ...] = ()


METRICS = {
    "accuracy": Metric("Accuracy", lambda folds: pooled(folds).accuracy, ("scores", "systems", "tests")),
    "sensitivity": Metric("Sensitivity", lambda folds: pooled(folds).sensitivity, ("scores",)),
    "specificity": Metric("Specificity", lambda folds: pooled(folds).specificity, ("scores",)),
    "micro_f1": Metric("Micro-F1", lambda folds: pooled(folds).f1, ("scores", "systems", "tests")),
    "macro_f1": Metric("Macro-F1", macro_f1, ("systems",)),
    "balanced_accuracy": Metric("Balanced accuracy", lambda folds: pooled(folds).balanced_accuracy, ("scores",)),
}
"""All but macro-F1 come from the counts of all folds taken together, micro-F1 being F1 of class 1."""


def metrics_in(table: str) -> list[str]:
    """The metrics that a table shows, in order.

    >>> metrics_in("tests")
    ['accuracy', 'micro_f1']
    """
    return [name for name, metric in METRICS.items() if table in metric.tables]


def scores_of(folds: Sequence[Counts]) -> dict[str, float]:
    """The metrics of one seed, and `macro_f1_spread`, the deviation of the folds' F1."""
    return {name: metric.score(folds) for name, metric in METRICS.items()} | {"macro_f1_spread": macro_f1_spread(folds)}
