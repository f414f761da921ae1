"""Losses with one number per replica, or one per point, whose mean over the points of a replica is used."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from chebact.checks import check_number

__all__ = [
    "Loss",
    "absolute_error",
    "cross_entropy",
    "huber_error",
    "per_point",
    "scaled_huber_error",
    "squared_error",
    "takes_weights",
]

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


def scaled_huber_error(
    prediction: Tensor, target: Tensor, multiple: float = 2.5, weights: Tensor | None = None
) -> Tensor:
    """Huber's loss of each point with a threshold that falls with the error: `multiple` times the mean distance of the
    batch, in the unit of the target: (replica, batch, outputs) twice -> (replica, batch), the mean over the outputs.

    The gradient is that of the absolute error for far points, so it is bounded, and goes to zero with the distance for
    near ones, so Gaussian noise is averaged as the squared error does; both at any scale of the target. The threshold
    counts as a constant. `weights` (replica, batch), which add up to one, are those of the mean distance.

    >>> scaled_huber_error(torch.tensor([[[0.0], [4.0]]]), torch.tensor([[[1.0], [1.0]]]), multiple=1.0)
    tensor([[0.2500, 2.0000]])
    """
    far = (prediction - target).abs()
    means = far.detach().mean(dim=2, keepdim=True)
    mean = means.mean(dim=1, keepdim=True) if weights is None else (weights.unsqueeze(2) * means).sum(1, keepdim=True)
    bend = check_number("multiple", multiple) * mean
    near = far < bend
    return torch.where(near, far.square() / (2 * bend.where(bend > 0, 1)), far - bend / 2).mean(dim=2)


def takes_weights(loss: Loss) -> bool:
    """Whether a loss must know the weights of the points of a batch."""
    return getattr(loss, "func", loss) is scaled_huber_error


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
