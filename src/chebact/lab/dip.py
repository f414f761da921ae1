"""Hartigan's dip: how far a distribution is from every distribution with one mode."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

__all__ = ["dip", "dip_of_histogram"]


def dip_of_histogram(low: float, high: float, counts: Sequence[int]) -> float:
    """The dip of a distribution that is uniform in each of the equal bins from `low` to `high`.

    >>> dip_of_histogram(0, 3, [1, 0, 1]), dip_of_histogram(0, 3, [1, 2, 1])
    (0.125, 0.0)
    """
    import numpy as np

    shares = np.array([0, *accumulate(counts)]) / sum(counts)
    return dip(np.linspace(low, high, len(shares)), shares, shares)


def dip(points: Numbers, below: Numbers, above: Numbers) -> float:
    """The dip of the distribution function that comes to `below` and jumps to `above` at these points.

    The algorithm of Hartigan and Hartigan (1985): between the ends of an interval that holds the mode, the greatest
    convex minorant and the least concave majorant; the interval shrinks to where they are furthest apart, until
    that distance is no more than the distance to the minorant or the majorant outside it. The dip is half of that.
    """
    distance, first, last = 0.0, 0, len(points) - 1
    while last > first:
        part = slice(first, last + 1)
        inner = points[part]
        left, right = lower_hull(inner, below[part]), lower_hull(inner, -above[part])
        minorant, majorant = hull_line(inner, below[part], left), hull_line(inner, above[part], right)
        gaps = majorant - minorant
        start, end = modal_interval(gaps, left, right)
        if max(gaps[left].max(), gaps[right].max()) <= distance:
            break
        outside = (*(above[part] - minorant)[:start], *(majorant - below[part])[end + 1 :])
        distance = max(distance, *map(float, outside), 0.0)
        if (start, end) == (0, last - first):
            break
        first, last = first + start, first + end
    return distance / 2


def modal_interval(gaps: Numbers, left: list[int], right: list[int]) -> tuple[int, int]:
    """The knots of both hulls around the widest gap: one of the minorant, then one of the majorant."""
    convex, concave = max(left, key=gaps.__getitem__), max(right, key=gaps.__getitem__)
    if gaps[convex] > gaps[concave]:
        return convex, min(knot for knot in right if knot >= convex)
    return max(knot for knot in left if knot <= concave), concave


def lower_hull(x: Numbers, y: Numbers) -> list[int]:
    """The indices of the knots of the greatest convex minorant of points with ascending x."""
    knots: list[int] = []
    for index in range(len(x)):
        while len(knots) > 1 and is_above(x, y, knots[-2], knots[-1], index):
            knots.pop()
        knots.append(index)
    return knots


def is_above(x: Numbers, y: Numbers, left: int, middle: int, right: int) -> bool:
    """Whether the middle point is on or above the line between the two others."""
    rise, run = y[right] - y[left], x[right] - x[left]
    return bool((y[middle] - y[left]) * run >= rise * (x[middle] - x[left]))


def hull_line(x: Numbers, y: Numbers, knots: list[int]) -> Numbers:
    """The line through the knots, at every x."""
    import numpy as np

    return np.interp(x, x[knots], y[knots])
