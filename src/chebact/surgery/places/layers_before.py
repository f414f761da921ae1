"""Which axis of an activation's input holds the channels: the layers that ran before it in a watched run tell."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

from torch import Tensor, nn

from chebact.surgery.layouts import CONVOLUTIONS, Layout, layout_of_output, produced_by
from chebact.surgery.places.following import Following, Trace

__all__ = ["LayersBefore"]

PRODUCT = "it is given a product of tensors, of which no layer tells the channel axis; pass channel_dim"
RECENT = 64  # layers before an activation that are looked at for its layout


class LayersBefore:
    """The layers that ran, newest last; `unbatched` names a convolution whose input had no batch axis.

    >>> import torch
    >>> layers = LayersBefore(batch=2, channel_dim=None)
    >>> layers.note(nn.Linear(3, 8), x := torch.zeros(2, 5, 8))
    >>> layers.find_layout(x, nn.Module())
    (Layout(channels=8, channel_dim=-1, evidence='after Linear'), True)
    """

    def __init__(self, batch: int | None, channel_dim: int | None) -> None:
        self.batch, self.channel_dim, self.unbatched = batch, channel_dim, ""
        self.following = Following()
        self.recent: deque[tuple[tuple[int, ...], Layout]] = deque(maxlen=RECENT)

    def note(self, layer: nn.Module, output: Any) -> None:
        """A layer gave that output; of several tensors the first counts, as after a recurrent layer."""
        first = output[0] if isinstance(output, tuple) and output else output
        if not isinstance(first, Tensor):
            return
        if isinstance(layer, CONVOLUTIONS) and first.dim() < layer.weight.dim():
            self.unbatched = self.unbatched or type(layer).__name__
        shape, own = tuple(first.shape), produced_by(layer)
        layout = layout_of_output(layer, shape)
        if layout is not None:
            self.recent.append((shape, layout))
            if not isinstance(layer, nn.Sequential) and own is not None and layout[:2] == own[:2]:
                self.following.start(first, layout.channel_dim, layout.evidence)

    def find_layout(self, x: Tensor, caller: nn.Module) -> tuple[Layout | str, bool]:
        """The layout of what an activation is given, and whether it was followed from a layer to that tensor.

        Of more than two axes the first is the batch: a reshape of a batch of 1 joins the channels with it.
        """
        trace = self.following.find(x)
        if trace is not None and trace.axis is not None and x.dim() > 1 and (trace.axis or x.dim() == 2):
            followed, known = _at_axis_of(x, trace), self._by_caller(tuple(x.shape), caller)
            return (known if known and known[:2] == followed[:2] else followed), True
        if trace is not None and trace.mixed:
            return self._by_channel_dim(tuple(x.shape)) or PRODUCT, False
        return self._by_shapes(tuple(x.shape), caller), False

    def _by_shapes(self, shape: tuple[int, ...], caller: nn.Module) -> Layout | str:
        """The layer that calls it tells, or that which ran last and gave this shape; else the last that gave these
        channels at its axis, or this shape but for its channels, which were split or joined since.
        """
        if known := self._by_caller(shape, caller):
            return known
        for same_shape in (True, False):
            for seen, layout in reversed(self.recent):
                like = seen == shape or (
                    not same_shape and (_has_channels(shape, layout) or _agree(shape, seen, layout))
                )
                if len(seen) == len(shape) and like:
                    return _at_axis(shape, layout, "after")
        return self._without_layers(shape)

    def _by_caller(self, shape: tuple[int, ...], caller: nn.Module) -> Layout | None:
        """What a layer that calls an activation itself makes."""
        known = None if isinstance(caller, nn.Sequential) else produced_by(caller)
        return _at_axis(shape, known, "in") if known is not None and _has_channels(shape, known) else None

    def _without_layers(self, shape: tuple[int, ...]) -> Layout | str:
        """The axis that the caller of surgery names, else the second one where that is usual."""
        if named := self._by_channel_dim(shape):
            return named
        usual = len(shape) == 2 or (len(shape) > 3 and not self._is_reshaped(shape))
        if usual and shape[0] == self.batch and not self._lost_its_channels(shape):
            return Layout(shape[1], 1, "by convention")
        return f"no layer before it tells which axis of {shape} holds the channels; pass channel_dim"

    def _by_channel_dim(self, shape: tuple[int, ...]) -> Layout | str | None:
        if self.channel_dim is None:
            return None
        if not -len(shape) <= self.channel_dim < len(shape):
            return f"channel_dim must be an axis of its input, got {self.channel_dim} for shape {shape}"
        return Layout(shape[self.channel_dim], self.channel_dim, "channel_dim")

    def _is_reshaped(self, shape: tuple[int, ...]) -> bool:
        """Whether these may be the numbers of a layer with the channels last, in another shape."""
        last = list(self.recent)[-1:]
        return any(layout.channel_dim == -1 and math.prod(seen) == math.prod(shape) for seen, layout in last)

    def _lost_its_channels(self, shape: tuple[int, ...]) -> bool:
        """Whether the last layer gave one channel, and that axis is gone."""
        for seen, layout in list(self.recent)[-1:]:
            axis = layout.channel_dim % len(seen)
            return layout.channels == 1 and (*seen[:axis], *seen[axis + 1 :]) == shape
        return False


def _at_axis_of(x: Tensor, trace: Trace) -> Layout:
    axis = trace.axis or 0
    return Layout(x.shape[axis], -1 if axis == x.dim() - 1 > 1 else axis, f"after {trace.evidence}")


def _at_axis(shape: tuple[int, ...], layout: Layout, word: str) -> Layout:
    channel_dim = 1 if len(shape) == 2 else layout.channel_dim
    return Layout(shape[channel_dim], channel_dim, f"{word} {layout.evidence}")


def _has_channels(shape: tuple[int, ...], layout: Layout) -> bool:
    return shape[layout.channel_dim :][:1] == (layout.channels,)


def _agree(shape: tuple[int, ...], seen: tuple[int, ...], layout: Layout) -> bool:
    """Whether two shapes of one rank differ at most in their channels."""
    axis = layout.channel_dim % len(seen)
    return (*shape[:axis], *shape[axis + 1 :]) == (*seen[:axis], *seen[axis + 1 :])
