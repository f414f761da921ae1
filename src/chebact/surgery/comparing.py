"""Whether two runs gave the same: the tensors in what a module returns, and how far two of them are apart."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Collection, Mapping
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["dense_parts", "difference_between", "has_numbers", "is_equal", "is_same", "tensors_in"]

UNITS = {  # last places that may differ
    torch.float64: 64,
    torch.float32: 64,
    torch.bfloat16: 4,
    torch.float16: 4,
    torch.complex64: 64,
    torch.complex128: 64,
}
DEEPEST = 8  # objects and containers inside of each other that are looked into
CLOSED = (nn.Module, type, ModuleType)  # a module's tensors are no output


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors of an output, in order: itself, or those in tuples, lists, dicts and attributes of objects.

    >>> len(tensors_in((torch.zeros(1), {"a": torch.zeros(2), "b": None})))
    2
    >>> len(tensors_in(torch.distributions.Normal(torch.zeros(1), 1.0)))
    2
    """
    return _tensors_in(value, 0, set())


def _tensors_in(value: Any, depth: int, seen: set[int]) -> list[Tensor]:
    """`seen` are the ids of the objects that were looked into: an object may hold itself."""
    if isinstance(value, Tensor):
        return [value]
    if depth > DEEPEST or id(value) in seen:
        return []
    parts = _parts_of(value)
    seen |= {id(value)} if parts else set()
    return [tensor for part in parts for tensor in _tensors_in(part, depth + 1, seen)]


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
    return [*(getattr(value, name, None) for name in names), *getattr(value, "__dict__", {}).values()]


def has_numbers(value: Any) -> bool:
    """Whether an output has numbers that can be compared."""
    return any(tensor.numel() and not tensor.is_meta for tensor in tensors_in(value))


def dense_parts(tensor: Tensor) -> tuple[Tensor, ...]:
    """The dense tensors that a tensor consists of: itself, or the indices and the values of a sparse one.

    >>> [part.tolist() for part in dense_parts(torch.eye(2).to_sparse())]
    [[[0, 1], [0, 1]], [1.0, 1.0]]
    """
    if tensor.is_nested:
        return tuple(tensor.unbind())
    if tensor.layout is torch.sparse_coo:
        coalesced = tensor.detach().coalesce()
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
    pairs = zip(_dense_in(one), _dense_in(other), strict=False)
    found = [_distance(a, b) for a, b in pairs if a.numel() and a.shape == b.shape and not a.is_meta]
    return max(found, key=lambda each: (each != each, each), default=None)


def _dense_in(value: Any) -> list[Tensor]:
    return [part for tensor in tensors_in(value) for part in dense_parts(tensor.detach())]


def _distance(one: Tensor, other: Tensor) -> float:
    number = torch.complex128 if one.is_complex() or other.is_complex() else torch.float64
    return float((one.to(number) - other.to(number)).abs().max())


def is_equal(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors, dense or sparse, have the same form and the same numbers."""
    return _form(one) == _form(other) and all(map(torch.equal, dense_parts(one), dense_parts(other)))


def is_same(one: Any, other: Any) -> bool:
    """Whether two outputs have the same tensors, up to a few units in the last place of the largest number."""
    if list(map(_form, tensors_in(one))) != list(map(_form, tensors_in(other))):
        return False
    ours, theirs = _dense_in(one), _dense_in(other)
    return len(ours) == len(theirs) and all(map(_is_close, ours, theirs))


def _form(tensor: Tensor) -> tuple[Any, ...]:
    return tensor.layout, len(tensor.unbind()) if tensor.is_nested else tensor.shape


def _is_close(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.is_meta or torch.equal(one, other):
        return True
    if one.dtype not in UNITS:
        return False
    finite = other[other.isfinite()]
    size = float(finite.abs().max()) if finite.numel() else 0.0
    most = UNITS[one.dtype] * torch.finfo(one.dtype).eps * size
    return torch.allclose(one, other, rtol=0, atol=most, equal_nan=True)
