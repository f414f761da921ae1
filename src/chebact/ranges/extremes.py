"""The exact extremes per channel of the inputs of learned activations, on data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from chebact.checks import Interval, must_be
from chebact.learned import LearnedActivation, learned_activations
from chebact.ranges.batches import input_batches
from chebact.recording import run_once, watching
from chebact.text_table import text_table

__all__ = ["ActivationRange", "InputRanges", "Recorder", "input_ranges"]


@dataclass(frozen=True)
class ActivationRange:
    """The least and the largest input of one activation, per channel: (channel,) or (replica, channel), float64.

    `degree` and `interval` are those of the activation.
    """

    name: str
    low: Tensor
    high: Tensor
    interval: Interval
    degree: int

    @property
    def used(self) -> Tensor:
        """The share of the interval that is used, per channel: the largest |u|, where u is -1 and 1 at its ends.

        Above 1 the channel leaves the interval.
        """
        left, right = self.interval
        middle, half = (left + right) / 2, (right - left) / 2
        return torch.maximum(self.high - middle, middle - self.low) / half

    @property
    def headroom(self) -> float:
        """1 less the largest `used` of all channels; negative if a channel leaves the interval, NaN if one was NaN."""
        return 1.0 - float(self.used.max())

    def channels_beyond(self, margin: float) -> list[tuple[int, ...]]:
        """The channels, (channel,) or (replica, channel), that leave the interval less the margin."""
        return [tuple(each) for each in torch.nonzero(~(self.used <= 1.0 - margin)).tolist()]


@dataclass(frozen=True)
class InputRanges(Mapping[str, ActivationRange]):
    """The ranges by the name of the activation; `unreached` are the activations without a call. Prints as a table.

    >>> from chebact import ChebyshevLagrange
    >>> ranges = input_ranges(nn.Sequential(nn.Flatten(), ChebyshevLagrange(2)), torch.zeros(3, 2))
    >>> list(ranges), ranges.unreached
    (['1'], ())
    """

    by_activation: dict[str, ActivationRange]
    unreached: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> ActivationRange:
        return self.by_activation[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_activation)

    def __len__(self) -> int:
        return len(self.by_activation)

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("activation", "channels", "interval", "least", "largest", "used", "outside")]
        rows += [_cells(each) for each in self.by_activation.values()]
        lines = [text_table(rows)] + [f"not reached: {name}" for name in self.unreached]
        return "\n".join(lines)


def _cells(each: ActivationRange) -> tuple[str, ...]:
    interval = f"[{each.interval[0]:.4g}, {each.interval[1]:.4g}]"
    extremes = (f"{float(each.low.min()):.4g}", f"{float(each.high.max()):.4g}", f"{float(each.used.max()):.1%}")
    outside = f"{len(each.channels_beyond(0.0))} of {each.used.numel()}"
    return (each.name or "(model)", str(each.low.shape[-1]), interval, *extremes, outside)


class Recorder:
    """Keeps the extremes of every call of the learned activations of a model; `watchers` hear the calls."""

    def __init__(self, activations: Mapping[str, LearnedActivation]) -> None:
        self.activations = activations
        self._low: dict[str, Tensor] = {}
        self._high: dict[str, Tensor] = {}
        self.watchers: Any = {part: partial(self._hear, name) for name, part in activations.items()}

    def _hear(self, name: str, x: Tensor) -> None:
        part = self.activations[name]
        replicated = part.replicas is not None
        axis = part.channel_axis(x)
        others = [dim for dim in range(int(replicated), x.dim()) if dim != axis]
        if x.numel() == 0:
            return
        wide = x.detach()
        low, high = (wide.amin(dim=others), wide.amax(dim=others)) if others else (wide, wide)
        for kept, new, join in ((self._low, low, torch.minimum), (self._high, high, torch.maximum)):
            new = new.to("cpu", torch.float64, copy=True)
            new = new if axis is not None else new.unsqueeze(-1)
            kept[name] = join(kept[name], new) if name in kept else new

    def ranges(self, data: Any, name: str = "data") -> InputRanges:
        """What was heard; `data`, the argument `name`, is named in the message if that is nothing."""
        if not self._low:
            raise ValueError(must_be(name, "an input that reaches a learned activation of the model", data))
        found = {
            name: ActivationRange(name, low, self._high[name], part.basis.interval, part.basis.degree)
            for name, part in self.activations.items()
            if (low := self._low.get(name)) is not None
        }
        return InputRanges(found, tuple(name for name in self.activations if name not in found))


def input_ranges(model: nn.Module, data: Any, *, inputs: int | None = None) -> InputRanges:
    """The least and the largest input of every learned activation, per channel, over all elements of the data.

    Args:
        model: runs in evaluation mode and without gradients, and is not changed.
        data: a tensor, a tuple of inputs or a dict of them by name; or an iterable of batches, such as a DataLoader.
        inputs: how many leading entries of a batch are inputs of the model, for iterables whose batches are sequences;
            the others, such as labels, are ignored.

    >>> from chebact import ChebyshevLagrange
    >>> model = nn.Sequential(nn.Flatten(), ChebyshevLagrange(2))
    >>> ranges = input_ranges(model, torch.tensor([[0.5, -0.8], [0.25, 1.5]]))
    >>> ranges["1"].low, ranges["1"].high
    (tensor([ 0.2500, -0.8000], dtype=torch.float64), tensor([0.5000, 1.5000], dtype=torch.float64))
    >>> print(ranges)
    activation  channels  interval  least  largest    used  outside
    1                  2   [-1, 1]   -0.8      1.5  150.0%   1 of 2
    """
    recorder = Recorder(learned_activations(model))
    with watching(recorder.watchers):
        for batch in input_batches("data", data, inputs):
            run_once(model, batch)
    return recorder.ranges(data)
