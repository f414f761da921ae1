"""What reaches the activations of a model: a bounded sample of their inputs, taken while the model runs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.nn.parameter import is_lazy

from chebact.channels import find_axis
from chebact.checks import Interval, interval_of, whole_number
from chebact.learned import LearnedActivation
from chebact.torch_modes import transforms_active
from chebact.watchers import Watcher, unwatch, watch

__all__ = ["InputSample", "ShareOutside", "materialize", "record_inputs", "run_once", "share_outside"]

SLOTS = 16  # calls that a sample is kept of


class InputSample:
    """Inputs that reached one module: random positions of a random choice of its calls, at most `points` per channel.

    A call takes the place of another with the probability that makes all calls equally likely to be kept, so the
    more calls there were, the less the next one costs.

    >>> sample = InputSample(channel_dim=1, replicated=False, points=64, seed=0)
    >>> sample.take_(torch.tensor([[0.5, 3.0]]))
    >>> sample.points, sample.outside()
    (tensor([[0.5000, 3.0000]]), tensor([0., 1.]))
    """

    def __init__(self, channel_dim: int, replicated: bool, points: int, seed: int) -> None:
        self.channel_dim, self.replicated = channel_dim, replicated
        self.calls = 0
        self._slots = min(SLOTS, points)
        self._rows = points // self._slots
        self._kept: list[Tensor] = []
        self._chance = random.Random(seed)
        self._generator = torch.Generator().manual_seed(seed)

    @property
    def points(self) -> Tensor:
        """The sample, on the CPU in float32 or float64: (points, channel), or (replica, points, channel)."""
        if not self._kept:
            raise ValueError(
                "no input was recorded: run the model itself inside `with record_inputs(model)`, not a compiled "
                "or transformed copy of it"
            )
        joined = torch.cat(self._kept, dim=1 if self.replicated else 0).cpu()
        return joined if joined.dtype == torch.float64 else joined.float()

    def outside(self, interval: Interval = (-1.0, 1.0)) -> Tensor:
        """The share of the sample outside an interval, per channel: (channel,) or (replica, channel)."""
        left, right = interval_of(interval)
        points = self.points
        return ((points < left) | (points > right)).to(points.dtype).mean(dim=-2)

    def take_(self, x: Tensor) -> None:
        """Look at the input of one call, and keep some of it or not."""
        self.calls += 1
        if len(self._kept) < self._slots:
            self._kept.append(self._some_of(x))
        elif (slot := int(self._chance.random() * self.calls)) < self._slots:
            self._kept[slot] = self._some_of(x)

    def _some_of(self, x: Tensor) -> Tensor:
        """A copy of x at so many random positions, or at all where it has no more: (rows, channel), replicas first."""
        x = x.detach()
        first = 1 if self.replicated else 0
        axis = find_axis(x.dim(), self.channel_dim, self.replicated)
        if axis is None:  # one shape for all elements: any axis will do for its channels
            axis = x.dim() - 1
        if x.dim() == 2 and not first and axis == 1 and x.shape[0] <= self._rows:
            return x.clone()
        if x.dim() - first < 2:
            x, axis = x.unsqueeze(first), first + 1
        if x.numel() // max(1, x.shape[axis] * (x.shape[0] if first else 1)) <= self._rows:
            rows = x.movedim(axis, -1)
            return rows.reshape(*rows.shape[:first], -1, rows.shape[-1]).clone()
        index: list[Any] = [slice(None)] * x.dim()
        for place in range(first, x.dim()):
            if place != axis:
                drawn = torch.randint(x.shape[place], (self._rows,), generator=self._generator)
                index[place] = drawn.to(x.device, non_blocking=True)
        if not first:
            return self._rows_first(x[tuple(index)], x.dim(), axis)
        return torch.stack([self._rows_first(own[tuple(index[1:])], x.dim() - 1, axis - 1) for own in x])

    def _rows_first(self, picked: Tensor, rank: int, axis: int) -> Tensor:
        """Advanced indices that stand together behind the channels leave those in front: (channel, rows)."""
        return picked.T if axis == 0 and rank > 1 else picked

    def __repr__(self) -> str:
        return f"InputSample(calls={self.calls})"


@contextmanager
def record_inputs(
    model: nn.Module, *, modules: tuple[type[nn.Module], ...] = (), points: int = 2048, seed: int = 0
) -> Iterator[dict[str, InputSample]]:
    """Sample the inputs of a model's activations while the block lasts; the dict has one `InputSample` a module.

    Args:
        model: what is run inside the block. Its names of the modules are the keys.
        modules: kinds of modules to record; the learned activations unless others are named, such as `(nn.ReLU,)`.
            The channel axis of those is 1.
        points: bound on the kept inputs per channel.
        seed: of the choice; torch's own generators are left alone.

    >>> model = nn.Sequential(nn.Linear(8, 4), nn.ReLU())
    >>> with record_inputs(model, modules=(nn.ReLU,)) as inputs:
    ...     _ = model(torch.zeros(100, 8))
    >>> inputs["1"].points.shape, inputs["1"].outside((-1.0, 1.0))
    (torch.Size([100, 4]), tensor([0., 0., 0., 0.]))
    """
    _check_model(model)
    whole_number("points", points, least=1)
    kinds = modules or (LearnedActivation,)
    found = {name: part for name, part in model.named_modules() if isinstance(part, kinds)}
    if not found:
        wanted = ", ".join(kind.__name__ for kind in modules) or "learned activation (ChebyshevLagrange)"
        raise ValueError(f"model has no {wanted}, so there is nothing to record; name others with modules=(...)")
    samples = {
        name: InputSample(getattr(part, "channel_dim", 1), getattr(part, "replicas", None) is not None, points, seed)
        for name, part in found.items()
    }
    watchers = {part: _make_watcher(samples[name]) for name, part in found.items()}
    strangers = {id(part): watcher for part, watcher in watchers.items() if not _tells(part)}
    with ExitStack() as stack:
        for part, watcher in watchers.items():
            if id(part) not in strangers:
                watch(part, watcher)
                stack.callback(unwatch, part, watcher)
        if strangers:
            stack.callback(register_module_forward_pre_hook(_Herald(strangers)).remove)
        yield samples


def _tells(module: nn.Module) -> bool:
    """Whether a module tells its watchers itself."""
    own = isinstance(module, LearnedActivation) and type(module).forward is LearnedActivation.forward
    return own and "forward" not in vars(module)


def _make_watcher(sample: InputSample) -> Watcher:
    def look(x: Tensor) -> None:
        if isinstance(x, Tensor) and x.dim():
            sample.take_(x)

    return look


class _Herald:
    """Shows the inputs of modules that are not chebact's own; torch calls it for every module of the process.

    A hook on the module itself would go along into every copy of it.
    """

    def __init__(self, watchers: dict[int, Watcher]) -> None:
        self._watchers = watchers

    def __call__(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        watcher = self._watchers.get(id(module))
        if watcher is not None and inputs and not (torch.compiler.is_compiling() or transforms_active()):
            watcher(inputs[0])


def materialize(model: nn.Module, example: Any) -> nn.Module:
    """Run a model once, so that every lazy width is known; returns the model.

    Then its parameters can be counted, averaged, distributed and given to an optimizer. `example` is an input, a
    tuple of inputs, or a dict of them by name. Nothing else changes: the run is in evaluation mode and without
    derivatives.

    >>> from chebact import ChebyshevLagrange
    >>> model = nn.Sequential(nn.Linear(8, 4), ChebyshevLagrange(), nn.Linear(4, 1))
    >>> sum(p.numel() for p in materialize(model, torch.zeros(1, 8)).parameters())
    57
    """
    _check_model(model)
    run_once(model, example)
    lazy = [name for name, parameter in model.named_parameters() if is_lazy(parameter)]
    if lazy:
        raise ValueError(f"example must reach every lazy module, got none to {', '.join(lazy)}; pass another example")
    return model


@dataclass(frozen=True)
class ShareOutside:
    """The share of inputs outside the interval: `total` over all learned activations, and each by its name."""

    total: float
    by_activation: dict[str, float]

    def __float__(self) -> float:
        return self.total


def share_outside(model: nn.Module, data: Any, *, points: int = 2048, seed: int = 0) -> ShareOutside:
    """Which share of the inputs of the learned activations lies outside their intervals, on the straight lines.

    `data` is an input, a tuple of inputs or a dict of them by name; the model runs once, in evaluation mode and without
    derivatives. `total` is the mean over the activations, each weighted by its channels; activations that were not
    reached are left out.

    >>> from chebact import ChebyshevLagrange
    >>> model = nn.Sequential(ChebyshevLagrange(2, init="zeros"), ChebyshevLagrange(2))
    >>> share = share_outside(model, torch.tensor([[0.5, 2.0], [-3.0, 0.0]]))
    >>> share.total, share.by_activation
    (0.25, {'0': 0.5, '1': 0.0})
    """
    with record_inputs(model, points=points, seed=seed) as samples:
        run_once(model, data)
    parts = dict(model.named_modules())
    shares, weights = {}, []
    for name, sample in samples.items():
        if sample.calls:
            part = parts[name]
            assert isinstance(part, LearnedActivation)
            outside = sample.outside(part.basis.interval)
            shares[name] = float(outside.mean())
            weights.append(outside.numel())
    if not shares:
        raise ValueError("data must reach a learned activation of the model, got none that did")
    total = sum(share * weight for share, weight in zip(shares.values(), weights, strict=True)) / sum(weights)
    return ShareOutside(total, shares)


@torch.no_grad()
def run_once(model: nn.Module, example: Any) -> Any:
    """One forward pass in evaluation mode; every module's own mode comes back.

    `example` is an input, a tuple of inputs, or a dict of them by name.
    """
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        if isinstance(example, Mapping):
            return model(**example)
        return model(*example) if isinstance(example, tuple) else model(example)
    finally:
        for part, training in modes:
            part.training = training


def _check_model(model: Any) -> None:
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
