"""Optimizers as frozen dataclasses, with a separate step size and weight decay for learned activations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from chebact.checks import check_not_negative
from chebact.table import parameter_groups

__all__ = ["AdamW", "OptimizerFactory", "Sgd", "make_optimizer", "paper_sgd"]

OptimizerFactory = Callable[[list[nn.Parameter]], Optimizer]


@dataclass(frozen=True)
class Sgd:
    """Stochastic gradient descent.

    `heights_lr` and `heights_weight_decay` apply to the learned activations; None means the same as for the rest.

    >>> Sgd(lr=0.1, momentum=0.9, nesterov=True, heights_lr=0.01).heights_lr
    0.01
    """

    lr: float = 0.01
    momentum: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0
    heights_lr: float | None = None
    heights_weight_decay: float | None = None

    def for_network(self, network: nn.Module) -> Optimizer:
        """torch's optimizer for the parameters of a network."""
        return torch.optim.SGD(make_groups(self, network), momentum=self.momentum, nesterov=self.nesterov)


@dataclass(frozen=True)
class AdamW:
    """Adam with decoupled weight decay; `heights_lr` and `heights_weight_decay` as for `Sgd`.

    >>> AdamW(lr=0.003).betas
    (0.9, 0.999)
    """

    lr: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 1e-2
    heights_lr: float | None = None
    heights_weight_decay: float | None = None

    def for_network(self, network: nn.Module) -> Optimizer:
        """torch's optimizer for the parameters of a network."""
        return torch.optim.AdamW(make_groups(self, network), betas=self.betas, eps=self.eps)


def make_groups(numbers: Sgd | AdamW, network: nn.Module) -> list[dict[str, Any]]:
    """One parameter group, or two if the learned activations have their own settings."""
    lr, decay = check_not_negative("lr", numbers.lr), check_not_negative("weight_decay", numbers.weight_decay)
    if numbers.heights_lr is None and numbers.heights_weight_decay is None:
        return [{"params": list(network.parameters()), "lr": lr, "weight_decay": decay}]
    rest, heights = parameter_groups(network, lr=lr, weight_decay=decay)
    heights |= {"lr": lr, "weight_decay": decay}
    if numbers.heights_lr is not None:
        heights["lr"] = check_not_negative("heights_lr", numbers.heights_lr)
    if numbers.heights_weight_decay is not None:
        heights["weight_decay"] = check_not_negative("heights_weight_decay", numbers.heights_weight_decay)
    return [rest, heights]


def paper_sgd(
    parameters: list[nn.Parameter], lr: float = 0.01, momentum: float = 0.99, weight_decay: float = 1e-6
) -> Optimizer:
    """SGD as in the synthetic experiments of the paper, in torch's fused implementation."""
    return torch.optim.SGD(parameters, lr=lr, momentum=momentum, weight_decay=weight_decay, fused=True)


def make_optimizer(optimizer: OptimizerFactory | Sgd | AdamW, network: nn.Module) -> Optimizer:
    """torch's optimizer for a network, from a dataclass or from a function of a list of parameters."""
    if isinstance(optimizer, Sgd | AdamW):
        return optimizer.for_network(network)
    return optimizer(list(network.parameters()))
