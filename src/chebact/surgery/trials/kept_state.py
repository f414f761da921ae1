"""Attributes and buffers of a model that are afterwards what they were before a run of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

DEEPEST = 4  # containers inside of each other that are looked into

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
                if buffer.shape != before.shape:
                    buffer.resize_(before.shape)
                if not torch.equal(buffer, before):  # its version does not tell: batch norm writes past it
                    buffer.copy_(before)


def is_lazy_layer(part: nn.Module) -> bool:
    """Whether parameters or buffers of a layer have no shape yet."""
    return any(map(is_lazy, chain(part.parameters(recurse=False), part.buffers(recurse=False))))


def attributes_of(module: nn.Module) -> dict[str, tuple[Any, list[Any]]]:
    """The attributes of a module, and what those hold that are lists, sets, deques or dicts, at any depth."""
    hidden = ("training", "_tensor_constant")  # the second are torch.fx's own, and refused with a reason of their own
    return {name: (value, _items(value)) for name, value in vars(module).items() if not name.startswith(hidden)}


def _items(value: Any, depth: int = 0) -> list[Any]:
    """Pairs of a part and what that holds itself; for a dict also the key."""
    if depth > DEEPEST:
        return []
    if isinstance(value, dict):
        return [(key, part, _items(part, depth + 1)) for key, part in value.items()]
    return [(None, part, _items(part, depth + 1)) for part in value] if isinstance(value, (list, set, deque)) else []


def restore_attributes(module: nn.Module, before: dict[str, tuple[Any, list[Any]]]) -> list[str]:
    """Set the attributes to what they were; the names of those that had changed."""
    after, none = attributes_of(module), (None, [None])
    changed = [name for name in {**before, **after} if not _is_unchanged(before.get(name, none), after.get(name, none))]
    for name in changed:
        vars(module).pop(name, None)
        if name in before:
            vars(module)[name] = before[name][0]
            _refill(*before[name])
    return changed


def _refill(value: Any, items: list[Any]) -> None:
    """Put back what a container held."""
    if not isinstance(value, (dict, list, set, deque)):
        return
    for _, part, inner in items:
        _refill(part, inner)
    value.clear()
    if isinstance(value, dict):
        value.update((key, part) for key, part, _ in items)
    else:
        (value.update if isinstance(value, set) else value.extend)(part for _, part, _ in items)


def _is_unchanged(before: tuple[Any, list[Any]], after: tuple[Any, list[Any]]) -> bool:
    return before[0] is after[0] and _hold_the_same(before[1], after[1])


def _hold_the_same(before: list[Any], after: list[Any]) -> bool:
    if len(before) != len(after) or None in (*before, *after):
        return before == after
    pairs = zip(before, after, strict=True)
    return all(a[0] is b[0] and a[1] is b[1] and _hold_the_same(a[2], b[2]) for a, b in pairs)
