"""What a rewritten forward asks before it runs: that arguments and attributes are those that its graph was made for."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from itertools import chain
from typing import Any

import numpy
import torch

from chebact.checks import must_be

__all__ = ["CONSTANTS", "is_constant", "is_plain", "refuse_left_out", "refuse_other", "refuse_rest"]

SIMPLE = (type(None), bool, int, float, str)
CONSTANTS = (*SIMPLE, torch.dtype, torch.device, torch.memory_format, Enum, numpy.generic)
AS_BEFORE = "as it was when the activations were replaced"


def is_plain(value: Any) -> bool:
    """Whether a value can be written into code: a finite number, a word, None, or a tuple of these."""
    if type(value) is tuple:
        return all(map(is_plain, value))
    return type(value) in SIMPLE and (type(value) is not float or abs(value) < float("inf"))


def is_constant(value: Any) -> bool:
    """Whether a value does not change by itself and can be compared; lists, tuples and dicts of such too."""
    if type(value) is dict:
        return all(map(is_constant, chain(value, value.values())))
    return all(map(is_constant, value)) if type(value) in (list, tuple) else isinstance(value, CONSTANTS)


def refuse_other(name: str, value: Any, expected: Any, do: str) -> None:
    """A ValueError unless an argument or attribute has the value that the graph was made for."""
    if not _is_same(value, expected):
        raise ValueError(must_be(name, f"{expected!r}, {AS_BEFORE}", value, do))


def _is_same(value: Any, expected: Any) -> bool:
    if value is expected:
        return True
    if expected is None or isinstance(expected, bool) or isinstance(value, bool) or not is_constant(value):
        return False
    return bool(value == expected) or (value != value and expected != expected)  # nan is not equal to itself


def refuse_left_out(name: str, value: Any) -> None:
    """A ValueError where an argument is left out that was given when the graph was made."""
    if isinstance(value, CONSTANTS):
        raise ValueError(must_be(name, f"given, {AS_BEFORE}", value, "pass it"))


def refuse_rest(name: str, value: Collection[Any]) -> None:
    """A ValueError where there are further arguments, for which the graph has no place."""
    if value:
        raise ValueError(must_be(name, f"empty, {AS_BEFORE}", value, "leave these arguments out"))
