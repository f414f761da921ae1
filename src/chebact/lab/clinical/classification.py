"""Scores of a two-class cross validation, from the counts of each fold: all definitions of the tables."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["METRICS", "Counts", "Metric", "Tested", "count_cases", "metrics_in", "roc_auc", "scores_of"]


@dataclass(frozen=True)
class Counts:
    """Of the recordings tested, how many were right and wrong of either class; positive is class 1."""

    true_positive: int
    false_positive: int
    true_negative: int
    false_negative: int

    def __add__(self, other: Counts) -> Counts:
        """The sum of both counts."""
        mine, others = vars(self).values(), vars(other).values()
        return Counts(*(one + two for one, two in zip(mine, others, strict=True)))

    @property
    def accuracy(self) -> float:
        """The fraction that is classified right."""
        return ratio(self.true_positive + self.true_negative, sum(vars(self).values()))

    @property
    def sensitivity(self) -> float:
        """The fraction of class 1 that is classified right."""
        return ratio(self.true_positive, self.true_positive + self.false_negative)

    @property
    def specificity(self) -> float:
        """The fraction of class 0 that is classified right."""
        return ratio(self.true_negative, self.true_negative + self.false_positive)

    @property
    def balanced_accuracy(self) -> float:
        """The mean of sensitivity and specificity."""
        return (self.sensitivity + self.specificity) / 2

    @property
    def f1(self) -> float:
        """F1 of class 1; zero where there is neither a true nor a false positive or negative to count."""
        return ratio(2 * self.true_positive, 2 * self.true_positive + self.false_positive + self.false_negative)


def ratio(count: int, total: int) -> float:
    return count / total if total else 0.0


def count_cases(truth: Sequence[int], predicted: Sequence[int]) -> Counts:
    """Count the four cases.

    >>> count_cases([1, 1, 0, 0, 0], [1, 0, 0, 0, 1])
    Counts(true_positive=1, false_positive=1, true_negative=2, false_negative=1)
    """
    pairs = [(int(one), int(other)) for one, other in zip(truth, predicted, strict=True)]
    return Counts(pairs.count((1, 1)), pairs.count((0, 1)), pairs.count((0, 0)), pairs.count((1, 0)))


def roc_auc(truth: Sequence[int], scores: Sequence[float]) -> float | None:
    """The share of pairs, one of either class, in which the one of class 1 scores higher; an equal pair counts half.
    None where a class is missing.

    >>> roc_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), roc_auc([1, 1], [0.2, 0.3])
    (0.75, None)
    """
    ones = [score for is_one, score in zip(truth, scores, strict=True) if is_one]
    others = [score for is_one, score in zip(truth, scores, strict=True) if not is_one]
    if not ones or not others:
        return None
    won = sum((one > other) + (one == other) / 2 for one in ones for other in others)
    return won / (len(ones) * len(others))


@dataclass(frozen=True)
class Tested:
    """One seed: the counts of its folds, and the area under each fold's ROC curve where it was recorded."""

    folds: Sequence[Counts]
    roc_auc: Sequence[float | None] = ()


Score = Callable[[Tested], float | None]


def pool_folds(seed: Tested) -> Counts:
    """The sum of the counts of all folds."""
    return sum(seed.folds, Counts(0, 0, 0, 0))


def mean_accuracy(seed: Tested) -> float:
    """The mean of the folds' accuracies, each fold with the same weight."""
    return statistics.fmean(fold.accuracy for fold in seed.folds)


def macro_f1(seed: Tested) -> float:
    """The mean of the folds' F1."""
    return statistics.fmean(fold.f1 for fold in seed.folds)


def macro_f1_spread(seed: Tested) -> float:
    """The deviation of the folds' F1."""
    return statistics.stdev(fold.f1 for fold in seed.folds) if len(seed.folds) > 1 else 0.0


def mean_roc_auc(seed: Tested) -> float | None:
    """The mean over the folds that have both classes; None where it was not recorded."""
    known = [area for area in seed.roc_auc if area is not None]
    return statistics.fmean(known) if known else None


@dataclass(frozen=True)
class Metric:
    """A column: its title, its score of one seed, and the tables that show it. One that is `recorded` since some
    version is left out where no record has it.
    """

    title: str
    score: Score
    tables: tuple[str, ...] = ()
    recorded: bool = False


METRICS = {
    "accuracy": Metric("Accuracy", lambda seed: pool_folds(seed).accuracy, ("scores", "systems", "tests")),
    "sensitivity": Metric("Sensitivity", lambda seed: pool_folds(seed).sensitivity, ("scores",)),
    "specificity": Metric("Specificity", lambda seed: pool_folds(seed).specificity, ("scores",)),
    "mean_accuracy": Metric("Accuracy, mean of the folds", mean_accuracy, ("systems",)),
    "micro_f1": Metric("Micro-F1", lambda seed: pool_folds(seed).f1, ("scores", "systems", "tests")),
    "macro_f1": Metric("Macro-F1", macro_f1, ("systems",)),
    "balanced_accuracy": Metric("Balanced accuracy", lambda seed: pool_folds(seed).balanced_accuracy, ("scores",)),
    "roc_auc": Metric("ROC AUC", mean_roc_auc, ("scores",), recorded=True),
}
"""The mean accuracy, macro-F1 and ROC AUC are means over the folds; the others come from the counts of all folds
together, micro-F1 being F1 of class 1.
"""


def metrics_in(table: str) -> list[str]:
    """The metrics that a table shows, in order.

    >>> metrics_in("tests")
    ['accuracy', 'micro_f1']
    """
    return [name for name, metric in METRICS.items() if table in metric.tables]


def scores_of(folds: Sequence[Counts], areas: Sequence[float | None] = ()) -> dict[str, float | None]:
    """The metrics of one seed, and `macro_f1_spread`, the deviation of the folds' F1; None for what is not known."""
    seed = Tested(folds, areas)
    return {name: metric.score(seed) for name, metric in METRICS.items()} | {"macro_f1_spread": macro_f1_spread(seed)}
