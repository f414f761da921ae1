"""A bounded sample of the inputs of the activations of a model, taken while the model runs."""

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
from chebact.checks import Interval, check_integer, check_interval, check_module, describe, must_be
from chebact.copies import copy_tensors
from chebact.learned import LearnedActivation
from chebact.torch_modes import transforms_active
from chebact.watchers import Watcher, unwatch, watch

__all__ = [
    "InputSample",
    "ShareOutside",
    "evaluation_mode",
    "materialize",
    "record_inputs",
    "refused_example",
    "run_once",
    "share_outside",
    "watching",
]

SLOTS = 16  # calls in a sample


class InputSample:
    """Inputs of one module: random positions of a random selection of its calls, at most `points` per channel.

    A call replaces an earlier one with the probability that makes all calls equally likely in the sample (reservoir
    sampling), so later calls cost less.

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
        self._samples: list[Tensor] = []
        self._random = random.Random(seed)
        self._generator = torch.Generator().manual_seed(seed)

    @property
    def points(self) -> Tensor:
        """The sample, on the CPU in float32 or float64: (points, channel), or (replica, points, channel)."""
        if not self._samples:
            raise ValueError(
                "the sample must have inputs, got 0 calls; run the model itself inside `with record_inputs(model)`, "
                "not a compiled or transformed copy of it"
            )
        joined = torch.cat(self._samples, dim=1 if self.replicated else 0).cpu()
        return joined if joined.dtype == torch.float64 else joined.float()

    def outside(self, interval: Interval = (-1.0, 1.0)) -> Tensor:
        """The share of the sample outside an interval, per channel: (channel,) or (replica, channel)."""
        left, right = check_interval(interval)
        points = self.points
        return ((points < left) | (points > right)).to(points.dtype).mean(dim=-2)

    def take_(self, x: Tensor) -> None:
        """Record the input of one call, or skip it."""
        self.calls += 1
        if len(self._samples) < self._slots:
            self._samples.append(self._draw(x))
        elif (slot := int(self._random.random() * self.calls)) < self._slots:
            self._samples[slot] = self._draw(x)

    def _draw(self, x: Tensor) -> Tensor:
        """A copy of x at random positions, or at all if there are few: (rows, channel), or (replica, rows, channel)."""
        x = x.detach()
        first = 1 if self.replicated else 0
        axis = find_axis(x.dim(), self.channel_dim, self.replicated)
        if axis is None:  # all elements share one function: any axis can be the channel axis
            axis = x.dim() - 1
        if x.dim() == 2 and not first and axis == 1 and x.shape[0] <= self._rows:
            return x.clone()
        if x.dim() - first < 2:
            x, axis = x.unsqueeze(first), first + 1
        if x.numel() // max(1, x.shape[axis] * (x.shape[0] if first else 1)) <= self._rows:
            rows = x.movedim(axis, -1)
            return rows.reshape(*rows.shape[:first], -1, rows.shape[-1]).clone()
        index: list[Any] = [slice(None)] * x.dim()
        for dim in range(first, x.dim()):
            if dim != axis:
                drawn = torch.randint(x.shape[dim], (self._rows,), generator=self._generator)
                index[dim] = drawn.to(x.device, non_blocking=True)
        if not first:
            return self._rows_first(x[tuple(index)], x.dim(), axis)
        return torch.stack([self._rows_first(part[tuple(index[1:])], x.dim() - 1, axis - 1) for part in x])

    def _rows_first(self, picked: Tensor, rank: int, axis: int) -> Tensor:
        """(rows, channel): advanced indices after the channel axis leave that axis first."""
        return picked.T if axis == 0 and rank > 1 else picked

    def __repr__(self) -> str:
        return f"InputSample(calls={self.calls})"


@contextmanager
def record_inputs(
    model: nn.Module, *, modules: tuple[type[nn.Module], ...] = (), points: int = 2048, seed: int = 0
) -> Iterator[dict[str, InputSample]]:
    """Sample the inputs of the activations of a model inside the block; the dict has one `InputSample` per module.

    Args:
        model: the model that runs inside the block. Its module names are the keys.
        modules: classes of modules to record, such as `(nn.ReLU,)`, with channel axis 1; by default the learned
            activations.
        points: maximum number of recorded inputs per channel.
        seed: seed of the selection; torch's global generators are not used.

    >>> model = nn.Sequential(nn.Linear(8, 4), nn.ReLU())
    >>> with record_inputs(model, modules=(nn.ReLU,)) as inputs:
    ...     _ = model(torch.zeros(100, 8))
    >>> inputs["1"].points.shape, inputs["1"].outside((-1.0, 1.0))
    (torch.Size([100, 4]), tensor([0., 0., 0., 0.]))
    """
    check_module("model", model)
    check_integer("points", points, least=1)
    kinds = modules or (LearnedActivation,)
    found = {name: part for name, part in model.named_modules() if isinstance(part, kinds)}
    if not found:
        kind_names = ", ".join(kind.__name__ for kind in modules) or "learned activation"
        raise ValueError(must_be("model", f"a module with a {kind_names}", model, "set modules=(...) to record others"))
    samples = {
        name: InputSample(getattr(part, "channel_dim", 1), getattr(part, "replicas", None) is not None, points, seed)
        for name, part in found.items()
    }
    with watching({part: _make_watcher(samples[name]) for name, part in found.items()}):
        yield samples


@contextmanager
def watching(watchers: Mapping[nn.Module, Watcher]) -> Iterator[None]:
    """Call each watcher with the input of every call of its module inside the block.

    Inputs in a graph of torch.compile and inside a transform of torch.func are not seen.
    """
    foreign = {id(part): watcher for part, watcher in watchers.items() if not _notifies(part)}
    with ExitStack() as stack:
        for part, watcher in watchers.items():
            if id(part) not in foreign:
                watch(part, watcher)
                stack.callback(unwatch, part, watcher)
        if foreign:
            stack.callback(register_module_forward_pre_hook(_GlobalHook(foreign)).remove)
        yield


def _notifies(module: nn.Module) -> bool:
    """Whether a module calls its watchers itself."""
    learned = isinstance(module, LearnedActivation) and type(module).forward is LearnedActivation.forward
    return learned and "forward" not in vars(module)


def _make_watcher(sample: InputSample) -> Watcher:
    def look(x: Tensor) -> None:
        if isinstance(x, Tensor) and x.dim():
            sample.take_(x)

    return look


class _GlobalHook:
    """Passes the inputs of other modules to their watchers; torch calls it for every module of the process.

    A hook on the module itself would be copied with the module.
    """

    def __init__(self, watchers: dict[int, Watcher]) -> None:
        self._watchers = watchers

    def __call__(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        watcher = self._watchers.get(id(module))
        if watcher is not None and inputs and not (torch.compiler.is_compiling() or transforms_active()):
            watcher(inputs[0])


def materialize(model: nn.Module, example: Any) -> nn.Module:
    """Run a model once, so that all lazy modules infer their channels; returns the model.

    Then its parameters can be counted, averaged, distributed and passed to an optimizer. `example` is an input, a
    tuple of inputs, or a dict of them by name. Nothing else changes: the model runs in evaluation mode and without
    gradients. A model with nothing lazy stays as it is.

    >>> from chebact import ChebyshevLagrange
    >>> model = nn.Sequential(nn.Linear(8, 4), ChebyshevLagrange(), nn.Linear(4, 1))
    >>> sum(p.numel() for p in materialize(model, torch.zeros(1, 8)).parameters())
    57
    """
    check_module("model", model)
    _try_once(model, "example", example)
    lazy = [name for name, parameter in model.named_parameters() if is_lazy(parameter)]
    if lazy:
        raise ValueError(must_be("example", f"an input that reaches every lazy module ({', '.join(lazy)})", example))
    return model


@dataclass(frozen=True)
class ShareOutside:
    """The share of inputs outside the interval: `total` over all learned activations, and per activation."""

    total: float
    by_activation: dict[str, float]

    def __float__(self) -> float:
        return self.total


def share_outside(model: nn.Module, data: Any, *, points: int = 2048, seed: int = 0) -> ShareOutside:
    """The share of the inputs of the learned activations that is outside their intervals, on the straight lines.

    `data` is an input, a tuple of inputs or a dict of them by name; the model runs once, in evaluation mode and without
    gradients. `total` is the mean over the activations, weighted by their channels; activations that were not reached
    are omitted.

    >>> from chebact import ChebyshevLagrange
    >>> model = nn.Sequential(ChebyshevLagrange(2, init="zeros"), ChebyshevLagrange(2))
    >>> share = share_outside(model, torch.tensor([[0.5, 2.0], [-3.0, 0.0]]))
    >>> share.total, share.by_activation
    (0.25, {'0': 0.5, '1': 0.0})
    """
    with record_inputs(model, points=points, seed=seed) as samples:
        _try_once(model, "data", data)
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
        raise ValueError(must_be("data", "an input that reaches a learned activation of the model", data))
    total = sum(share * weight for share, weight in zip(shares.values(), weights, strict=True)) / sum(weights)
    return ShareOutside(total, shares)


def _try_once(model: nn.Module, name: str, example: Any) -> None:
    try:
        run_once(model, example)
    except Exception as error:
        raise refused_example(name, example, error) from error


def refused_example(name: str, example: Any, error: Exception) -> ValueError:
    """The error for an example, of that name as an argument, on which a model raised."""
    return ValueError(
        f"{name} must be an input of the model, a tuple of its inputs or a dict of them by name, got "
        f"{_describe_example(example)}, on which the model raised {type(error).__name__}: {error}"
    )


def _describe_example(example: Any) -> str:
    if isinstance(example, Tensor):
        return f"a tensor of shape {tuple(example.shape)}"
    if isinstance(example, list):
        return f"a list of {len(example)}; pass a tuple if these are the inputs"
    parts = example.values() if isinstance(example, Mapping) else example if isinstance(example, tuple) else ()
    shapes = ", ".join(str(tuple(part.shape)) for part in parts if isinstance(part, Tensor))
    return f"{type(example).__name__} with tensors of shape {shapes}" if shapes else describe(example)


def run_once(model: nn.Module, example: Any, *, derivatives: bool | None = None) -> Any:
    """One forward pass in evaluation mode. `example` is an input, a tuple of inputs, or a dict of them by name.

    The model gets copies of its tensors, since layers that work in place would write into them. `derivatives` says
    whether autograd records the pass. None is no, and a second pass with yes where that raised a RuntimeError, as in a
    model that calls torch.autograd.grad; then the outputs are detached copies.
    """
    if derivatives is None:
        try:
            return run_once(model, example, derivatives=False)
        except RuntimeError:
            return copy_tensors(run_once(model, example, derivatives=True))
    with evaluation_mode(model), torch.set_grad_enabled(derivatives):
        inputs = copy_tensors(example, derivatives=derivatives)
        if isinstance(example, Mapping):
            return model(**inputs)
        return model(*inputs) if isinstance(example, tuple) else model(inputs)


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients inside the block; the mode of every module is restored."""
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part, training in modes:
            part.training = training
