"""How a kernel sees a tensor: (replica, outer, channel, inner) in the order of memory, without a copy where possible."""

from __future__ import annotations

from typing import NamedTuple

import torch


class Sizes(NamedTuple):
    """The four sizes that a kernel loops over; values are (replica, channel, degree + 1)."""

    replicas: int
    outer: int
    channels: int
    inner: int


def dense(x: torch.Tensor) -> torch.Tensor:
    """x itself where its elements fill its memory without gaps or overlaps, else a copy that does."""
    return x if x.is_contiguous() or is_dense(x) else x.contiguous()


def is_dense(x: torch.Tensor) -> bool:
    """Whether the strides of x are those of a contiguous tensor with its axes in some order."""
    expected = 1
    for size, stride in sorted(_axes(x), key=lambda axis: axis[1]):
        if stride != expected:
            return False
        expected *= size
    return True


def sizes_of(x: torch.Tensor, channel_dim: int, *, replicated: bool, shared: bool) -> Sizes | None:
    """How dense x lies in memory, or None where its replica axis is not the outermost.

    `channel_dim` counts all axes of x. With `shared` values the channel axis has no meaning: it counts as one channel.
    """
    total, replicas = x.numel(), x.shape[0] if replicated else 1
    if shared:
        rows = Sizes(replicas, 1, 1, total // replicas if replicas else 0)
        return rows if not replicated or _outermost(x, 0) else None
    channels, inner = x.shape[channel_dim], x.stride(channel_dim) if x.shape[channel_dim] > 1 else 1
    if channels == 1:
        rows = Sizes(replicas, 1, 1, total // replicas if replicas else 0)
        return rows if not replicated or _outermost(x, 0) else None
    if total == 0:
        return Sizes(replicas, 0, channels, 1)
    if replicated and not _outermost(x, 0):
        return None
    return Sizes(replicas, total // (replicas * channels * inner), channels, inner)


def _outermost(x: torch.Tensor, axis: int) -> bool:
    return x.shape[axis] <= 1 or x.stride(axis) * x.shape[axis] == x.numel()


def _axes(x: torch.Tensor) -> list[tuple[int, int]]:
    return [(size, stride) for size, stride in zip(x.shape, x.stride(), strict=True) if size != 1]
