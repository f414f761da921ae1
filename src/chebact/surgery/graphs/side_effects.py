"""What a forward method does beside its result, which a graph of it would lose: attributes, buffers, random numbers."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from chebact.surgery.trials.kept_state import attributes_of, restore_attributes
from chebact.surgery.trials.random_states import random_states, restore_random_states

__all__ = ["TracingError", "current_modes", "refuse_reading_numbers", "refuse_side_effects"]

READING = {"item", "tolist", "numpy", "__array__", "__bool__", "__float__", "__int__", "__index__", "__complex__"}
"""Methods of a tensor that give its numbers to Python."""


class TracingError(Exception):
    """A module cannot be written as a graph; the message says why."""


def current_modes() -> tuple[bool, ...]:
    """The modes that a forward method may set for some of its calls."""
    autocast = tuple(torch.is_autocast_enabled(device) for device in ("cpu", "cuda"))
    return (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), *autocast)


class refuse_reading_numbers(TorchFunctionMode):
    """An error where the block reads numbers of a buffer or another real tensor, which may be others later."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in READING and args and isinstance(args[0], Tensor):
            raise TracingError("its forward reads the numbers of a tensor, which a graph would keep as they are now")
        return func(*args, **(kwargs or {}))


@contextmanager
def refuse_side_effects(module: nn.Module) -> Iterator[None]:
    """An error where the block writes an attribute or a buffer of the module, or draws random numbers.

    Attributes and random numbers are afterwards what they were.
    """
    attributes, drawn, owned = attributes_of(module), random_states(), _own_generators(module)
    versions = [buffer._version for buffer in module.buffers()]
    stopped: TracingError | None = None
    try:
        yield
    except TracingError as error:  # an effect that came before says more
        stopped = error
    finally:
        changed, drawn_again = restore_attributes(module, attributes), random_states()
        restore_random_states(drawn)
        own_drawn = [before for before in owned if not before.is_unchanged()]
    if changed:
        raise TracingError(f"its forward writes the attribute {changed[0]}, which a graph would not do")
    if versions != [buffer._version for buffer in module.buffers()]:
        raise TracingError("its forward writes into a buffer, which a graph would not do")
    if own_drawn or any(not numpy.array_equal(a, b) for a, b in zip(_flat(drawn), _flat(drawn_again), strict=True)):
        raise TracingError("its forward draws random numbers outside of its layers, which a graph would not do")
    if stopped is not None:
        raise stopped


class _OwnGenerator(NamedTuple):
    """A generator of random numbers that an object holds, and how its state is read and set."""

    read: Callable[[], Any]
    write: Callable[[Any], Any]
    state: Any

    def is_unchanged(self) -> bool:
        """Whether it drew nothing; afterwards it is as it was."""
        now = self.read()
        same = torch.equal(now, self.state) if isinstance(now, Tensor) else repr(now) == repr(self.state)
        if not same:
            self.write(self.state)
        return same


def _own_generators(module: nn.Module) -> list[_OwnGenerator]:
    found = []
    for value in vars(module).values():
        if isinstance(value, random.Random):
            found.append(_OwnGenerator(value.getstate, value.setstate, value.getstate()))
        elif isinstance(value, torch.Generator):
            found.append(_OwnGenerator(value.get_state, value.set_state, value.get_state()))
        elif isinstance(value, numpy.random.Generator):
            bits: Any = value.bit_generator
            found.append(_OwnGenerator(partial(getattr, bits, "state"), partial(setattr, bits, "state"), bits.state))
    return found


def _flat(states: tuple[Any, Any, Any]) -> list[Any]:
    return [states[0].numpy(), states[1][1], states[2][1], states[2][2]]
