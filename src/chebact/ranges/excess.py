"""The range penalty of one input: how far its elements are outside the interval less a margin.

With u the position in the interval, -1 at its left and 1 at its right end, the excess of an element is
max(|u| - (1 - margin), 0). The penalty is the mean of the squared excess over all elements, plus the mean over the
channels of the largest squared excess of the channel. Both are convex in x.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softshrink

from chebact.checks import Interval

__all__ = ["excess", "excess_penalty"]


def excess(x: Tensor, interval: Interval, margin: float) -> Tensor:
    """The signed excess of every element, in units of half the interval: the shape of x, float32 or float64."""
    left, right = interval
    half, middle = (right - left) / 2, (right + left) / 2
    position = x if x.dtype in (torch.float32, torch.float64) else x.float()
    position = position - middle if middle else position
    return softshrink(position if half == 1.0 else position / half, 1.0 - margin)


def excess_penalty(
    x: Tensor, interval: Interval, margin: float, axis: int | None, replicated: bool, shares: Tensor | None = None
) -> Tensor:
    """The penalty of x, summed over the replicas: (). `axis` is the channel axis, None if there is none.

    `shares` (batch,) or (replica, batch) are the shares of the rows in the mean, which add up to one per replica.
    """
    squares = excess(x, interval, margin).square()
    first = int(replicated)
    others = [dim for dim in range(first, x.dim()) if dim != axis]
    worst = squares.amax(dim=others) if others else squares
    rows = squares.flatten(first + 1) if shares is not None else squares.flatten(first)
    mean = rows.mean(dim=-1) if shares is None else (rows.mean(dim=-1) * shares).sum(dim=-1)
    return mean.sum() + worst.flatten(first).mean(dim=-1).sum()
