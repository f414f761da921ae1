"""Copies of inputs and outputs, so that a run that writes in place changes neither."""

from __future__ import annotations

import copy
import dataclasses
from collections import UserDict, deque
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["copy_tensors"]


def copy_tensors(value: Any, *, derivatives: bool = False) -> Any:
    """Copies of the tensors in a value and of the tuples, lists, dicts and dataclasses around them.

    Other objects are passed on as they are. One tensor at two places is one copy at both. With `derivatives` a copy
    requires a gradient where the tensor does; it is a leaf in any case.

    >>> given = {"x": torch.ones(2), "name": "a"}
    >>> copied = copy_tensors(given)
    >>> _ = copied["x"].zero_()
    >>> given["x"], copied["name"]
    (tensor([1., 1.]), 'a')
    """
    return _copy(value, derivatives, {})


def _copy(value: Any, derivatives: bool, copies: dict[int, Any]) -> Any:
    """`copies` has what was copied before, by the id of the original."""
    if id(value) in copies:
        return copies[id(value)]
    if isinstance(value, Tensor):
        with torch.no_grad():
            copies[id(value)] = value.detach().clone()
        if derivatives and value.requires_grad:  # functorch refuses to be asked for none, too
            copies[id(value)].requires_grad_()
    elif isinstance(value, tuple):
        copies[id(value)] = _copy_tuple(value, derivatives, copies)
    elif isinstance(value, (list, deque, dict, UserDict)):  # of others a shallow copy may write into the original
        twin: Any = copies.setdefault(id(value), copy.copy(value))
        for key in list(value) if isinstance(value, (dict, UserDict)) else range(len(value)):
            twin[key] = _copy(value[key], derivatives, copies)
    elif dataclasses.is_dataclass(value) and not isinstance(value, (type, nn.Module)):
        twin = copies.setdefault(id(value), copy.copy(value))
        for field in dataclasses.fields(value):
            if hasattr(value, field.name):
                object.__setattr__(twin, field.name, _copy(getattr(value, field.name), derivatives, copies))
    return copies.get(id(value), value)


def _copy_tuple(value: tuple[Any, ...], derivatives: bool, copies: dict[int, Any]) -> Any:
    """A tuple of its kind; the tuple itself where nothing in it is copied, such as a shape."""
    parts = [_copy(part, derivatives, copies) for part in value]
    if all(new is old for new, old in zip(parts, value, strict=True)):
        return value
    make: Any = getattr(type(value), "_make", type(value))  # a named tuple takes its fields one by one
    return make(parts)
