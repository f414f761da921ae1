"""What a forward method does beside its result, which a graph of it would lose: attributes, buffers, random numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import torch
from torch import nn

from chebact.surgery.trials.kept_state import attributes_of, restore_attributes
from chebact.surgery.trials.random_states import random_states, restore_random_states

__all__ = ["TracingError", "current_modes", "refuse_side_effects"]


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
    attributes, drawn = attributes_of(module), random_states()
    versions = [buffer._version for buffer in module.buffers()]
    try:
        yield
    finally:
        changed, drawn_again = restore_attributes(module, attributes), random_states()
        restore_random_states(drawn)
    if changed:
        raise TracingError(f"its forward writes the attribute {changed[0]}, which a graph would not do")
    if versions != [buffer._version for buffer in module.buffers()]:
        raise TracingError("its forward writes into a buffer, which a graph would not do")
    if any(not numpy.array_equal(a, b) for a, b in zip(_flat(drawn), _flat(drawn_again), strict=True)):
        raise TracingError("its forward draws random numbers outside of its layers, which a graph would not do")


def _flat(states: tuple[Any, Any, Any]) -> list[Any]:
    return [states[0].numpy(), states[1][1], states[2][1], states[2][2]]
