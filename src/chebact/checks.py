"""Checks of arguments, and the one form of their messages: "NAME must be WHAT, got VALUE (TYPE); do THIS"."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any, Literal, get_args

import torch
from torch import nn

__all__ = [
    "FLOATS",
    "MAX_COUNT",
    "MAX_DEGREE",
    "TAILS",
    "Interval",
    "Tails",
    "check_axis",
    "check_choice",
    "check_count",
    "check_degree",
    "check_dtype",
    "check_integer",
    "check_interval",
    "check_module",
    "check_not_negative",
    "check_number",
    "check_positive",
    "check_regression_nodes",
    "check_tails",
    "check_tensor",
    "describe",
    "must_be",
]

MAX_DEGREE = 10_000
MAX_COUNT = 2**31 - 1  # of channels, groups and replicas
Tails = Literal["extrapolate", "regression", "none"]
TAILS: tuple[Tails, ...] = get_args(Tails)

FLOATS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
_FLOAT_NAMES = "float64, float32, bfloat16 or float16"

Interval = tuple[float, float]
UNSUPPORTED = {
    "MaskedTensor": "use its data, x.get_data(), and mask the result",
    "DTensor": "work on the local part, x.to_local() or torch.distributed.tensor.experimental.local_map",
}
"""Tensor classes that are not supported, and what to do instead."""


def must_be(name: str, what: str, value: Any, do: str = "") -> str:
    """The message for an argument that is not accepted.

    >>> must_be("degree", "an integer", "3")
    "degree must be an integer, got '3' (str)"
    >>> must_be("x", "(N, 4)", torch.zeros(2, 3).shape, "set channel_dim")
    'x must be (N, 4), got shape (2, 3); set channel_dim'
    """
    return f"{name} must be {what}, got {describe(value)}{'; ' if do else ''}{do}"


def describe(value: Any) -> str:
    """A value and its type in a message; shapes, types and devices as they are printed.

    >>> describe(0.5), describe(torch.zeros(2, 3).shape), describe(torch.int64)
    ('0.5 (float)', 'shape (2, 3)', 'torch.int64')
    """
    if isinstance(value, torch.Size):
        return f"shape {tuple(value)}"
    if isinstance(value, torch.dtype | torch.device):
        return str(value)
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)} ({type(value).__name__})"
    return f"{_shorten(value)} ({type(value).__name__})"


def _shorten(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 200:  # Python limits the length of printed integers
        return f"{'-' if value < 0 else ''}2^{value.bit_length() - 1} or more"
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def check_integer(name: str, value: Any, *, least: int, most: int | None = None) -> int:
    """`value` as an int between `least` and `most`, or a TypeError or ValueError that names the argument."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(must_be(name, "an integer", value))
    if number < least or (most is not None and number > most):
        limits = f"at least {least}" if most is None else f"between {least} and {most}"
        raise ValueError(must_be(name, limits, number))
    return number


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """`value` as one of the names in `choices`, or a TypeError or ValueError that lists them."""
    names = tuple(choices)
    if not isinstance(value, str) or value not in names:
        error = ValueError if isinstance(value, str) else TypeError
        raise error(must_be(name, f"one of {', '.join(names)}", value))
    return value


def check_module(name: str, value: Any) -> None:
    """A TypeError unless `value` is a torch.nn.Module."""
    if not isinstance(value, nn.Module):
        raise TypeError(must_be(name, "a torch.nn.Module", value))


def check_tensor(name: str, value: Any) -> None:
    """A TypeError unless `value` is a dense tensor of a supported type."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(must_be(name, "a tensor", value))
    if value.dtype not in FLOATS:
        raise TypeError(must_be(name, _FLOAT_NAMES, value.dtype))
    if value.layout != torch.strided or value.is_nested:
        kind = "a nested tensor; loop over its parts" if value.is_nested else f"layout {value.layout}; use .to_dense()"
        raise TypeError(f"{name} must be a dense tensor, got {kind}")
    kind = type(value).__name__
    if kind in UNSUPPORTED:
        raise TypeError(f"{name} must be a plain tensor, got {kind}; {UNSUPPORTED[kind]}")


def check_dtype(value: Any) -> None:
    """A TypeError unless `value` is a supported type of numbers."""
    if value not in FLOATS:
        raise TypeError(must_be("dtype", _FLOAT_NAMES, value))


def check_count(name: str, value: Any) -> int:
    """`value` as a number of channels, groups or replicas."""
    return check_integer(name, value, least=1, most=MAX_COUNT)


def check_axis(value: Any) -> int:
    """`value` as the index of an axis, from either end."""
    if type(value) is not int:
        raise TypeError(must_be("channel_dim", "an integer", value))
    return value


def check_degree(value: Any) -> int:
    """`value` as a degree from 1 to `MAX_DEGREE`."""
    return check_integer("degree", value, least=1, most=MAX_DEGREE)


def check_tails(value: Any) -> Tails:
    """`value` as one of the kinds of tails."""
    check_choice("tails", value, TAILS)
    kind: Tails = value
    return kind


def check_regression_nodes(value: Any, degree: int) -> int:
    """`value` as the number of end nodes for a regression slope."""
    return check_integer("regression_nodes", value, least=2, most=degree + 1)


def check_interval(value: Any, name: str = "interval") -> Interval:
    """`value` as two finite floats, the left one smaller."""
    try:
        left, right = value
    except (TypeError, ValueError):
        raise TypeError(must_be(name, "a pair of numbers (a, b) with a < b", value)) from None
    ends = (check_number(f"{name}[0]", left), check_number(f"{name}[1]", right))
    if not ends[0] < ends[1]:
        raise ValueError(must_be(name, "(a, b) with a < b", ends))
    if not 1e-30 < ends[1] - ends[0] < 1e30:
        raise ValueError(must_be(name, "wider than 1e-30 and narrower than 1e30", ends))
    return ends


def check_number(name: str, value: Any) -> float:
    """`value` as a finite float."""
    try:
        number = float(value) if hasattr(value, "__float__") and not isinstance(value, bool) else None
    except (TypeError, ValueError, RuntimeError, OverflowError):
        number = None
    if number is None:
        raise TypeError(must_be(name, "a number", value))
    if not math.isfinite(number):
        raise ValueError(must_be(name, "finite", number))
    return number


def check_not_negative(name: str, value: Any) -> float:
    """`value` as a finite float that is zero or more."""
    number = check_number(name, value)
    if number < 0:
        raise ValueError(must_be(name, "zero or more", number))
    return number


def check_positive(name: str, value: Any) -> float:
    """`value` as a finite float above zero."""
    number = check_number(name, value)
    if number <= 0:
        raise ValueError(must_be(name, "more than zero", number))
    return number
