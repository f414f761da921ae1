"""Whether two runs gave the same: the tensors in what a module returns, and how far two of them are apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

__all__ = ["difference_between", "is_same", "tensors_in"]

UNITS = {torch.float64: 64, torch.float32: 64, torch.bfloat16: 4, torch.float16: 4}  # last places that may differ


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors of an output, in order: itself, or those in tuples, lists, dicts and dataclasses.

    >>> len(tensors_in((torch.zeros(1), {"a": torch.zeros(2), "b": None})))
    2
    """
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = tuple(value.values())
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = tuple(getattr(value, field.name) for field in dataclasses.fields(value))
    return [tensor for each in value for tensor in tensors_in(each)] if isinstance(value, (tuple, list)) else []


def difference_between(one: Any, other: Any) -> float | None:
    """The largest difference between the numbers of two outputs of one form; None where there are none.

    >>> difference_between(torch.zeros(2), torch.ones(2))
    1.0
    """
    pairs = zip(tensors_in(one), tensors_in(other), strict=False)
    found = [float((a.double() - b.double()).abs().max()) for a, b in pairs if a.numel() and a.shape == b.shape]
    return max(found, default=None)


def is_same(one: Any, other: Any) -> bool:
    """Whether two outputs have the same tensors, up to a few units in the last place of the largest number."""
    ours, theirs = tensors_in(one), tensors_in(other)
    return len(ours) == len(theirs) and all(_is_close(a, b) for a, b in zip(ours, theirs, strict=True))


def _is_close(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if torch.equal(one, other) or one.is_meta:
        return True
    if one.dtype not in UNITS:
        return False
    finite = other[other.isfinite()]
    size = float(finite.abs().max()) if finite.numel() else 0.0
    most = UNITS[one.dtype] * torch.finfo(one.dtype).eps * size
    return torch.allclose(one, other, rtol=0, atol=most, equal_nan=True)
