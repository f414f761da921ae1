"""The nodes: Chebyshev nodes, stretched so that the outermost two are the ends of the interval.

x_k = r cos((2k - 1) pi / (2 (degree + 1))) for k = 1 ... degree + 1 with r = 1 / cos(pi / (2 (degree + 1))): the first
node is the right end, the last is the left end.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Any

import numpy
import torch

from chebact.checks import Interval, check_degree, check_dtype, check_interval

__all__ = ["barycentric_weights", "exact_nodes", "nodes", "split_nodes", "stretch"]

_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
_DIGITS = 60


def nodes(
    degree: int,
    *,
    interval: Interval = (-1.0, 1.0),
    dtype: torch.dtype = torch.float64,
    device: torch.device | str | None = None,
) -> torch.Tensor:
    """The degree + 1 node positions on `interval`, from the right end to the left, correctly rounded: (degree + 1,).

    >>> nodes(3)
    tensor([ 1.0000,  0.4142, -0.4142, -1.0000], dtype=torch.float64)
    """
    check_dtype(dtype)
    exact = exact_nodes(check_degree(degree), check_interval(interval))
    rounded = torch.tensor([float(x) for x in exact], dtype=torch.float64, device="cpu").to(dtype)
    return rounded.to(torch.get_default_device() if device is None else device)  # which may not support float64


def stretch(degree: int) -> float:
    """The factor r that moves the outermost Chebyshev nodes to the ends of the interval.

    >>> round(stretch(3), 4)
    1.0824
    """
    with localcontext() as context:
        context.prec = _DIGITS
        return float(1 / _cosine(_PI / (2 * (check_degree(degree) + 1))))


@lru_cache(maxsize=128)
def exact_nodes(degree: int, interval: Interval) -> tuple[Decimal, ...]:
    """The node positions to sixty digits, from right to left."""
    with localcontext() as context:
        context.prec = _DIGITS
        left, right = Decimal(interval[0]), Decimal(interval[1])
        middle, half = (left + right) / 2, (right - left) / 2
        unit = _unit_nodes(degree)
        between = tuple(middle + half * x for x in unit[1:-1])
        return (right, *between, left)


def split_nodes(degree: int, interval: Interval, dtype: Any) -> tuple[Any, Any]:
    """The nodes as a high and a low part, arrays of `dtype` whose sum has twice its digits: 2 x (degree + 1,)."""
    exact = exact_nodes(degree, interval)
    with localcontext() as context:
        context.prec = _DIGITS
        high = numpy.array([float(x) for x in exact]).astype(dtype)
        low = numpy.array([float(x - Decimal(float(h))) for x, h in zip(exact, high, strict=True)]).astype(dtype)
    return high, low


@lru_cache(maxsize=128)
def barycentric_weights(degree: int) -> Any:
    """Weights w_j, up to a common factor, of P(x) = sum(w_j y_j / (x - x_j)) / sum(w_j / (x - x_j)): (degree + 1,)."""
    with localcontext() as context:
        context.prec = _DIGITS
        step = _PI / (2 * (degree + 1))
        sines = [float(_cosine(abs(degree - 2 * j) * step)) for j in range(degree + 1)]  # sines of (2 j + 1) step
    return numpy.array([-sine if j % 2 else sine for j, sine in enumerate(sines)])


@lru_cache(maxsize=128)
def _unit_nodes(degree: int) -> tuple[Decimal, ...]:
    with localcontext() as context:
        context.prec = _DIGITS
        step = _PI / (2 * (degree + 1))
        radius = 1 / _cosine(step)
        right = [radius * _cosine((2 * k + 1) * step) for k in range((degree + 1) // 2)]
        middle = [Decimal(0)] if degree % 2 == 0 else []
        return tuple(right + middle + [-x for x in reversed(right)])


def _cosine(angle: Decimal) -> Decimal:
    """The cosine of an angle in [0, pi / 2] by its series, after halving the angle five times."""
    small = angle / 32
    square, term, total, index = small * small, Decimal(1), Decimal(1), 0
    while abs(term) > Decimal(10) ** -(_DIGITS - 2):
        index += 2
        term *= -square / (index * (index - 1))
        total += term
    for _ in range(5):
        total = 2 * total * total - 1
    return total
