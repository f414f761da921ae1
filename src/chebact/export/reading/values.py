"""What a node of a graph is to the reader: a view of a vector, or a constant tensor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from chebact.export.program import Move

__all__ = ["Refusal", "View", "array_of", "blank", "channel_layout", "move_of"]


class Refusal(Exception):
    """An operation that is not known, and why; the reader adds its name."""


@dataclass(frozen=True)
class View:
    """A tensor whose numbers are in vector `index`; `layout` has no numbers, its strides say where each one is."""

    index: int
    layout: Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, with the batch axis of one row."""
        return tuple(self.layout.shape)

    def is_plain(self, size: int) -> bool:
        """Whether it is a vector of that size from its start to its end, in C order."""
        layout = self.layout
        return layout.is_contiguous() and layout.storage_offset() == 0 and layout.numel() == size


def blank(shape: Any) -> Tensor:
    """A layout in C order."""
    return torch.empty(tuple(shape), device="meta")


def move_of(source: Tensor, target: Tensor) -> Move:
    """The numbers of one layout to the places of another of the same shape, with as few axes as possible.

    >>> move_of(blank((1, 4, 6, 6))[:, :, ::2], blank((1, 4, 3, 6)))
    Move(shape=(12, 6), offset=0, strides=(12, 1), out_offset=0, out_strides=(6, 1))
    """
    axes: list[tuple[int, int, int]] = []
    for length, stride, out in zip(source.shape, source.stride(), target.stride(), strict=True):
        if axes and (stride * length, out * length) == axes[-1][1:]:
            axes[-1] = (axes[-1][0] * length, stride, out)
        elif length != 1:
            axes.append((length, stride, out))
    shape, strides, out_strides = zip(*axes, strict=True) if axes else ((), (), ())
    return Move(shape, int(source.storage_offset()), strides, int(target.storage_offset()), out_strides)


def channel_layout(shape: tuple[int, ...], first: int, last: int) -> tuple[int, int, int]:
    """(outer, channel, inner), with the axes from first to last as the channels.

    >>> channel_layout((1, 4, 6, 5), 1, 1), channel_layout((2, 3, 4), 1, 2)
    ((1, 4, 30), (2, 12, 1))
    """
    return math.prod(shape[:first]), math.prod(shape[first : last + 1]), math.prod(shape[last + 1 :])


def array_of(tensor: Tensor) -> Any:
    """A constant as an array of float64; a ValueError if a number is not finite."""
    if not bool(tensor.isfinite().all()):
        raise ValueError("network must have finite weights and heights, got inf or nan; train it again")
    return tensor.detach().double().cpu().numpy()
