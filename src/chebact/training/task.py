"""The arguments of a replica training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from chebact.ranges.penalty import DEFAULT_MARGIN
from chebact.training.losses import Loss

__all__ = ["Task"]


@dataclass(frozen=True)
class Task:
    """x (replica, rows, features), y (replica, rows, targets) and optional weights (replica, rows).

    Replica i uses the first `points[i]` rows, or all if `points` is None. `order` has one generator per replica. The
    scheduler is stepped after every step (`by_step`) or after every epoch. `curvature` is the weight of the
    curvature penalty, `clip_norm` the bound of the gradient's norm, or None. `range_penalty` is the weight of the range
    penalty, `range_margin` its margin.
    """

    network: nn.Module
    x: Tensor
    y: Tensor
    weights: Tensor | None
    points: Tensor | None
    order: Sequence[torch.Generator]
    epochs: int
    batch_size: int
    loss: Loss
    optimizer: Optimizer
    scheduler: LRScheduler
    by_step: bool
    curvature: float = 0.0
    clip_norm: float | None = None
    range_penalty: float = 0.0
    range_margin: float = DEFAULT_MARGIN

    def counts(self) -> list[int]:
        """The number of points of each replica."""
        rows = self.x.shape[1]
        return [rows] * len(self.order) if self.points is None else [int(count) for count in self.points]
