"""What a forward method does beside its result, which a graph of it would lose: attributes, buffers, random numbers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import torch
from torch import nn

__all__ = ["TracingError", "attributes_of", "current_modes", "refuse_side_effects", "restore_attributes"]


class TracingError(Exception):
    """A module cannot be written as a graph; the message says why."""


def current_modes() -> tuple[bool, ...]:
    """The modes that a forward method may set for some of its calls."""
    autocast = tuple(torch.is_autocast_enabled(device) for device in ("cpu", "cuda"))
    return (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), *autocast)


@contextmanager
def refuse_side_effects(module: nn.Module) -> Iterator[None]:
    """An error where the block writes an attribute or a buffer of the module, or draws random numbers.

    Attributes and random numbers are afterwards what they were.
    """
    attributes, drawn = attributes_of(module), _random_states()
    versions = [buffer._version for buffer in module.buffers()]
    try:
        yield
    finally:
        changed, drawn_again = restore_attributes(module, attributes), _random_states()
        _restore_random_states(drawn)
    if changed:
        raise TracingError(f"its forward writes the attribute {changed[0]}, which a graph would not do")
    if versions != [buffer._version for buffer in module.buffers()]:
        raise TracingError("its forward writes into a buffer, which a graph would not do")
    if any(not numpy.array_equal(a, b) for a, b in zip(_flat(drawn), _flat(drawn_again), strict=True)):
        raise TracingError("its forward draws random numbers outside of its layers, which a graph would not do")


def attributes_of(module: nn.Module) -> dict[str, tuple[Any, list[Any]]]:
    """The attributes of a module, and what those hold that are lists or dicts."""
    return {name: (value, _items(value)) for name, value in vars(module).items() if name != "training"}


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


def _random_states() -> tuple[Any, Any, Any]:
    return torch.get_rng_state(), random.getstate(), numpy.random.get_state()  # noqa: NPY002


def _restore_random_states(states: tuple[Any, Any, Any]) -> None:
    torch.set_rng_state(states[0])
    random.setstate(states[1])
    numpy.random.set_state(states[2])  # noqa: NPY002


def _flat(states: tuple[Any, Any, Any]) -> list[Any]:
    return [states[0].numpy(), states[1][1], states[2][1], states[2][2]]
