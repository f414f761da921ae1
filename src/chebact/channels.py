"""The rule of the channel axis.

`channel_dim` counts the axes of one replica, from either end; with replicas the first axis is the replica axis. In a
tensor with one axis this is the channel axis.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["describe_axes", "find_axis"]


def find_axis(dims: int, channel_dim: int, replicated: bool) -> int | None:
    """The channel axis of a tensor with `dims` axes, counted over all of them; None if there is no such axis.

    >>> find_axis(4, 1, False), find_axis(4, 1, True), find_axis(3, -1, True), find_axis(1, 1, False)
    (1, 2, 2, 0)
    >>> find_axis(2, 2, False)
    """
    first = 1 if replicated else 0
    rank = dims - first
    if rank == 1 and -1 <= channel_dim <= 1:
        return first
    if -rank <= channel_dim < rank:
        return first + channel_dim % rank
    return None


def describe_axes(shape: Sequence[int], channels: int, replicated: bool) -> str:
    """A hint for a message: the last axis with that many channels; empty if there is none.

    >>> describe_axes((4, 10, 8), 8, False)
    '; axis 2 has 8: did you mean channel_dim=-1?'
    """
    first = 1 if replicated else 0
    for axis in range(len(shape) - 1, first - 1, -1):
        if shape[axis] == channels:
            meant = -1 if axis == len(shape) - 1 else axis - first
            return f"; axis {axis} has {channels}: did you mean channel_dim={meant}?"
    return ""
