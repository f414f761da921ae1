"""The basis functions phi_j of a learned activation, sigma(x) = sum_j parameter_j phi_j(x).

Every activation and every derivative consists of pieces: a polynomial inside the interval, defined by its heights at
the nodes, and outside one straight line per side, defined by its height at the end and its slope. The pieces are linear
in the parameters, so one matrix defines them, and differentiation multiplies it by another matrix. A kernel only
evaluates pieces.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

import numpy

from chebact.checks import Interval
from chebact.node_positions import barycentric_weights, split_nodes

LEFT_SLOPE, RIGHT_SLOPE = -3, -1  # rows of the pieces
CHEBYSHEV_POWERS = numpy.array([[1.0, 0, -1, 0], [0, 1, 0, -3], [0, 0, 2, 0], [0, 0, 0, 4]])  # T_k in column k
SMALL_ENOUGH = 2.0**20  # a channel with numbers up to this is not scaled; see `steps_down`
POWER_DEGREE = 3  # up to this degree power coefficients are accurate; above, the barycentric form is needed


class IntervalError(ValueError):
    """The ends of the interval are equal or infinite in the type to compute in."""


class Constants(NamedTuple):
    """The numbers that depend only on the nodes and the type; `high` + `low` are the node positions.

    `half` is half the length of the interval, `tiny` replaces a smaller difference before a division, `most` limits
    T_k(x), and `largest` is the largest finite number. The weights have the unit of x, so a weight divided by a
    difference has no unit.
    """

    left: float
    right: float
    middle_high: float
    middle_low: float
    scale: float
    between: tuple[float, float]
    half: float
    tiny: float
    most: float
    largest: float
    high: tuple[float, ...]
    low: tuple[float, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Basis:
    """The options that define phi_0 ... phi_degree; `order` is the order of the derivative.

    >>> Basis(3).pieces.shape  # 4 heights at the nodes and 4 numbers for the two straight lines, from 4 parameters
    (8, 4)
    """

    degree: int
    tails: str = "extrapolate"
    regression_nodes: int = 2
    interval: Interval = (-1.0, 1.0)
    parameters: Literal["values", "coefficients"] = "values"
    order: int = 0
    key: str = field(init=False, repr=False, compare=False)
    """All options as a string, whose hash is computed once."""

    def __post_init__(self) -> None:
        a, b = self.interval
        fields = (self.degree, self.tails, self.regression_nodes, a.hex(), b.hex(), self.parameters, self.order)
        object.__setattr__(self, "key", "/".join(str(each) for each in fields))

    def __hash__(self) -> int:
        return hash(self.key)  # a string caches its hash

    def __reduce__(self) -> tuple[Any, ...]:
        options = (self.degree, self.tails, self.regression_nodes, self.interval, self.parameters, self.order)
        return Basis, options  # a saved model holds the options, not the cached matrices

    def derivative(self) -> Basis:
        """The basis of the derivatives of these functions."""
        return self._derivative

    @cached_property
    def _derivative(self) -> Basis:
        return basis_of(replace(self, order=self.order + 1))

    @property
    def has_tails(self) -> bool:
        """Whether there are straight lines outside the interval."""
        return TAIL_ROWS[self.tails].lines is not None

    @property
    def is_exact_at_nodes(self) -> bool:
        """Whether the result at a rounded node is the learned height; a derivative is evaluated at x instead."""
        return self.order == 0

    @cached_property
    def pieces(self) -> Any:
        """The matrix that maps parameters to pieces, float64: (degree + 5, degree + 1), without tails (degree + 1)^2.

        The pieces are the heights at the nodes, then height and slope of the left line, then of the right line.
        """
        matrix = numpy.eye(self.degree + 1)
        lines = TAIL_ROWS[self.tails].lines
        if lines is not None:
            matrix = numpy.vstack([matrix, lines(self.degree, self.regression_nodes, self.interval)])
        if self.parameters == "coefficients":
            matrix = matrix @ chebyshev_at_nodes(self.degree)
        for _ in range(self.order):
            matrix = self._differentiate(matrix)
        return matrix

    @cached_property
    def by_powers(self) -> bool:
        """Whether the polynomial is evaluated from power coefficients."""
        return self.degree <= POWER_DEGREE

    @cached_property
    def power_pieces(self) -> Any:
        """The matrix that maps parameters to the ten numbers of the power form, float64: (10, degree + 1).

        They are four power coefficients in u = (x - middle) scale, height and slope of the left line and of the right
        line, and the heights at the inner nodes. Without tails the heights at the ends are still included.
        """
        pieces, terms = self.pieces, self.degree + 1
        middle, scale = self.middle_and_scale
        high, low = split_nodes(self.degree, self.interval, numpy.float64)
        powers = numpy.vander(((high - middle) + low) * scale, terms, increasing=True)
        matrix = numpy.zeros((10, terms))
        if self.parameters == "values" or self.interval != (-1.0, 1.0):
            matrix[:terms] = numpy.linalg.solve(powers, pieces[:terms])
        else:
            matrix[:terms] = CHEBYSHEV_POWERS[:terms, :terms] @ self.series
        matrix[max(0, terms - self.order) : 4] = 0.0  # a derivative has fewer powers; this removes rounding errors
        matrix[[4, 6]] = pieces[[self.degree, 0]]
        if self.has_tails:
            matrix[4:8] = pieces[terms:]
        matrix[8 : 7 + self.degree] = pieces[1 : self.degree]
        return matrix

    @cached_property
    def paired_powers(self) -> Any:
        """The matrix from parameters to m with P = sum_j (m_2j + m_2j+1 u) t^j, t = 2 u^2 - 1, float64.

        u spans the interval from -1 to 1, and so does t. m has an even length: T_2j(u) = T_j(t), and T_2j+1(u) / u is
        a sum of T_0(t) ... T_j(t). The coefficients grow half as fast with the degree as those of powers of u.
        """
        rows = numpy.zeros(((self.degree // 2 + 1) * 2, self.degree + 1))
        for k in range(self.degree + 1):
            series = 2.0 * (-1.0) ** numpy.arange(k // 2, -1, -1) if k % 2 else numpy.eye(k // 2 + 1)[-1]
            series[0] /= 1 + k % 2
            rows[k % 2 : k // 2 * 2 + 2 : 2, k] = numpy.polynomial.chebyshev.cheb2poly(series)
        return rows @ self.series

    @cached_property
    def table(self) -> Any:
        """The matrix that maps parameters to the numbers from which a kernel evaluates a channel, float64.

        Up to degree 3 they are those of the power form, above they are the pieces. Without tails the weights of
        T_0 ... T_degree follow the heights, for the polynomial outside the interval.
        """
        if self.by_powers:
            return self.power_pieces
        if self.has_tails:
            return self.pieces
        return numpy.vstack([self.pieces, self.series])

    @cached_property
    def series(self) -> Any:
        """The matrix that maps parameters to the weights of T_0 ... T_degree, float64.

        Weights that are zero are exactly zero: outside the interval T_degree would amplify a rounding error.
        """
        matrix = numpy.eye(self.degree + 1)
        if self.parameters == "values":
            matrix = numpy.linalg.inv(chebyshev_at_nodes(self.degree))
        for _ in range(self.order):
            matrix = _series_derivative(self.degree) @ matrix * (2 / (self.interval[1] - self.interval[0]))
        return matrix

    @property
    def middle_and_scale(self) -> tuple[float, float]:
        """The middle of the interval, and the power of two that scales half its length into [1/2, 1]."""
        a, b = self.interval
        fraction, exponent = math.frexp((b - a) / 2)
        return a + (b - a) / 2, math.ldexp(1.0, -exponent + (fraction == 0.5))

    def constants(self, dtype: Any) -> Constants:
        """The numbers that a kernel computes with, rounded to `dtype` (a NumPy type)."""
        return _constants(self.degree, self.has_tails, self.interval, self.middle_and_scale, numpy.dtype(dtype).name)

    def ends_are_exact(self, dtype: Any) -> bool:
        """Whether rounding the ends to `dtype` moves them by less than a rounding error of the interval length.

        Then the polynomial at a rounded end has the height and the slope of the line, up to rounding.
        """
        _, low = split_nodes(self.degree, self.interval, dtype)
        shift = max(abs(float(low[0])), abs(float(low[-1])))
        return shift <= float(numpy.finfo(dtype).eps) / 4 * (self.interval[1] - self.interval[0])

    def fused_constants(self, dtype: Any) -> tuple[float, ...]:
        """The constants that a fused kernel loads, in its order."""
        k = self.constants(dtype)
        if self.by_powers:
            position, nodes = (k.middle_high, k.middle_low, k.scale), (*k.between, k.high[-1], k.high[0])
            return (k.left, k.right, *position, *(nodes if self.is_exact_at_nodes else [math.nan] * 4), k.largest)
        exact = 1.0 if self.is_exact_at_nodes else math.nan
        numbers = (k.high[-1], k.high[0], k.tiny, k.largest, exact, *k.high, *k.low, *k.weights)
        return numbers if self.has_tails else (*numbers, k.middle_high, k.middle_low, k.half, k.most)

    def _differentiate(self, matrix: Any) -> Any:
        inside = differentiation_matrix(self.degree, self.interval) @ matrix[: self.degree + 1]
        if not self.has_tails:
            return inside
        zeros = numpy.zeros_like(matrix[0])
        return numpy.vstack([inside, matrix[LEFT_SLOPE], zeros, matrix[RIGHT_SLOPE], zeros])


@lru_cache(maxsize=512)
def basis_of(basis: Basis) -> Basis:
    """The cached object equal to `basis`, so that its matrices are computed once."""
    return basis


@lru_cache(maxsize=64)
def differentiation_matrix(degree: int, interval: Interval = (-1.0, 1.0)) -> Any:
    """The matrix that maps heights at the nodes to slopes at the nodes, float64: (degree + 1, degree + 1)."""
    high, low = split_nodes(degree, interval, numpy.float64)
    weights = barycentric_weights(degree)
    difference = (high[:, None] - high[None, :]) + (low[:, None] - low[None, :])
    numpy.fill_diagonal(difference, 1.0)
    matrix = (weights[None, :] / weights[:, None]) / difference
    numpy.fill_diagonal(matrix, 0.0)
    numpy.fill_diagonal(matrix, -matrix.sum(axis=1))
    return matrix


@lru_cache(maxsize=64)
def chebyshev_at_nodes(degree: int) -> Any:
    """T_k at node j in row j and column k, float64: (degree + 1, degree + 1)."""
    high, low = split_nodes(degree, (-1.0, 1.0), numpy.float64)
    angle = numpy.arccos(high)[:, None] * numpy.arange(degree + 1)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        correction = -low / numpy.sqrt((1 - high) * (1 + high))  # of the angle, for digits beyond float64
    correction[[0, -1]] = 0.0
    return numpy.cos(angle + correction[:, None] * numpy.arange(degree + 1))


def _series_derivative(degree: int) -> Any:
    """The matrix that maps weights of T_0 ... T_degree to those of the derivative, float64."""
    row, column = numpy.indices((degree + 1, degree + 1))
    matrix = numpy.where((column > row) & ((column - row) % 2 == 1), 2.0 * column, 0.0)
    matrix[0] /= 2
    return matrix


def regression_weights(degree: int, count: int, interval: Interval = (-1.0, 1.0)) -> tuple[Any, Any]:
    """The least-squares slopes of the `count` nodes at the left and at the right end, as weights of the values."""
    high, low = split_nodes(degree, interval, numpy.float64)
    left, right = numpy.zeros(degree + 1), numpy.zeros(degree + 1)
    for weights, part, end in ((left, slice(degree + 1 - count, degree + 1), -1), (right, slice(0, count), 0)):
        centred = (high[part] - high[end]) + (low[part] - low[end])  # from the end: nodes are close there
        centred -= centred.mean()
        weights[part] = centred / (centred @ centred)
    return left, right


@lru_cache(maxsize=256)
def _constants(
    degree: int, tails: bool, interval: Interval, middle_and_scale: tuple[float, float], type_name: str
) -> Constants:
    dtype = numpy.dtype(type_name).type
    with numpy.errstate(over="ignore"):
        high, low = split_nodes(degree, interval, dtype)
    if not (numpy.isfinite(high).all() and high[-1] < high[0]):
        raise IntervalError(
            f"interval must have two different finite ends in {type_name}, got {interval}, which is rounded to "
            f"({float(high[-1])}, {float(high[0])}); use another interval or float64"
        )
    middle, scale = middle_and_scale
    middle_high = float(dtype(middle))
    between = ([float(x) for x in high[1:-1]] + [math.nan, math.nan])[:2]
    return Constants(
        left=float(high[-1]) if tails else -math.inf,
        right=float(high[0]) if tails else math.inf,
        middle_high=middle_high,
        middle_low=float(dtype(middle - middle_high)),
        scale=scale,
        between=(between[0], between[1]),
        half=float(dtype((interval[1] - interval[0]) / 2)),
        tiny=_tiny(interval[1] - interval[0], dtype),
        most=float(dtype(1e30 if dtype is numpy.float32 else 1e290)),
        largest=float(numpy.finfo(dtype).max),
        high=tuple(float(x) for x in high),
        low=tuple(float(x) for x in low),
        weights=tuple(float(dtype(x / scale)) for x in barycentric_weights(degree)),
    )


def steps_down(dtype: Any) -> tuple[float, float]:
    """The divisor of a channel with numbers above `SMALL_ENOUGH`, and the one if they are still above it then.

    The barycentric form multiplies numbers by up to 2^60 (2^100 in float64) near a node and divides again, the series
    by up to 1e30 (1e290). Divided by a power of two they do not overflow and keep their digits.
    """
    step = 2.0**54 if dtype is numpy.float32 else 2.0**502
    return step, step * step


def _tiny(width: float, dtype: Any) -> float:
    """A distance from a node that changes no digit of the polynomial up to the largest degree."""
    return float(dtype(max(width * 2.0**-60, 1e-36) if dtype is numpy.float32 else width * 2.0**-100))


def _end_lines(degree: int, regression_nodes: int, interval: Interval) -> Any:
    heights, slopes = numpy.eye(degree + 1), differentiation_matrix(degree, interval)
    return numpy.vstack([heights[-1], slopes[-1], heights[0], slopes[0]])


def _regression_lines(degree: int, regression_nodes: int, interval: Interval) -> Any:
    heights, (left, right) = numpy.eye(degree + 1), regression_weights(degree, regression_nodes, interval)
    return numpy.vstack([heights[-1], left, heights[0], right])


class TailRow(NamedTuple):
    """A kind of tails, and everything that a kernel needs to know about it.

    `lines` returns the two straight lines as rows over the heights at the nodes, (4, degree + 1): height at the left
    end, slope, height at the right end, slope; None if the polynomial continues outside. `joined` means that a line
    starts at the height of the polynomial at the end, `smooth` that it also has its slope there.
    """

    lines: Callable[[int, int, Interval], Any] | None
    joined: bool = True
    smooth: bool = True


TAIL_ROWS: dict[str, TailRow] = {
    "extrapolate": TailRow(_end_lines),
    "regression": TailRow(_regression_lines, smooth=False),
    "none": TailRow(None),
}
