"""The inputs of single channels, as records keep them, and how an activation by name is built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from chebact.activations import ChebyshevLagrange
from chebact.lab import LabError
from chebact.lab.forms import between
from chebact.table import ACTIVATIONS, make_activation

__all__ = ["Histogram", "histogram_of", "tails_of"]


@dataclass(frozen=True)
class Histogram:
    """The inputs of one channel in equal bins from `low` to `high`; `outside` is the share outside the interval."""

    low: float
    high: float
    counts: tuple[int, ...]
    outside: Annotated[float, between(0, 1)]

    def __post_init__(self) -> None:
        if not self.counts or self.low > self.high:
            raise LabError("the inputs of a channel must have counts, from low to high")


def tails_of(activation: str) -> str | None:
    """The tails of an activation whose captured `values` are heights at nodes; None where they are not.

    >>> tails_of("cl-extrapolate"), tails_of("wcp")
    ('extrapolate', None)
    """
    module = make_activation(activation, 1) if activation in ACTIVATIONS else None
    return module.tails if isinstance(module, ChebyshevLagrange) else None


def histogram_of(low: float, high: float, counts: Sequence[int]) -> Histogram:
    """The histogram of these counts, with the share of them outside [-1, 1]."""
    return Histogram(low, high, tuple(counts), share_outside(low, high, counts))


def share_outside(low: float, high: float, counts: Sequence[int]) -> float:
    """The share of inputs outside [-1, 1], from a histogram: a bin that an end cuts counts by its part outside."""
    width = (high - low) / len(counts)
    if width <= 0:
        return float(abs(low) > 1)
    inside = 0.0
    for index, count in enumerate(counts):
        left = low + index * width
        inside += count * max(0.0, min(left + width, 1.0) - max(left, -1.0)) / width
    return max(0.0, 1 - inside / max(1, sum(counts)))
