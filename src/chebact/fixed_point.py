"""One channel as a table of integers, for hardware without floating point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from chebact.checks import Interval, check_integer, check_interval, must_be
from chebact.pieces import Pieces, evaluate_pieces

__all__ = ["LookupTable", "make_table"]

MOST_BITS = 20


@dataclass(frozen=True)
class LookupTable:
    """sigma(x) is about `scale * entries[i]`, with i = floor((x - range[0]) / step), for x in the range.

    `entries` are 2^bits signed integers of `bits` bits. `error` is the largest difference over the whole range, that of
    rounding x and sigma(x) together; outside the range the entry at that end is the nearest there is.
    """

    bits: int
    range: Interval
    entries: Any
    scale: float
    error: float

    @property
    def step(self) -> float:
        """The width of the part of the range that shares an entry."""
        return (self.range[1] - self.range[0]) / len(self.entries)

    def __call__(self, x: Any) -> Any:
        """What the hardware would give, as float64."""
        x = numpy.asarray(x, dtype=numpy.float64)
        place = numpy.clip(numpy.floor((x - self.range[0]) / self.step), 0, len(self.entries) - 1)
        entries = self.entries[numpy.where(numpy.isnan(x), 0, place).astype(numpy.int64)]
        return numpy.where(numpy.isnan(x), numpy.nan, self.scale * entries)[()]


def make_table(pieces: Pieces, bits: Any, span: Any) -> LookupTable:
    """The table of a channel: each entry is halfway between the largest and the smallest value of its part.

    >>> from chebact.basis import Basis
    >>> from chebact.pieces import pieces_of
    >>> make_table(pieces_of([1.0, -1.0], Basis(1)), 4, (-1.0, 1.0)).entries.tolist()  # the line x
    [-7, -6, -5, -4, -3, -2, -1, 0, 0, 1, 2, 3, 4, 5, 6, 7]
    """
    bits, (left, right) = check_integer("bits", bits, least=2, most=MOST_BITS), check_interval(span, "range")
    with numpy.errstate(over="ignore", invalid="ignore"):
        low, high = _extremes(pieces, numpy.linspace(left, right, 2**bits + 1))
        middle, most = (low + high) / 2, 2 ** (bits - 1) - 1
    if not (numpy.isfinite(low) & numpy.isfinite(high) & numpy.isfinite(middle)).all():
        what = "one where the activation stays below 1e308"
        raise ValueError(must_be("range", what, (left, right), "pass the range that inputs reach"))
    scale = float(numpy.abs(middle).max()) / most or 1.0
    entries = numpy.rint(middle / scale).astype(numpy.int32)
    error = float(numpy.maximum(high - scale * entries, scale * entries - low).max())
    return LookupTable(bits, (left, right), entries, scale, error)


def _extremes(pieces: Pieces, edges: Any) -> tuple[Any, Any]:
    """The smallest and the largest value between neighbouring edges."""
    at_edges = evaluate_pieces(pieces, edges)
    low, high = numpy.minimum(at_edges[:-1], at_edges[1:]), numpy.maximum(at_edges[:-1], at_edges[1:])
    turns = _turning_points(pieces, edges[0], edges[-1])
    values = evaluate_pieces(pieces, turns)
    place = numpy.clip(numpy.searchsorted(edges, turns, side="right") - 1, 0, len(low) - 1)
    numpy.minimum.at(low, place, values)
    numpy.maximum.at(high, place, values)
    return low, high


def _turning_points(pieces: Pieces, left: float, right: float) -> Any:
    """Where a value can be the largest or smallest of its part without being at an edge of it."""
    kind: Any = numpy.polynomial.Polynomial if pieces.powers else numpy.polynomial.Chebyshev
    roots = kind(pieces.coefficients).deriv().trim().roots()
    real = roots.real[numpy.abs(roots.imag) < 1e-9] * pieces.half + pieces.middle
    if pieces.lines is not None:
        real = real[(real > pieces.ends[0]) & (real < pieces.ends[1])]
        real = numpy.append(real, pieces.ends)
    return real[(real >= left) & (real <= right)]
