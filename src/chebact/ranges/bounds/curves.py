"""Bounds of polynomials with straight tails on intervals, one row per polynomial, sound in float64.

A row is sum_k c_k T_k(t) for -1 <= t <= 1; outside, a line with its own slope starts at either end, or, without
`lines`, the polynomial goes on. The extremes are at the ends of the interval and at the roots of the derivative.
Computed roots are not the exact ones, but exact roots of another polynomial, whose distance D from the derivative is
measured. On an interval of width w the two polynomials differ by at most D w, so 2 D w beyond the values at the
computed roots is a bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy
from numpy.polynomial.chebyshev import chebder, chebval

__all__ = ["UNIT", "Curves", "bound_curves"]

UNIT = 2.0**-53
LARGEST_DEGREE = 64  # above, the sum of the coefficients is the bound
LEAST_LEAD = 1e-14  # a smaller leading coefficient is dropped, relative to the largest

Bounds = tuple[Any, Any]


@dataclass(frozen=True)
class Curves:
    """Chebyshev coefficients (row, degree + 1), and the slopes (row, 2) of the left and the right line, or None.

    `heights` (row, 2) are those at which the lines start, by default those of the polynomial: the derivative of an
    activation with regression tails jumps there. `at` and `less_line` are for curves without jumps.
    """

    coefficients: Any
    lines: Any
    heights: Any = None

    def less_line(self, slopes: Any) -> Curves:
        """The curves less the lines slopes * t."""
        coefficients = self.coefficients.copy()
        coefficients[:, 1] -= slopes
        return Curves(coefficients, None if self.lines is None else self.lines - slopes[:, None])

    def at(self, t: Any) -> Any:
        """The values at t (row,)."""
        inside = t if self.lines is None else numpy.clip(t, -1.0, 1.0)
        values = _evaluate(self.coefficients, inside[:, None])[:, 0]
        if self.lines is None:
            return values
        return values + self.lines[:, 0] * numpy.minimum(t + 1, 0) + self.lines[:, 1] * numpy.maximum(t - 1, 0)


def bound_curves(curves: Curves, low: Any, high: Any) -> Bounds:
    """Bounds (row,) of every curve for low <= t <= high, (row,) each.

    >>> parabola = Curves(numpy.array([[0.5, 0.0, 0.5]]), numpy.array([[-2.0, 2.0]]))  # t^2
    >>> least, largest = bound_curves(parabola, numpy.array([-0.5]), numpy.array([2.0]))
    >>> bool(-1e-12 < least[0] <= 0.0), bool(3.0 <= largest[0] < 3.0 + 1e-12)
    (True, True)
    """
    if curves.lines is None:
        return _bound_inside(curves.coefficients, low, high)
    rows = numpy.arange(len(low))
    clipped = numpy.clip(low, -1.0, 1.0), numpy.clip(high, -1.0, 1.0)
    least, largest = _bound_inside(curves.coefficients, *clipped)
    outside = (high < -1) | (low > 1)  # the clipped interval is one end, which is not in the interval
    least[outside], largest[outside] = numpy.inf, -numpy.inf
    for side, end in ((0, -1.0), (1, 1.0)):
        near, far = (numpy.minimum(high, end), low) if side == 0 else (numpy.maximum(low, end), high)
        on_line = rows[(far - end) * end > 0]
        if curves.heights is None:
            height = _evaluate(curves.coefficients[on_line], numpy.full((len(on_line), 1), end))[:, 0]
        else:
            height = curves.heights[on_line, side]
        slope, sizes = curves.lines[on_line, side], numpy.abs(curves.coefficients[on_line]).sum(axis=1)
        for t in (near[on_line], far[on_line]):
            value = height + slope * (t - end)
            slack = sizes * curves.coefficients.shape[1] + numpy.abs(slope) * (numpy.abs(t) + 1) + numpy.abs(height)
            slack *= 64 * UNIT
            least[on_line] = numpy.minimum(least[on_line], value - slack)
            largest[on_line] = numpy.maximum(largest[on_line], value + slack)
    return least, largest


def _bound_inside(coefficients: Any, low: Any, high: Any) -> Bounds:
    """Bounds of the polynomials alone; the interval may reach beyond -1 and 1."""
    reach = numpy.maximum(numpy.maximum(numpy.abs(low), numpy.abs(high)), 1.0)
    with numpy.errstate(over="ignore", invalid="ignore"):
        sizes = _evaluate(numpy.abs(coefficients), reach[:, None])[:, 0]  # T_k grows beyond 1
        degree = coefficients.shape[1] - 1
        if degree > LARGEST_DEGREE:
            return -sizes * (1 + 8 * UNIT), sizes * (1 + 8 * UNIT)
        roots, distance = _stationary_points(coefficients, reach)
        points = numpy.clip(roots, low[:, None], high[:, None])
        values = _evaluate(coefficients, numpy.column_stack([low, high, points]))
        slack = 2 * distance * (high - low) + 16 * (degree + 1) ** 2 * UNIT * sizes
        slack = numpy.where(slack <= sizes, slack, numpy.inf)  # also where it is NaN
        least, largest = values.min(axis=1) - slack, values.max(axis=1) + slack
        crude = sizes * (1 + 8 * UNIT)
    finite = numpy.isfinite(slack)
    return numpy.where(finite, least, -crude), numpy.where(finite, largest, crude)


def _stationary_points(coefficients: Any, reach: Any) -> Bounds:
    """The roots of the derivatives, real parts (row, degree - 1), and D (row,) on -reach <= t <= reach.

    Leading coefficients that are nearly zero are dropped, and roots that there are not are zero; D includes the change.
    """
    degree = coefficients.shape[1] - 1
    slopes = chebder(coefficients, axis=1)  # (row, degree)
    roots = numpy.zeros((len(slopes), degree - 1), complex)
    nodes = numpy.cos(numpy.pi * (numpy.arange(2 * degree) + 0.5) / (2 * degree))
    t = reach[:, None] * nodes
    product = numpy.zeros_like(t)
    largest = numpy.abs(slopes).max(axis=1, keepdims=True)
    kept = numpy.abs(slopes) > LEAST_LEAD * largest
    counts = numpy.where(kept.any(axis=1), degree - 1 - numpy.argmax(kept[:, ::-1], axis=1), -1)
    for count in numpy.unique(counts[counts >= 0]):
        rows = counts == count
        series = slopes[rows, : count + 1]
        if count:
            roots[rows, :count] = numpy.linalg.eigvals(_colleague(series))
        lead = series[:, -1:] * 2.0 ** max(count - 1, 0)  # the coefficient of t^count
        product[rows] = lead * numpy.prod(t[rows][:, :, None] - roots[rows][:, None, :count], axis=2).real
    apart = numpy.abs(_evaluate(slopes, t) - product).max(axis=1)  # on twice as many nodes as needed: below half of D
    sizes = _evaluate(numpy.abs(slopes), reach[:, None])[:, 0]
    return roots.real, 2 * apart + 16 * degree**2 * UNIT * sizes


def _colleague(series: Any) -> Any:
    """The matrices (row, degree, degree) whose eigenvalues are the roots of Chebyshev series (row, degree + 1)."""
    rows, degree = len(series), series.shape[1] - 1
    matrix = numpy.zeros((rows, degree, degree))
    if degree == 1:
        matrix[:, 0, 0] = -series[:, 0] / series[:, 1]
        return matrix
    index = numpy.arange(degree - 1)
    matrix[:, index, index + 1] = 0.5
    matrix[:, index + 1, index] = 0.5
    matrix[:, 0, 1] = 1.0
    matrix[:, -1, :] -= series[:, :-1] / (2 * series[:, -1:])
    return matrix


def _evaluate(coefficients: Any, t: Any) -> Any:
    """sum_k c_k T_k(t), row by row: (row, degree + 1), (row, point) -> (row, point)."""
    return chebval(t, coefficients.T[:, :, None], tensor=False)
