"""Data that a training draws ahead: the order of the data and the numbers of the optimizer for each epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch.optim.lr_scheduler import LRScheduler

from chebact.training.fused.readings import Stepper

__all__ = ["Future"]


@dataclass
class Future:
    """The epochs from `first` that are already drawn, in the same order as a plain training loop would draw them.

    `order` has one generator per replica, which shuffles its `points`. With `by_step` the scheduler is stepped after
    each of the `steps` of an epoch, otherwise after the epoch.
    """

    order: Sequence[torch.Generator]
    points: Sequence[int]
    steps: int
    stepper: Stepper
    scheduler: LRScheduler
    by_step: bool

    def __post_init__(self) -> None:
        self.first, self.orders, self.rates = 0, list[Any](), list[Any]()
        self.stepper.optimizer.zero_grad()
        self.stepper.optimizer.step()  # changes nothing; a scheduler warns if the optimizer never stepped

    def draw(self, start: int, stop: int) -> tuple[Any, Any]:
        """The order of the data (epoch, replica, point) and the numbers of each step (epoch, step, number).

        The epochs are `start` to `stop`; earlier ones are discarded.
        """
        while self.first + len(self.orders) < stop:
            self.orders.append(self.shuffle())
            self.rates.append(self.epoch_rates())
        del self.orders[: start - self.first], self.rates[: start - self.first]
        self.first = start
        return numpy.stack(self.orders[: stop - start]), numpy.stack(self.rates[: stop - start])

    def shuffle(self) -> Any:
        """The order of the data of the next epoch: (replica, point)."""
        rows = numpy.zeros((len(self.points), max(self.points)), numpy.int32)
        for row, count, generator in zip(rows, self.points, self.order, strict=True):
            row[:count] = torch.randperm(count, generator=generator).numpy()
        return rows

    def epoch_rates(self) -> Any:
        """The numbers of the optimizer for each step of the next epoch: (step, number)."""
        if not self.by_step:
            row = numpy.array(self.stepper.rates())
            self.scheduler.step()
            return numpy.tile(row, (self.steps, 1))
        rows = []
        for _ in range(self.steps):
            rows.append(self.stepper.rates())
            self.scheduler.step()
        return numpy.array(rows)
