"""What is done after every epoch of a fit: say how far it is, and stop where the rows left out get no better."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy
import torch
from torch import Tensor, nn

from chebact.training import ReplicaRun, predict_replicas
from chebact.training.losses import per_point

__all__ = ["Watch"]

PATIENCE = 0.1  # of all epochs, without getting better
LINES = 10  # of a fit that tells how far it is


class Enough(Exception):
    """The rows left out got no better for long enough."""


class Watch:
    """Follows one training. With `early_stopping` the network gets back the parameters of its best epoch: the one with
    the least mean loss of all replicas on the rows that each left out.
    """

    def __init__(self, lesson: Any, network: nn.Module) -> None:
        self.lesson, self.network = lesson, network
        self.x, self.y = lesson.x[lesson.left_out], lesson.y[lesson.left_out]
        self.losses: list[Tensor] = []
        self.best, self.best_epoch = math.inf, 0
        self.kept: list[Tensor] = []

    @classmethod
    def of(cls, lesson: Any, network: nn.Module) -> Watch | None:
        """A watch where the settings ask for one: without, the trainer makes many epochs in one call."""
        return cls(lesson, network) if lesson.settings.early_stopping or lesson.settings.verbose else None

    def follow(self, run: Callable[..., ReplicaRun]) -> Tensor:
        """Train under watch; the losses (epoch, replica)."""
        with suppress(Enough):
            run(on_epoch=self)
        with torch.no_grad():
            for parameter, kept in zip(self.network.parameters(), self.kept, strict=False):
                parameter.copy_(kept)
        return torch.stack(self.losses)

    def __call__(self, epoch: int, losses: Tensor) -> None:
        """After an epoch, with the mean losses (replica,)."""
        self.losses.append(losses.clone())
        left_out = self.left_out_loss() if self.lesson.settings.early_stopping else None
        if self.lesson.settings.verbose and (epoch + 1) % max(1, self.lesson.epochs // LINES) == 0:
            beside = "" if left_out is None else f", of rows left out {left_out:.4g}"
            sys.stdout.write(f"epoch {epoch + 1} of {self.lesson.epochs}: loss {losses.mean():.4g}{beside}\n")
        if left_out is None:
            return
        if left_out < self.best:
            self.best, self.best_epoch = left_out, epoch
            self.kept = [parameter.detach().clone() for parameter in self.network.parameters()]
        if epoch - self.best_epoch >= max(10, PATIENCE * self.lesson.epochs):
            raise Enough

    def left_out_loss(self) -> float:
        """The mean loss of the rows left out, of the replicas that are still finite."""
        outputs = predict_replicas(self.network, self.x, len(self.x))
        losses = per_point(self.lesson.loss)(outputs, self.y).numpy()
        return float(numpy.mean(losses[numpy.isfinite(losses)])) if numpy.isfinite(losses).any() else math.inf
