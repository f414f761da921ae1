"""Functions of one element and of two, by the name of their step: each as an expression of C and of SymPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["ELEMENTS", "PAIRS", "Element"]


class Element(NamedTuple):
    """An expression of v, or of a and b, with {0}, {1} ... for the numbers of the step, and the same for SymPy.

    `sympy` takes the package, the arguments and the numbers. Comparisons are such that nan stays nan.
    """

    c: str
    sympy: Callable[..., Any]


ELEMENTS: dict[str, Element] = {
    "relu": Element("v < 0 ? 0 : v", lambda s, x: s.Max(0, x)),
    "tanh": Element("(real)tanh(v)", lambda s, x: s.tanh(x)),
    "sigmoid": Element("(real)(1 / (1 + exp(-v)))", lambda s, x: 1 / (1 + s.exp(-x))),
    "cubic": Element("v * v * v", lambda s, x: x**3),
    "scale": Element("v * {0}", lambda s, x, factor: factor * x),
    "offset": Element("v + {0}", lambda s, x, number: x + number),
    "at least": Element("v < {0} ? {0} : v", lambda s, x, least: s.Max(least, x)),
    "at most": Element("v > {0} ? {0} : v", lambda s, x, most: s.Min(most, x)),
    "leaky relu": Element("v < 0 ? v * {0} : v", lambda s, x, slope: s.Piecewise((slope * x, x < 0), (x, True))),
    "elu": Element(
        "v < 0 ? (real)({0} * {1} * expm1(v * {2})) : v * {1}",
        lambda s, x, alpha, scale, inner: s.Piecewise(
            (alpha * scale * (s.exp(inner * x) - 1), x < 0), (scale * x, True)
        ),
    ),
    "gelu": Element("(real)(v * 0.5 * erfc(-v * 0.70710678118654752))", lambda s, x: x * s.erfc(-x / s.sqrt(2)) / 2),
    "gelu by tanh": Element(
        "(real)(v * 0.5 * (1 + tanh(0.79788456080286536 * (v + 0.044715 * v * v * v))))",
        lambda s, x: x * (1 + s.tanh(s.sqrt(2 / s.pi) * (x + 0.044715 * x**3))) / 2,
    ),
    "silu": Element("(real)(v / (1 + exp(-v)))", lambda s, x: x / (1 + s.exp(-x))),
    "mish": Element("(real)(v * tanh(log1p(exp(v))))", lambda s, x: x * s.tanh(s.log(1 + s.exp(x)))),
    "softplus": Element(
        "v * {0} > {1} ? v : (real)(log1p(exp(v * {0})) / {0})",
        lambda s, x, beta, threshold: s.Piecewise((x, beta * x > threshold), (s.log(1 + s.exp(beta * x)) / beta, True)),
    ),
    "log sigmoid": Element("(real)((v < 0 ? v : 0) - log1p(exp(-fabs(v))))", lambda s, x: -s.log(1 + s.exp(-x))),
    "hard swish": Element("v < -3 ? 0 : v > 3 ? v : v * (v + 3) / 6", lambda s, x: x * s.Min(s.Max(x + 3, 0), 6) / 6),
    "hard sigmoid": Element("v < -3 ? 0 : v > 3 ? 1 : (v + 3) / 6", lambda s, x: s.Min(s.Max(x + 3, 0), 6) / 6),
    "absolute": Element("(real)fabs(v)", lambda s, x: s.Abs(x)),
    "exponential": Element("(real)exp(v)", lambda s, x: s.exp(x)),
    "sine": Element("(real)sin(v)", lambda s, x: s.sin(x)),
    "cosine": Element("(real)cos(v)", lambda s, x: s.cos(x)),
    "square": Element("v * v", lambda s, x: x**2),
    "reciprocal": Element("1 / v", lambda s, x: 1 / x),
    "power": Element("(real)pow(v, {0})", lambda s, x, exponent: x**exponent),
}

PAIRS: dict[str, Element] = {
    "add": Element("a + b", lambda s, a, b: a + b),
    "subtract": Element("a - b", lambda s, a, b: a - b),
    "multiply": Element("a * b", lambda s, a, b: a * b),
    "divide": Element("a / b", lambda s, a, b: a / b),
    "maximum": Element("a < b || b != b ? b : a", lambda s, a, b: s.Max(a, b)),
    "minimum": Element("a > b || b != b ? b : a", lambda s, a, b: s.Min(a, b)),
    "mix": Element("a + {0} * (b - a)", lambda s, a, b, share: a + share * (b - a)),
}
