"""Ragged batches: replicas with different numbers of points in one batched training.

Each replica has the batches that it would have when trained separately. A shorter batch is padded with copies of its
first row at weight zero; a replica without a batch left is idle.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from chebact.checks import must_be

__all__ = ["Batch", "check_points", "check_weights", "freeze_replicas", "ragged_batches"]


@dataclass(frozen=True)
class Batch:
    """x (replica, batch, features) and y (replica, batch, outputs) of one step.

    If the replicas have different numbers of points, `weights` (replica, batch) are 1 / count for the rows of a replica
    and 0 for padding, `counts` (replica,) is the number of its rows, and `idle` are the indices of the replicas
    without rows. With sample weights a row counts by its weight instead of 1.
    """

    x: Tensor
    y: Tensor
    weights: Tensor | None = None
    counts: Tensor | None = None
    idle: Tensor | None = None


def check_points(points: Sequence[int], replicas: int, rows: int) -> Tensor:
    """The number of points of each replica as a tensor (replica,), each between 1 and `rows`.

    >>> check_points([3, 5], replicas=2, rows=5)
    tensor([3, 5])
    """
    if len(points) != replicas or not all(1 <= count <= rows for count in points):
        raise ValueError(must_be("points", f"{replicas} numbers, one per replica, between 1 and {rows}", points))
    return torch.tensor(list(points))


def check_weights(weights: Tensor, x: Tensor, points: Tensor | None) -> Tensor:
    """The weights of the points of x (replica, rows, features) as (replica, rows), in the type of x.

    They must be finite and not negative, and not all zero for any replica.

    >>> check_weights(torch.tensor([1, 2]), torch.zeros(3, 2, 1), None).shape
    torch.Size([3, 2])
    """
    if weights.shape not in (x.shape[1:2], x.shape[:2]):
        shapes = f"(points={x.shape[1]},) or (replica={x.shape[0]}, points={x.shape[1]})"
        raise ValueError(must_be("weights", shapes, weights.shape))
    precision = x.dtype if x.is_floating_point() else torch.get_default_dtype()
    found = weights.detach().to(x.device, precision).expand(x.shape[:2])
    valid = torch.arange(x.shape[1], device=x.device) < (x.shape[1] if points is None else points.to(x.device)[:, None])
    used = found.where(valid, 0)
    if not (used.isfinite().all() and (used >= 0).all() and (used.sum(dim=1) > 0).all()):
        raise ValueError(must_be("weights", "finite, not negative, and not all zero for any replica", weights))
    return found


def ragged_batches(
    x: Tensor,
    y: Tensor,
    order: Sequence[torch.Generator],
    batch_size: int,
    points: Tensor,
    importance: Tensor | None = None,
) -> Iterator[Batch]:
    """The batches of one epoch for x (replica, rows, features) and y (replica, rows, outputs).

    Each replica has the first `points[replica]` rows, weighted by `importance` (replica, rows) if it is set.

    >>> x, y = torch.arange(10.0).view(2, 5, 1), torch.zeros(2, 5, 1)
    >>> order = [torch.Generator().manual_seed(seed) for seed in range(2)]
    >>> [batch.counts.tolist() for batch in ragged_batches(x, y, order, 2, torch.tensor([5, 3]))]
    [[2, 2], [2, 1], [1, 0]]
    """
    rows = int(points.max())
    row = torch.arange(rows)
    start = row // batch_size * batch_size
    valid = row < points.unsqueeze(1)
    source = torch.where(valid, row, torch.minimum(start, points.unsqueeze(1) - 1))
    counts = (points.unsqueeze(1) - start).clamp(0, batch_size)
    weights = (valid.to(x.dtype) / counts.clamp(min=1)).to(x.device)
    permutation = torch.stack([shuffle(int(count), rows, each) for count, each in zip(points, order, strict=True)])
    chosen = permutation.gather(1, source).to(x.device)
    replica = torch.arange(len(order), device=x.device).unsqueeze(1)
    shuffled_x, shuffled_y = x[replica, chosen], y[replica, chosen]
    shuffled_importance = None if importance is None else importance[replica, chosen].where(valid.to(x.device), 0)
    for first in range(0, rows, batch_size):
        cut, count = slice(first, first + batch_size), counts[:, first]
        idle = (count == 0).nonzero().flatten().to(x.device)
        share, mass = weights[:, cut], count.to(x.device)
        if shuffled_importance is not None:
            mass = shuffled_importance[:, cut].sum(dim=1)
            share = shuffled_importance[:, cut] / mass.where(mass > 0, 1).unsqueeze(1)
        yield Batch(shuffled_x[:, cut], shuffled_y[:, cut], share, mass, idle)


def shuffle(points: int, rows: int, generator: torch.Generator) -> Tensor:
    """A permutation of the points, padded with zeros to (rows,); the same as in a separate training."""
    return nn.functional.pad(torch.randperm(points, generator=generator), (0, rows - points))


@contextlib.contextmanager
def freeze_replicas(network: nn.Module, optimizer: Optimizer, idle: Tensor | None) -> Iterator[None]:
    """Inside the block the parameters and the optimizer state of idle replicas do not change."""
    if idle is None or len(idle) == 0:
        yield
        return
    saved = [(tensor, tensor[idle].clone()) for tensor in training_state(network, optimizer)]
    yield
    with torch.no_grad():
        for tensor, before in saved:
            tensor[idle] = before


def training_state(network: nn.Module, optimizer: Optimizer) -> Iterator[Tensor]:
    """Everything that a step changes: the parameters and their optimizer state, with the replica axis first."""
    for parameter in network.parameters():
        yield parameter.detach()
        for name, state in optimizer.state.get(parameter, {}).items():
            if isinstance(state, Tensor) and state.shape[:1] == parameter.shape[:1]:
                yield state
            elif state is not None:
                raise ValueError(
                    f"optimizer must keep {name!r} per replica if one is idle, got {type(optimizer).__name__}; use "
                    "SGD, or a batch_size with the same number of batches for every replica"
                )
