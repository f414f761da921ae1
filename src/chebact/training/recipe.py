"""The recommended recipe, in one place: the laboratory, the estimators and the docs read it here."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from chebact.activations import ChebyshevLagrange
from chebact.initial import Init
from chebact.table import Factory
from chebact.training.losses import Loss, scaled_huber_error
from chebact.training.optimizers import Sgd

__all__ = ["RECOMMENDED", "Recipe"]


@dataclass(frozen=True)
class Recipe:
    """How a network with learned activations is trained: their degree and start, and the arguments of a training.

    `loss`, `batch_size`, `epochs`, `curvature` and `clip_norm` are those of `train_replicas_`; `lr`, `momentum` and
    `weight_decay` are those of `Sgd` with Nesterov's momentum. Learned heights do not decay.

    >>> import torch
    >>> from chebact.networks import ResidualMLP
    >>> from chebact.training import train_replicas_
    >>> network = ResidualMLP(2, activation=RECOMMENDED.activation(), replicas=3)
    >>> x = torch.linspace(-1, 1, 80).view(40, 2)
    >>> train_replicas_(network, x, x[:, :1].abs(), order=range(3), **RECOMMENDED.options(epochs=5)).losses.shape
    torch.Size([5, 3])
    """

    degree: int = 2
    init: Init = "relu"
    loss: Loss = field(default=scaled_huber_error, repr=False)  # its name has an address in it
    lr: float = 0.02
    momentum: float = 0.99
    weight_decay: float = 5e-4
    curvature: float = 1e-5
    clip_norm: float | None = None
    batch_size: int = 32
    epochs: int = 1000

    def activation(self) -> Factory:
        """What makes its activation for a number of channels, as `ResidualMLP` takes it."""
        return partial(ChebyshevLagrange, degree=self.degree, init=self.init)

    def options(self, *, learned: bool = True, **changes: Any) -> dict[str, Any]:
        """The arguments of `train_replicas_`, with some fields changed; `learned` is False for a network without
        learned activations, which has no heights and no curvature.
        """
        own = replace(self, **changes)
        optimizer = Sgd(own.lr, own.momentum, own.momentum > 0, own.weight_decay)
        return {
            "epochs": own.epochs,
            "batch_size": own.batch_size,
            "loss": own.loss,
            "optimizer": replace(optimizer, heights_weight_decay=0.0) if learned else optimizer,
            "curvature": own.curvature if learned else 0.0,
            "clip_norm": own.clip_norm,
        }


RECOMMENDED = Recipe()
"""The recipe of docs/recipe.md."""
