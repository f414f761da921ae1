"""Attributes and buffers of a model that are afterwards what they were before a run of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

__all__ = ["attributes_of", "is_lazy_layer", "restore_attributes", "state_kept"]


@contextmanager
def state_kept(model: nn.Module) -> Iterator[None]:
    """Buffers and attributes are afterwards what they were before the block, but for lazy layers that got a shape."""
    kept = [(buffer, buffer.clone()) for buffer in model.buffers() if not is_lazy(buffer) and not buffer.is_meta]
    parts = [(part, attributes_of(part)) for part in model.modules() if not is_lazy_layer(part)]
    try:
        yield
    finally:
        for part, attributes in parts:
            restore_attributes(part, attributes)
        with torch.no_grad():
            for buffer, before in kept:
                if not torch.equal(buffer, before):  # its version does not tell: batch norm writes past it
                    buffer.copy_(before)


def is_lazy_layer(part: nn.Module) -> bool:
    """Whether parameters or buffers of a layer have no shape yet."""
    return any(map(is_lazy, chain(part.parameters(recurse=False), part.buffers(recurse=False))))


def attributes_of(module: nn.Module) -> dict[str, tuple[Any, list[Any]]]:
    """The attributes of a module, and what those hold that are lists or dicts."""
    hidden = ("training", "_tensor_constant")  # the second are torch.fx's own, and refused with a reason of their own
    return {name: (value, _items(value)) for name, value in vars(module).items() if not name.startswith(hidden)}


def _items(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [each for pair in value.items() for each in pair]
    return list(value) if isinstance(value, (list, set)) else []


def restore_attributes(module: nn.Module, before: dict[str, tuple[Any, list[Any]]]) -> list[str]:
    """Set the attributes to what they were; the names of those that had changed."""
    after, none = attributes_of(module), (None, [None])
    changed = [name for name in {**before, **after} if not _is_unchanged(before.get(name, none), after.get(name, none))]
    for name in changed:
        vars(module).pop(name, None)
        if name in before:
            value, items = before[name]
            vars(module)[name] = value
            if isinstance(value, list):
                value[:] = items
            elif isinstance(value, set):
                value.clear()
                value.update(items)
            elif isinstance(value, dict):
                value.clear()
                value.update(zip(items[::2], items[1::2], strict=True))
    return changed


def _is_unchanged(before: tuple[Any, list[Any]], after: tuple[Any, list[Any]]) -> bool:
    items = zip(before[1], after[1], strict=False)
    return before[0] is after[0] and len(before[1]) == len(after[1]) and all(a is b for a, b in items)
