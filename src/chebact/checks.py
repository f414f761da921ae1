"""What an argument must be, said in one sentence: what came, what was wanted."""

from __future__ import annotations

import math
import operator
from typing import Any, Literal, get_args

import torch

__all__ = [
    "FLOATS",
    "MAX_COUNT",
    "MAX_DEGREE",
    "TAILS",
    "Interval",
    "Tails",
    "axis_of",
    "count_of",
    "degree_of",
    "finite_number",
    "float_tensor",
    "float_type",
    "interval_of",
    "not_negative",
    "regression_nodes_of",
    "tails_of",
    "whole_number",
]

MAX_DEGREE = 10_000
MAX_COUNT = 2**31 - 1  # of channels, groups and replicas
Tails = Literal["extrapolate", "regression", "none"]
TAILS: tuple[Tails, ...] = get_args(Tails)

FLOATS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)

Interval = tuple[float, float]
FOREIGN = {
    "MaskedTensor": "use its data, x.get_data(), and mask the result",
    "DTensor": "work on the local part, x.to_local() or torch.distributed.tensor.experimental.local_map",
}
"""Classes of tensors that cannot be served, and what to do instead."""


def whole_number(name: str, given: Any, *, least: int, most: int | None = None) -> int:
    """`given` as an int between `least` and `most`, or a TypeError or ValueError that names the argument."""
    if isinstance(given, bool):
        raise TypeError(f"{name} must be an integer, got {given} (bool)")
    try:
        number = operator.index(given)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {_described(given)}") from None
    if number < least or (most is not None and number > most):
        wanted = f"at least {least}" if most is None else f"between {least} and {most}"
        raise ValueError(f"{name} must be {wanted}, got {_shortened(number)}")
    return number


def float_tensor(name: str, given: Any) -> None:
    """`given` is a dense tensor of one of the served types, or a TypeError says what it is."""
    if not isinstance(given, torch.Tensor):
        raise TypeError(f"{name} must be a tensor, got {_described(given)}")
    if given.dtype not in FLOATS:
        raise TypeError(f"{name} must be float64, float32, bfloat16 or float16, got {given.dtype}")
    if given.layout != torch.strided or given.is_nested:
        kind = "a nested tensor; loop over its parts" if given.is_nested else f"layout {given.layout}; use .to_dense()"
        raise TypeError(f"{name} must be a dense tensor, got {kind}")
    foreign = type(given).__name__
    if foreign in FOREIGN:
        raise TypeError(f"{name} must be a plain tensor, got {foreign}; {FOREIGN[foreign]}")


def float_type(given: Any) -> None:
    """`given` is one of the served types, or a TypeError says what it is."""
    if given not in FLOATS:
        raise TypeError(f"dtype must be float64, float32, bfloat16 or float16, got {given}")


def count_of(name: str, given: Any) -> int:
    """`given` as a number of channels, groups or replicas."""
    return whole_number(name, given, least=1, most=MAX_COUNT)


def axis_of(given: Any) -> int:
    """`given` as the number of an axis, counted from either end."""
    if type(given) is not int:
        raise TypeError(f"channel_dim must be an integer, got {_described(given)}")
    return given


def degree_of(given: Any) -> int:
    """`given` as a degree from 1 to `MAX_DEGREE`."""
    return whole_number("degree", given, least=1, most=MAX_DEGREE)


def tails_of(given: Any) -> Tails:
    """`given` as one of the kinds of tails."""
    if not isinstance(given, str):
        raise TypeError(f"tails must be one of {', '.join(TAILS)}, got {_described(given)}")
    if given not in TAILS:
        raise ValueError(f"tails must be one of {', '.join(TAILS)}, got {given!r}")
    return given


def regression_nodes_of(given: Any, degree: int) -> int:
    """`given` as the number of end nodes that a regression slope is fitted to."""
    return whole_number("regression_nodes", given, least=2, most=degree + 1)


def interval_of(given: Any) -> Interval:
    """`given` as two finite floats, the left one smaller."""
    try:
        left, right = given
    except (TypeError, ValueError):
        raise TypeError(f"interval must be a pair of numbers (a, b) with a < b, got {_described(given)}") from None
    ends = (finite_number("interval[0]", left), finite_number("interval[1]", right))
    if not ends[0] < ends[1]:
        raise ValueError(f"interval must be (a, b) with a < b, got ({ends[0]}, {ends[1]})")
    if not 1e-30 < ends[1] - ends[0] < 1e30:
        raise ValueError(f"interval must be wider than 1e-30 and narrower than 1e30, got ({ends[0]}, {ends[1]})")
    return ends


def finite_number(name: str, given: Any) -> float:
    """`given` as a finite float."""
    if isinstance(given, (bool, str, bytes)) or not hasattr(given, "__float__"):
        raise TypeError(f"{name} must be a number, got {_described(given)}")
    try:
        number = float(given)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise TypeError(f"{name} must be a number, got {_described(given)}") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    return number


def not_negative(name: str, given: Any) -> float:
    """`given` as a finite float that is zero or more."""
    number = finite_number(name, given)
    if number < 0:
        raise ValueError(f"{name} must be zero or more, got {number}")
    return number


def _described(given: Any) -> str:
    return f"{_shortened(given)} ({type(given).__name__})"


def _shortened(given: Any) -> str:
    if isinstance(given, int) and given.bit_length() > 200:  # Python itself refuses to write some of these out
        return f"{'-' if given < 0 else ''}2^{given.bit_length() - 1} or more"
    text = repr(given)
    return text if len(text) <= 60 else text[:57] + "..."
