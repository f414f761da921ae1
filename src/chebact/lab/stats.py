"""Statistics of repeated trainings."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

__all__ = ["Summary", "fisher", "lilliefors", "paired", "stars", "summarize", "welch"]

DRAWS = 9999


@dataclass(frozen=True)
class Summary:
    """Mean and sample deviation over the trainings that stayed finite, and how many did not."""

    seeds: int
    mean: float | None
    std: float | None
    nan: int


def summarize(values: Iterable[float | None]) -> Summary:
    """Summarise one number per seed; None is a training that turned NaN.

    The deviation divides by n - 1, as the published ones do: three published accuracies, 99.74, 99.66 and 99.68, are
    printed as 99.69 +- 0.04, which is 0.042 with n - 1 and 0.034 with n.

    >>> summarize([1.0, 2.0, None])
    Summary(seeds=3, mean=1.5, std=0.7071067811865476, nan=1)
    """
    values = list(values)
    finite = [value for value in values if value is not None]
    mean = statistics.fmean(finite) if finite else None
    std = statistics.stdev(finite) if len(finite) > 1 else None
    return Summary(len(values), mean, std, len(values) - len(finite))


def lilliefors(values: Sequence[float]) -> float | None:
    """The p-value of Lilliefors' test that the values are normal, with mean and deviation taken from them.

    The distance between the two distribution functions is compared with those of 9,999 normal samples of the same
    size, the same ones each time. None for fewer than four values or values that are all equal.

    >>> lilliefors([1.0, 1.1, 1.2, 1.3, 1.4, 99.0]) < 0.01
    True
    """
    from scipy import stats

    if len(values) < 4 or max(values) == min(values):
        return None
    normal = stats.norm(statistics.fmean(values), statistics.stdev(values))
    distance = stats.ks_1samp(values, normal.cdf).statistic
    return float((1 + (normal_distances(len(values)) >= distance).sum()) / (1 + DRAWS))


@cache
def normal_distances(size: int) -> Any:
    """The distances of normal samples of that size from their fitted distribution, by scipy's goodness_of_fit: the null
    distribution of a normal sample depends on its size only.
    """
    import numpy as np
    from scipy import stats

    drawn = np.random.default_rng(size)
    sample = drawn.standard_normal(size)
    return stats.goodness_of_fit(stats.norm, sample, statistic="ks", n_mc_samples=DRAWS, rng=drawn).null_distribution


def welch(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """The two-sided p-value of Welch's t test that two means are equal; None where nothing varies.

    >>> round(welch([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]), 3)
    0.288
    """
    from scipy import stats

    if min(len(ours), len(theirs)) < 2 or (max(ours) == min(ours) and max(theirs) == min(theirs)):
        return None
    known = [(statistics.fmean(values), statistics.stdev(values), len(values)) for values in (ours, theirs)]
    return float(stats.ttest_ind_from_stats(*known[0], *known[1], equal_var=False).pvalue)


def paired(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """The two-sided p-value of the paired t test; None where all differences are equal.

    >>> round(paired([1.0, 2.0, 3.0], [2.0, 3.0, 4.1]), 4)
    0.001
    """
    from scipy import stats

    differences = [one - other for one, other in zip(ours, theirs, strict=True)]
    if len(differences) < 2 or max(differences) - min(differences) < 1e-12:
        return None
    return float(stats.ttest_rel(ours, theirs).pvalue)


def fisher(ours: int, of_ours: int, theirs: int, of_theirs: int) -> float:
    """The two-sided p-value of Fisher's exact test that two counts have one rate.

    >>> round(fisher(10, 10, 4, 10), 4)
    0.0108
    """
    from scipy import stats

    return float(stats.fisher_exact([[ours, of_ours - ours], [theirs, of_theirs - theirs]]).pvalue)


def stars(p: float | None) -> str:
    """The paper's marks: two stars below 0.01, three below 0.001.

    >>> stars(0.005), stars(0.2)
    ('**', '')
    """
    return "" if p is None or p >= 0.01 else "**" if p >= 0.001 else "***"
