"""One channel as three pieces of numbers: what a formula, C code and a table are made from."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from chebact.basis import Basis
from chebact.checks import must_be

__all__ = ["Pieces", "evaluate_pieces", "pieces_of"]


class Pieces(NamedTuple):
    """A polynomial in t = (x - middle) / half between the ends, and a line from either end, all float64.

    `coefficients` are of powers of t from the constant up where `powers`, else of T_0 ... T_degree. `lines` are the
    left height and slope, then the right; None where the polynomial goes on.
    """

    powers: bool
    coefficients: tuple[float, ...]
    middle: float
    half: float
    ends: tuple[float, float]
    lines: tuple[float, float, float, float] | None


def pieces_of(heights: Any, basis: Basis) -> Pieces:
    """The pieces of one channel; `heights` are (degree + 1,), in NumPy.

    >>> pieces_of(numpy.array([1.0, 0.0, 1.0]), Basis(2)).lines
    (1.0, -2.0, 1.0, 2.0)
    """
    heights = numpy.asarray(heights, dtype=numpy.float64)
    (a, b), series = basis.interval, _finite(basis.series, heights)
    if basis.by_powers:
        series = numpy.polynomial.chebyshev.cheb2poly(series)
        series = numpy.append(series, numpy.zeros(basis.degree + 1 - len(series)))
    lines = [float(each) for each in basis.pieces[-4:] @ heights] if basis.has_tails else None
    middle, half = (a + b) / 2, (b - a) / 2
    return Pieces(basis.by_powers, tuple(map(float, series)), middle, half, (a, b), tuple(lines) if lines else None)  # type: ignore[arg-type]


def _finite(rows: Any, heights: Any) -> Any:
    """The product; a ValueError if the heights are not finite, or too large."""
    with numpy.errstate(over="ignore", invalid="ignore"):
        numbers = rows @ heights
    if not numpy.isfinite(numbers).all():
        largest = float(heights[numpy.argmax(numpy.abs(heights))])  # or nan
        raise ValueError(must_be("heights", "finite and below 1e307", largest, "train the activation again"))
    return numbers


def evaluate_pieces(pieces: Pieces, x: Any) -> Any:
    """The channel at x, in NumPy's float64.

    >>> evaluate_pieces(pieces_of(numpy.array([1.0, 0.0, 1.0]), Basis(2)), [0.5, 2.0])
    array([0.25, 3.  ])
    """
    x = numpy.asarray(x, dtype=numpy.float64)
    a, b = pieces.ends
    t = ((numpy.clip(x, a, b) if pieces.lines else x) - pieces.middle) / pieces.half
    value = numpy.polynomial.polynomial.polyval if pieces.powers else numpy.polynomial.chebyshev.chebval
    inside = value(t, numpy.array(pieces.coefficients))
    if pieces.lines is None:
        return inside
    return inside + pieces.lines[1] * numpy.minimum(x - a, 0) + pieces.lines[3] * numpy.maximum(x - b, 0)
