"""The training: all splits as replicas of one network, with the range penalty where a model has one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch import Tensor, nn

from chebact.lab.private.data import Split, Table, standardised
from chebact.lab.private.models import MARGIN, MODELS, build
from chebact.lab.private.spec import PrivateSpec
from chebact.lab.spec import stream
from chebact.ranges import RangePenalty, range_penalty
from chebact.training import cross_entropy

__all__ = ["Trained", "train_splits"]

Array = Any
BATCH, RATE, DECAY = 32, 0.003, 1.0  # the best of four pairs for ReLU and for CL alike, on other splits


@dataclass(frozen=True)
class Trained:
    """The network with one replica per split, the features of both parts of every split, and which losses were not
    finite.
    """

    network: nn.Sequential
    parts: list[tuple[Array, Array]]
    lost: Tensor


def train_splits(spec: PrivateSpec, table: Table, splits: Sequence[Split]) -> Trained:
    """Train one network per split, all at once."""
    parts = [standardised(table, split) for split in splits]
    rows = min(len(train) for train, _ in parts)
    x = torch.tensor(numpy.stack([train[:rows] for train, _ in parts]), dtype=torch.float32)
    y = torch.tensor(numpy.stack([table.y[train][:rows] for train, _ in splits]))[..., None]
    count = len(splits)
    drawn = [stream("private", spec.data, "init", each) for each in range(count)]
    sizes = (x.shape[2], spec.width, int(table.y.max()) + 1)
    network = build(MODELS[spec.model], spec.degree, sizes, count, drawn)
    orders = [stream("private", spec.data, "order", each) for each in range(count)]
    return Trained(network, parts, fit_(network, x, y, orders, spec))


def fit_(network: nn.Module, x: Tensor, y: Tensor, orders: Sequence[torch.Generator], spec: PrivateSpec) -> Tensor:
    """Train in place; which replicas had a loss that was not finite, (replica,)."""
    learned = [each for each in network.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=RATE, weight_decay=DECAY)
    steps = spec.epochs * -(-x.shape[1] // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    weight = MODELS[spec.model].penalty
    penalty = range_penalty(network, MARGIN, weight=weight) if weight else None
    replica, lost = torch.arange(len(x))[:, None], torch.zeros(len(x), dtype=torch.bool)
    for _ in range(spec.epochs):
        order = torch.stack([torch.randperm(x.shape[1], generator=each) for each in orders])
        for rows in torch.split(order, BATCH, dim=1):
            optimizer.zero_grad()
            losses, outside = losses_of(network, x[replica, rows], y[replica, rows], penalty)
            torch.autograd.backward(losses.sum() + outside)
            optimizer.step()
            schedule.step()
            lost |= ~losses.detach().isfinite()
    return lost


def losses_of(network: nn.Module, x: Tensor, y: Tensor, penalty: RangePenalty | None) -> tuple[Tensor, Tensor]:
    """The cross entropy of each replica, (replica,), and the penalty of all."""
    if penalty is None:
        return cross_entropy(network(x), y).mean(dim=1), torch.zeros(())
    with penalty:
        losses = cross_entropy(network(x), y).mean(dim=1)
    return losses, penalty.value()
