"""One number for a record of a study: the geometric mean over the functions, with its spread over the seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from chebact.lab.studies.record import StudyRecord

__all__ = ["Score", "geometric_mean", "score_of", "score_seeds"]


@dataclass(frozen=True)
class Score:
    """`error` is the geometric mean over the functions of the median over the seeds, in which a diverged seed counts as
    infinitely bad; None where the median of a function is one. `low` and `high` are the least and the greatest of the
    seeds that are finite on all functions, each the geometric mean over the functions.
    """

    error: float | None
    low: float | None
    high: float | None
    diverged: int
    trainings: int


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean of positive numbers.

    >>> geometric_mean([1.0, 4.0])
    2.0
    """
    return math.exp(fmean(math.log(max(value, 1e-12)) for value in values))


def score_seeds(functions: Sequence[Sequence[float | None]]) -> Score:
    """The score of one number per function and seed, None where a seed diverged.

    >>> score_seeds([[1.0, 1.0, 4.0], [1.0, 4.0, None]])
    Score(error=2.0, low=1.0, high=2.0, diverged=1, trainings=6)
    """
    medians = [median(math.inf if value is None else value for value in seeds) for seeds in functions]
    whole = [[value for value in seed if value is not None] for seed in zip(*functions, strict=True)]
    means = [geometric_mean(seed) for seed in whole if len(seed) == len(functions)]
    finite = all(map(math.isfinite, medians))
    return Score(
        geometric_mean(medians) if finite else None,
        min(means, default=None),
        max(means, default=None),
        sum(value is None for seeds in functions for value in seeds),
        sum(map(len, functions)),
    )


def score_of(record: StudyRecord) -> Score:
    """The score of a record on test points within the range of the data."""
    return score_seeds([each.rmse for each in record.results.functions])
