"""Whether two runs gave the same: the tensors in what a module returns, and how far two of them are apart."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Collection, Mapping
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["difference_between", "has_numbers", "is_same", "tensors_in"]

DEEPEST = 8  # objects and containers inside of each other that are looked into
CLOSED = (nn.Module, type, ModuleType)  # a module's tensors are no output


def tensors_in(value: Any, depth: int = 0, seen: set[int] | None = None) -> list[Tensor]:
    """The tensors of an output, in order: itself, or those in tuples, lists, dicts and attributes of objects.

    >>> len(tensors_in((torch.zeros(1), {"a": torch.zeros(2), "b": None})))
    2
    >>> len(tensors_in(torch.distributions.Normal(torch.zeros(1), 1.0)))
    2
    """
    if isinstance(value, Tensor):
        return [value]
    seen = set() if seen is None else seen  # an object may hold itself
    if depth > DEEPEST or id(value) in seen:
        return []
    parts = _parts_of(value)
    seen |= {id(value)} if parts else set()
    return [tensor for part in parts for tensor in tensors_in(part, depth + 1, seen)]


def _parts_of(value: Any) -> Collection[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, (tuple, list, deque)):
        return value
    if isinstance(value, CLOSED):
        return ()
    if dataclasses.is_dataclass(value):
        return [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    slots = [vars(kind).get("__slots__", ()) for kind in type(value).__mro__]
    names = [name for each in slots for name in ([each] if isinstance(each, str) else each) if name != "__dict__"]
    return [*[getattr(value, name, None) for name in names], *getattr(value, "__dict__", {}).values()]


def has_numbers(value: Any) -> bool:
    """Whether an output has numbers that can be compared."""
    return any(tensor.numel() and not tensor.is_meta for tensor in tensors_in(value))


def _dense_in(value: Any) -> list[Tensor]:
    """The dense tensors that the tensors of an output consist of."""
    return [part for tensor in tensors_in(value) for part in _dense(tensor.detach())]


def _dense(tensor: Tensor) -> tuple[Tensor, ...]:
    if tensor.is_nested:
        return tuple(tensor.unbind())
    if tensor.layout is torch.sparse_coo:
        coalesced = tensor.coalesce()
        return coalesced.indices(), coalesced.values()
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return tensor.crow_indices(), tensor.col_indices(), tensor.values()
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return tensor.ccol_indices(), tensor.row_indices(), tensor.values()
    return (tensor,)


def difference_between(one: Any, other: Any) -> float | None:
    """The largest difference between the numbers of two outputs of one form, nan if any is; None where there are none.

    >>> difference_between(torch.zeros(2), torch.ones(2))
    1.0
    """
    found = []
    for a, b in zip(_dense_in(one), _dense_in(other), strict=False):
        if a.numel() and a.shape == b.shape and not a.is_meta:
            number = torch.complex128 if a.is_complex() or b.is_complex() else torch.float64
            found.append(float((a.to(number) - b.to(number)).abs().max()))
    return max(found, key=lambda each: (each != each, each), default=None)


def is_same(one: Any, other: Any) -> bool:
    """Whether two outputs have the same tensors, up to a few units in the last place of the largest number."""
    forms = [
        [(each.layout, None if each.is_nested else each.shape) for each in tensors_in(some)] for some in (one, other)
    ]
    ours, theirs = _dense_in(one), _dense_in(other)
    return forms[0] == forms[1] and len(ours) == len(theirs) and all(map(_is_close, ours, theirs))


def _is_close(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.is_meta or torch.equal(one, other):
        return True
    if not (one.is_floating_point() or one.is_complex()):
        return False
    finite = other[other.isfinite()]
    size = float(finite.abs().max()) if finite.numel() else 0.0
    places = 4 if torch.finfo(one.dtype).bits < 32 else 64
    return torch.allclose(one, other, rtol=0, atol=places * torch.finfo(one.dtype).eps * size, equal_nan=True)
