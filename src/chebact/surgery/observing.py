"""One run of a model on an example, watched: which activation is called where, on which shape, after which layer."""

from __future__ import annotations

import inspect
import math
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from chebact.recording import run_once
from chebact.surgery.comparing import seeded
from chebact.surgery.kinds import function_of_call
from chebact.surgery.layouts import Layout, layout_of_output, produced_by

__all__ = ["Call", "Observation", "Visit", "observe"]

RECENT = 64  # layers before an activation that are looked at for its layout
SAMPLE = 4096  # inputs of a call that are kept


@dataclass
class Call:
    """One call of an activation: `callee` is the child's name, or the function; some of its inputs, and the channel of
    each.
    """

    callee: Any
    shape: tuple[int, ...]
    layout: Layout | str
    inputs: Tensor
    channels: Tensor
    module: nn.Module | None = None
    function: Callable[[Tensor], Tensor] | None = None


@dataclass
class Visit:
    """One call of a module: what it was given, what it gave, and the activations that it called, in order."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    output: Any = None
    calls: list[Call] = field(default_factory=list)


@dataclass
class Observation:
    """The visits of each module by its path, and what came out."""

    visits: dict[str, list[Visit]]
    output: Any = None


def observe(
    model: nn.Module, example: Any, is_activation: Callable[[Any], bool], channel_dim: int | None = None
) -> Observation:
    """Run a model once on `example`, in evaluation mode and without derivatives, and write down what happened.

    `channel_dim` is the channel axis of all, where it is known.
    """
    watcher = _Watcher(model, is_activation, channel_dim)
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # torch's fast transformer layers call no activation of their own
    try:
        with ExitStack() as stack:
            for part in model.modules():
                stack.callback(part.register_forward_pre_hook(watcher.enter, prepend=True, with_kwargs=True).remove)
                stack.callback(part.register_forward_hook(watcher.leave).remove)
            stack.enter_context(_Functions(watcher))
            stack.enter_context(seeded())
            output = run_once(model, example)
    except Exception as error:
        raise ValueError(
            f"example must be an input of the model, a tuple of its inputs or a dict of them by name, got "
            f"{_described(example)}, on which the model raised {type(error).__name__}: {error}"
        ) from error
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    return Observation(watcher.visits, output)


class _Watcher:
    def __init__(self, model: nn.Module, is_activation: Callable[[Any], bool], channel_dim: int | None) -> None:
        self.names = {id(part): name for name, part in model.named_modules()}
        self.parts = {id(part): _children(part) for part in model.modules()}
        self.is_activation, self.channel_dim = is_activation, channel_dim
        self.visits: dict[str, list[Visit]] = {}
        self.stack: list[tuple[nn.Module, Visit | None]] = []
        self.recent: deque[tuple[tuple[int, ...], Layout]] = deque(maxlen=RECENT)

    def enter(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.is_activation(module):
            x = args[0] if args else next(iter(kwargs.values()), None)
            if self.stack and isinstance(x, Tensor):
                self._write(self._child_name(module), x, module, None)
            self.stack.append((module, None))
            return
        visit = Visit(tuple(map(_kept, args)), {name: _kept(value) for name, value in kwargs.items()})
        self.visits.setdefault(self.names[id(module)], []).append(visit)
        self.stack.append((module, visit))

    def leave(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        visit = self.stack.pop()[1]
        if visit is None:
            return
        visit.output = _kept(output)
        if isinstance(output, Tensor) and (layout := layout_of_output(module, tuple(output.shape))):
            self.recent.append((tuple(output.shape), layout))

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        x = args[0] if args else kwargs.get("input")
        if self.stack and self.stack[-1][1] is not None and isinstance(x, Tensor):
            self._write(function, x, None, function_of_call(function, args[1:], kwargs))

    def _write(
        self, callee: Any, x: Tensor, module: nn.Module | None, function: Callable[[Tensor], Tensor] | None
    ) -> None:
        visit = self.stack[-1][1]
        if visit is not None:
            shape = tuple(x.shape)
            layout = self._layout(shape)
            visit.calls.append(Call(callee, shape, layout, *_some(x, layout), module, function))

    def _child_name(self, module: nn.Module) -> str:
        parent, visit = self.stack[-1]
        names = [name for name, part in self.parts[id(parent)] if part is module]
        names = [name for name in names if name.count(".") == names[0].count(".")]
        before = 0 if visit is None else sum(call.callee in names for call in visit.calls)
        return names[before % len(names)] if names else ""

    def _layout(self, shape: tuple[int, ...]) -> Layout | str:
        """The layer that calls it tells, or that which ran last and gave this shape; else the last that gave these
        channels at its axis, or this shape but for its channels, which were split or joined since.
        """
        if self.channel_dim is not None:
            if not -len(shape) <= self.channel_dim < len(shape):
                return f"channel_dim must be an axis of its input, got {self.channel_dim} for shape {shape}"
            return Layout(shape[self.channel_dim], self.channel_dim, "channel_dim")
        caller = self.stack[-1][0]
        known = None if isinstance(caller, nn.Sequential) else produced_by(caller)
        if known is not None and _has_channels(shape, known):
            return _at_axis(shape, known, "in")
        for same_shape in (True, False):
            for seen, layout in reversed(self.recent):
                like = seen == shape or (
                    not same_shape and (_has_channels(shape, layout) or _agree(shape, seen, layout))
                )
                if len(seen) == len(shape) and like:
                    return _at_axis(shape, layout, "after")
        reshaped = any(
            layout.channel_dim == -1 and math.prod(seen) == math.prod(shape) for seen, layout in list(self.recent)[-1:]
        )
        if len(shape) == 2 or (len(shape) > 3 and not reshaped):
            return Layout(shape[1], 1, "by convention")
        return f"no layer before it tells which axis of {shape} holds the channels; pass channel_dim"


def _at_axis(shape: tuple[int, ...], layout: Layout, word: str) -> Layout:
    channel_dim = 1 if len(shape) == 2 else layout.channel_dim
    return Layout(shape[channel_dim], channel_dim, f"{word} {layout.evidence}")


def _has_channels(shape: tuple[int, ...], layout: Layout) -> bool:
    return shape[layout.channel_dim :][:1] == (layout.channels,)


def _agree(shape: tuple[int, ...], seen: tuple[int, ...], layout: Layout) -> bool:
    """Whether two shapes of one rank differ at most in their channels."""
    axis = layout.channel_dim % len(seen)
    return (*shape[:axis], *shape[axis + 1 :]) == (*seen[:axis], *seen[axis + 1 :])


def _children(module: nn.Module) -> list[tuple[str, nn.Module]]:
    """The parts by name, one that has two names under both, children before what is inside of them."""
    parts = [(name, part) for name, part in module.named_modules(remove_duplicate=False) if name]
    return sorted(parts, key=lambda pair: pair[0].count("."))


class _Functions(TorchFunctionMode):
    """Shows the calls of functional activations to the watcher."""

    def __init__(self, watcher: _Watcher) -> None:
        super().__init__()
        self.watcher = watcher

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.watcher.is_activation(func):
            self.watcher.call(func, args, kwargs or {})
        return func(*args, **(kwargs or {}))


def _kept(value: Any) -> Any:
    """A copy, since layers that work in place write over what they are given."""
    return value.clone() if isinstance(value, Tensor) else value


def _some(x: Tensor, layout: Layout | str) -> tuple[Tensor, Tensor]:
    """Some numbers of all channels, and the channel of each: drawn, since every k-th may be of the same channel."""
    flat = x.detach().reshape(-1)
    places = torch.arange(flat.numel())
    if flat.numel() > SAMPLE:
        places = torch.randint(flat.numel(), (SAMPLE,), generator=torch.Generator().manual_seed(0))
        flat = flat[places.to(flat.device)]
    inner = 1 if isinstance(layout, str) else math.prod(x.shape[layout.channel_dim % x.dim() + 1 :])
    count = 1 if isinstance(layout, str) else layout.channels
    return flat.double().cpu(), places // max(1, inner) % max(1, count)


def _described(example: Any) -> str:
    if isinstance(example, Tensor):
        return f"a tensor of shape {tuple(example.shape)}"
    return f"{type(example).__name__} {inspect.cleandoc(repr(example))[:60]}"
