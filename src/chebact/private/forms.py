"""The forms of an activation under encryption: a table of what each costs and how it is evaluated.

u (row, channel) is the input of the activation, moved and scaled; the form gives z, and the layers after it multiply
by what was left out. Where nothing is said, numbers are per channel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from chebact.private.arithmetic import Arithmetic, Vector

__all__ = ["FORMS", "cubic", "nothing", "square", "tree"]

Array = Any


def nothing(arithmetic: Arithmetic, u: Vector, numbers: Array) -> Vector:
    """u itself, for the outputs."""
    return u


def square(arithmetic: Arithmetic, u: Vector, numbers: Array) -> Vector:
    """u^2: one level, one product."""
    return arithmetic.multiply(u, u)


def cubic(arithmetic: Arithmetic, u: Vector, numbers: Array) -> Vector:
    """u (u^2 + q) with q = `numbers` (1, channel): two levels, two products."""
    return arithmetic.multiply(arithmetic.add_plain(arithmetic.multiply(u, u), numbers[0]), u)


def tree(arithmetic: Arithmetic, u: Vector, numbers: Array) -> Vector:
    """sum_k c_k u^k for k >= 1, with c_k = `numbers[k]` (degree + 1, channel), by pairs of pairs: Estrin's scheme.

    Pairs c_2j + c_2j+1 u are joined by u^2, what comes out by u^4, and so on: ceil(log2(degree + 1)) levels. The
    constant c_0 is not read: it belongs to the layer that follows.
    """
    parts = [_pair(arithmetic, u, numbers, k) for k in range(0, len(numbers), 2)]
    power = u
    while len(parts) > 1:
        power = arithmetic.multiply(power, power)
        parts = [_join(arithmetic, parts[k : k + 2], power) for k in range(0, len(parts), 2)]
    return parts[0]


def _pair(arithmetic: Arithmetic, u: Vector, numbers: Array, k: int) -> Any:
    """c_k + c_k+1 u: a vector, numbers where the last factor is zero, None where both are."""
    constant = numbers[k] if k and numbers[k].any() else None
    if k + 1 == len(numbers) or not numbers[k + 1].any():
        return constant
    product = arithmetic.multiply_plain(u, numbers[k + 1])
    return product if constant is None else arithmetic.add_plain(product, constant)


def _join(arithmetic: Arithmetic, pair: list[Any], power: Vector) -> Any:
    """low + high power, each a vector, numbers or None."""
    low, high = (*pair, None)[:2]
    if high is None:
        return low
    product = (arithmetic.multiply_plain if is_plain(high) else arithmetic.multiply)(power, high)
    if low is None:
        return product
    return (arithmetic.add_plain if is_plain(low) else arithmetic.add)(product, low)


def is_plain(part: Any) -> bool:
    """Whether a part are known numbers; vectors of NumPy have rows."""
    return isinstance(part, numpy.ndarray) and part.ndim == 1


FORMS: dict[str, Callable[[Arithmetic, Vector, Array], Vector]] = {
    "none": nothing,
    "square": square,
    "cubic": cubic,
    "tree": tree,
}
"""The forms by the names that a file has."""
