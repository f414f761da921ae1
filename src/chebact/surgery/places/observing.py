"""One run of a model on an example, watched: which activation is called where, on which shape, after which layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from chebact.copies import copy_tensors
from chebact.recording import refused_example
from chebact.surgery.layouts import Layout
from chebact.surgery.places.layers_before import LayersBefore
from chebact.surgery.trials.comparing import tensors_in
from chebact.surgery.trials.running import run_alike
from chebact.torch_modes import transforms_active

__all__ = ["Call", "Observation", "Visit", "observe"]

SAMPLE = 4096  # inputs of a call that are kept


@dataclass
class Call:
    """One call of an activation: `callee` is the child's name, or the function; some of its inputs, and the channel of
    each. `followed`: the channel axis was followed from a layer to this call. `number` counts all calls. `dtype` and
    `device` are those of the input, where it is a floating type that autocast did not choose.
    """

    callee: Any
    shape: tuple[int, ...]
    layout: Layout | str
    inputs: Tensor
    channels: Tensor
    module: nn.Module | None = None
    followed: bool = False
    number: int = 0
    dtype: torch.dtype | None = None
    device: torch.device | None = None


@dataclass
class Visit:
    """One call of a module: what it was given, what it gave, and the activations that it called, in order."""

    given: tuple[Any, ...]
    given_by_name: dict[str, Any]
    output: Any = None
    calls: list[Call] = field(default_factory=list)

    @property
    def args(self) -> tuple[Any, ...]:
        """Copies of the arguments without a name: a run on them may write into them."""
        copied: tuple[Any, ...] = copy_tensors(self.given)
        return copied

    @property
    def kwargs(self) -> dict[str, Any]:
        """Copies of those with a name."""
        copied: dict[str, Any] = copy_tensors(self.given_by_name)
        return copied


@dataclass
class Observation:
    """The visits of each module by its path, and what came out."""

    visits: dict[str, list[Visit]]
    output: Any = None


def observe(
    model: nn.Module, example: Any, is_activation: Callable[[Any], bool], channel_dim: int | None = None
) -> Observation:
    """Run a model once on `example`, in evaluation mode and without derivatives, and write down what happened.

    `channel_dim` is the channel axis of those of which no layer tells it.
    """
    batch = next((tensor.shape[0] for tensor in tensors_in(example) if tensor.dim() > 0), None)
    watchers: list[_Watcher] = []

    @contextmanager
    def watch() -> Iterator[None]:
        watchers.append(watcher := _Watcher(model, is_activation, batch, channel_dim))
        with ExitStack() as stack:
            for part in model.modules():
                stack.callback(part.register_forward_pre_hook(watcher.enter, prepend=True, with_kwargs=True).remove)
                stack.callback(part.register_forward_hook(watcher.leave, always_call=True).remove)
            stack.enter_context(_Functions(watcher))
            yield

    try:
        output = run_alike(model, example, watch)
    except Exception as error:
        raise refused_example("example", example, error) from error
    if layer := watchers[-1].layers.unbatched:
        raise ValueError(f"example must have a batch axis, got an input of {layer} without one; pass x.unsqueeze(0)")
    return Observation(watchers[-1].visits, output)


class _Watcher:
    def __init__(
        self, model: nn.Module, is_activation: Callable[[Any], bool], batch: int | None, channel_dim: int | None
    ) -> None:
        self.names = {id(part): name for name, part in model.named_modules()}
        self.parts = {id(part): _children(part) for part in model.modules()}
        self.is_activation, self.layers = is_activation, LayersBefore(batch, channel_dim)
        self.visits: dict[str, list[Visit]] = {}
        self.count = 0
        self.stack: list[tuple[nn.Module, Visit | None]] = []

    def enter(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.is_activation(module):
            x = args[0] if args else next(iter(kwargs.values()), None)
            if self.stack and isinstance(x, Tensor):
                self._write(self._child_name(module), x, module)
            self.stack.append((module, None))
            return
        if transforms_active():  # tensors of vmap and grad end with them, so that nothing can be kept or compared
            self.stack.append((module, None))
            return
        visit = Visit(*copy_tensors((args, kwargs)))  # since layers that work in place write over what they are given
        self.visits.setdefault(self.names[id(module)], []).append(visit)
        self.stack.append((module, visit))

    def leave(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        visit = self.stack.pop()[1]
        if visit is None:
            return
        visit.output = copy_tensors(output)
        self.layers.note(module, output)

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        x = args[0] if args else kwargs.get("input")
        if self.stack and self.stack[-1][1] is not None and isinstance(x, Tensor):
            self._write(function, x, None)

    def _write(self, callee: Any, x: Tensor, module: nn.Module | None) -> None:
        visit = self.stack[-1][1]
        if visit is not None:
            layout, followed = self.layers.find_layout(x, self.stack[-1][0])
            place = (x.dtype, x.device) if x.is_floating_point() and not _is_autocast(x.device.type) else (None, None)
            some = _some(x, layout)
            visit.calls.append(Call(callee, tuple(x.shape), layout, *some, module, followed, self.count, *place))
            self.count += 1

    def _child_name(self, module: nn.Module) -> str:
        parent, visit = self.stack[-1]
        names = [name for name, part in self.parts[id(parent)] if part is module]
        names = [name for name in names if name.count(".") == names[0].count(".")]
        before = 0 if visit is None else sum(call.callee in names for call in visit.calls)
        return names[before % len(names)] if names else ""


def _children(module: nn.Module) -> list[tuple[str, nn.Module]]:
    """The parts by name, one that has two names under both, children before what is inside of them."""
    parts = [(name, part) for name, part in module.named_modules(remove_duplicate=False) if name]
    return sorted(parts, key=lambda pair: pair[0].count("."))


class _Functions(TorchFunctionMode):
    """Shows the calls of functional activations to the watcher, and lets it follow the channels through all others."""

    def __init__(self, watcher: _Watcher) -> None:
        super().__init__()
        self.watcher = watcher

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.watcher.is_activation(func):
            self.watcher.call(func, args, kwargs or {})
        result = func(*args, **(kwargs or {}))
        if not transforms_active():
            self.watcher.layers.following.step(func, args, kwargs or {}, result)
        return result


def _is_autocast(device: str) -> bool:
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)


def _some(x: Tensor, layout: Layout | str) -> tuple[Tensor, Tensor]:
    """Some numbers of all channels, and the channel of each: drawn, since every k-th may be of the same channel."""
    if x.is_meta:
        return torch.empty(0, dtype=torch.float64, device="cpu"), torch.empty(0, dtype=torch.int64, device="cpu")
    flat = x.detach().reshape(-1)
    places = torch.arange(flat.numel(), device="cpu")
    if flat.numel() > SAMPLE:
        generator = torch.Generator("cpu").manual_seed(0)
        places = torch.randint(flat.numel(), (SAMPLE,), generator=generator, device="cpu")
        flat = flat[places.to(flat.device)]
    inner = 1 if isinstance(layout, str) else math.prod(x.shape[layout.channel_dim % x.dim() + 1 :])
    count = 1 if isinstance(layout, str) else layout.channels
    return flat.double().cpu(), places // max(1, inner) % max(1, count)
