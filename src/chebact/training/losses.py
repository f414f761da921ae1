"""Losses with one number per replica, or one per point, whose mean over the points of a replica is used."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from chebact.checks import check_number

__all__ = ["Loss", "absolute_error", "cross_entropy", "huber_error", "per_point", "squared_error"]

Loss = Callable[[Tensor, Tensor], Tensor]


def absolute_error(prediction: Tensor, target: Tensor) -> Tensor:
    """The L1 loss of each replica: (replica, batch, outputs) twice -> (replica,)."""
    return (prediction - target).abs().mean(dim=(1, 2))


def squared_error(prediction: Tensor, target: Tensor) -> Tensor:
    """The mean squared error of each replica: (replica, batch, outputs) twice -> (replica,)."""
    return (prediction - target).square().mean(dim=(1, 2))


def huber_error(prediction: Tensor, target: Tensor, delta: float = 1.0) -> Tensor:
    """Huber's loss of each point: half the square up to a distance of `delta`, linear beyond.

    (replica, batch, outputs) twice -> (replica, batch), the mean over the outputs. `functools.partial` sets `delta`.
    """
    each = nn.functional.huber_loss(prediction, target, reduction="none", delta=check_number("delta", delta))
    return each.mean(dim=2)


def cross_entropy(prediction: Tensor, target: Tensor) -> Tensor:
    """The cross entropy of each point: (replica, batch, classes) and labels (replica, batch, 1) -> (replica, batch)."""
    flat = nn.functional.cross_entropy(prediction.flatten(0, 1), target.flatten(), reduction="none")
    return flat.view(prediction.shape[:2])


def per_point(loss: Loss) -> Loss:
    """The loss with one number per point instead of one per replica; other losses are returned unchanged.

    >>> import torch
    >>> per_point(absolute_error)(torch.zeros(2, 5, 1), torch.ones(2, 5, 1)).shape
    torch.Size([2, 5])
    """
    if loss is absolute_error:
        return lambda prediction, target: (prediction - target).abs().mean(dim=2)
    if loss is squared_error:
        return lambda prediction, target: (prediction - target).square().mean(dim=2)
    return loss
