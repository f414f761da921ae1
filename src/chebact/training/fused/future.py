"""What a training draws before its steps are made: the order of the data of an epoch, and the optimizer's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.optim.lr_scheduler import LRScheduler

from chebact.training.fused.readings import Stepper

__all__ = ["Future"]


@dataclass
class Future:
    """The epochs from `first` on that are drawn already; they are drawn one after the other, as a plain loop would.

    `order` holds one generator per replica, which shuffles the replica's own `points`. `by_step` says that the
    scheduler is stepped after every one of the `steps` of an epoch, else after the epoch.
    """

    order: Sequence[torch.Generator]
    points: Sequence[int]
    steps: int
    stepper: Stepper
    scheduler: LRScheduler
    by_step: bool

    def __post_init__(self) -> None:
        self.first, self.orders, self.rates = 0, list[Tensor](), list[Tensor]()
        self.stepper.optimizer.zero_grad()
        self.stepper.optimizer.step()  # moves nothing; a scheduler complains of an optimizer that never stepped

    def draw(self, start: int, stop: int) -> tuple[Tensor, Tensor]:
        """The order of the data (epoch, replica, point) and the numbers of each step (epoch, step, number) from the
        epoch `start` up to `stop`; earlier epochs are forgotten.
        """
        while self.first + len(self.orders) < stop:
            self.orders.append(self.shuffled())
            self.rates.append(self.epoch_rates())
        del self.orders[: start - self.first], self.rates[: start - self.first]
        self.first = start
        return torch.stack(self.orders[: stop - start]), torch.stack(self.rates[: stop - start])

    def shuffled(self) -> Tensor:
        """The order of the data of the next epoch: (replica, point)."""
        found = torch.zeros(len(self.points), max(self.points), dtype=torch.int32)
        for row, count, generator in zip(found, self.points, self.order, strict=True):
            row[:count] = torch.randperm(count, generator=generator)
        return found

    def epoch_rates(self) -> Tensor:
        """The optimizer's numbers of each step of the next epoch: (step, number)."""
        if not self.by_step:
            rows = torch.tensor([self.stepper.rates()], dtype=torch.float64).expand(self.steps, -1)
            self.scheduler.step()
            return rows
        found = []
        for _ in range(self.steps):
            found.append(self.stepper.rates())
            self.scheduler.step()
        return torch.tensor(found, dtype=torch.float64)
