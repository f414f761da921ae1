"""Statistics of repeated trainings."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Summary", "summarize"]


@dataclass(frozen=True)
class Summary:
    """Mean and sample deviation over the trainings that stayed finite, and how many did not."""

    seeds: int
    mean: float | None
    std: float | None
    nan: int


def summarize(values: Iterable[float | None]) -> Summary:
    """Summarise one number a seed; None stands for a training that turned NaN.

    The deviation divides by n - 1, as the published ones do: three published accuracies, 99.74, 99.66 and 99.68, are
    given as 99.69 +- 0.04, which is 0.042 that way and 0.034 the other.

    >>> summarize([1.0, 2.0, None])
    Summary(seeds=3, mean=1.5, std=0.7071067811865476, nan=1)
    """
    values = list(values)
    finite = [value for value in values if value is not None]
    mean = statistics.fmean(finite) if finite else None
    std = statistics.stdev(finite) if len(finite) > 1 else None
    return Summary(len(values), mean, std, len(values) - len(finite))
