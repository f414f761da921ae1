"""Twenty formulas of the Feynman lectures, with the ranges that their variables are drawn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy import cos, exp, log, pi, sin, sqrt

__all__ = ["FORMULAS", "Formula"]

Array = Any
Range = tuple[float, float]


@dataclass(frozen=True)
class Formula:
    """A row: where it stands in the lectures, its text, the function of its variables, and their ranges.

    >>> import numpy
    >>> FORMULAS["I.24.6"].values(numpy.ones((2, 4))).tolist()
    [0.5, 0.5]
    """

    name: str
    text: str
    function: Callable[..., Array]
    ranges: tuple[Range, ...]

    def values(self, x: Array) -> Array:
        """The formula at x (row, variable): (row,)."""
        return self.function(*x.T)


def _row(name: str, text: str, function: Callable[..., Array], *ranges: Range) -> Formula:
    """A formula; a single range is that of all variables."""
    count = function.__code__.co_argcount
    return Formula(name, text, function, ranges if len(ranges) > 1 else ranges * count)


ONE_TO_FIVE, ONE_TO_THREE, ONE_TO_TWO = (1.0, 5.0), (1.0, 3.0), (1.0, 2.0)

FORMULAS: dict[str, Formula] = {
    row.name: row
    for row in (
        _row(
            "I.6.20",
            "exp(-(θ/σ)²/2) / (√(2π) σ)",
            lambda theta, sigma: exp(-((theta / sigma) ** 2) / 2) / (sqrt(2 * pi) * sigma),
            ONE_TO_THREE,
        ),
        _row(
            "I.6.20b",
            "exp(-((θ-θ₁)/σ)²/2) / (√(2π) σ)",
            lambda theta, centre, sigma: exp(-(((theta - centre) / sigma) ** 2) / 2) / (sqrt(2 * pi) * sigma),
            ONE_TO_THREE,
        ),
        _row(
            "I.8.14",
            "√((x₂-x₁)² + (y₂-y₁)²)",
            lambda x1, x2, y1, y2: sqrt((x2 - x1) ** 2 + (y2 - y1) ** 2),
            ONE_TO_FIVE,
        ),
        _row(
            "I.9.18",
            "G m₁ m₂ / ((x₂-x₁)² + (y₂-y₁)² + (z₂-z₁)²)",
            lambda g, m1, m2, x1, x2, y1, y2, z1, z2: g * m1 * m2 / ((x2 - x1) ** 2 + (y2 - y1) ** 2 + (z2 - z1) ** 2),
            *(ONE_TO_TWO,) * 3,
            *((3.0, 4.0), ONE_TO_TWO) * 3,
        ),
        _row(
            "I.10.7",
            "m₀ / √(1 - v²/c²)",
            lambda m, v, c: m / sqrt(1 - (v / c) ** 2),
            ONE_TO_FIVE,
            ONE_TO_TWO,
            (3.0, 10.0),
        ),
        _row(
            "I.11.19",
            "x₁ y₁ + x₂ y₂ + x₃ y₃",
            lambda x1, x2, x3, y1, y2, y3: x1 * y1 + x2 * y2 + x3 * y3,
            ONE_TO_FIVE,
        ),
        _row("I.12.11", "q (E + B v sin θ)", lambda q, e, b, v, theta: q * (e + b * v * sin(theta)), ONE_TO_FIVE),
        _row(
            "I.13.12", "G m₁ m₂ (1/r₂ - 1/r₁)", lambda g, m1, m2, r1, r2: g * m1 * m2 * (1 / r2 - 1 / r1), ONE_TO_FIVE
        ),
        _row(
            "I.15.3",
            "(x - u t) / √(1 - u²/c²)",
            lambda x, u, c, t: (x - u * t) / sqrt(1 - (u / c) ** 2),
            (5.0, 10.0),
            ONE_TO_TWO,
            (3.0, 20.0),
            ONE_TO_TWO,
        ),
        _row("I.16.6", "(u + v) / (1 + u v/c²)", lambda u, v, c: (u + v) / (1 + u * v / c**2), ONE_TO_FIVE),
        _row(
            "I.18.4",
            "(m₁ r₁ + m₂ r₂) / (m₁ + m₂)",
            lambda m1, m2, r1, r2: (m1 * r1 + m2 * r2) / (m1 + m2),
            ONE_TO_FIVE,
        ),
        _row("I.24.6", "m (ω² + ω₀²) x² / 4", lambda m, w, w0, x: m * (w**2 + w0**2) * x**2 / 4, ONE_TO_THREE),
        _row("I.27.6", "1 / (1/d₁ + n/d₂)", lambda d1, d2, n: 1 / (1 / d1 + n / d2), ONE_TO_FIVE),
        _row(
            "I.29.16",
            "√(x₁² + x₂² - 2 x₁ x₂ cos(θ₁-θ₂))",
            lambda x1, x2, t1, t2: sqrt(x1**2 + x2**2 - 2 * x1 * x2 * cos(t1 - t2)),
            ONE_TO_FIVE,
        ),
        _row(
            "I.30.3",
            "I₀ sin²(n θ/2) / sin²(θ/2)",
            lambda i, n, theta: i * sin(n * theta / 2) ** 2 / sin(theta / 2) ** 2,
            ONE_TO_FIVE,
        ),
        _row("I.37.4", "I₁ + I₂ + 2 √(I₁ I₂) cos δ", lambda i, j, d: i + j + 2 * sqrt(i * j) * cos(d), ONE_TO_FIVE),
        _row("I.40.1", "n₀ exp(-m g x / (k T))", lambda n, m, g, x, k, t: n * exp(-m * g * x / (k * t)), ONE_TO_FIVE),
        _row(
            "I.41.16",
            "h ω³ / (π² c² (exp(h ω/(k T)) - 1))",
            lambda h, w, c, k, t: h * w**3 / (pi**2 * c**2 * (exp(h * w / (k * t)) - 1)),
            ONE_TO_FIVE,
        ),
        _row("I.44.4", "n k T ln(V₂/V₁)", lambda n, k, t, v1, v2: n * k * t * log(v2 / v1), ONE_TO_FIVE),
        _row("III.17.37", "β (1 + α cos θ)", lambda b, a, theta: b * (1 + a * cos(theta)), ONE_TO_FIVE),
    )
}
"""The table by the chapter and number of each formula."""
