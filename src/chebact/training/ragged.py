"""Replicas with different numbers of points in one batched training: the batches, and the replicas that rest.

A replica's batches are those that it would have alone. Where its last batch has fewer points than those of its
companions, the rest of its rows repeat the first of them with weight zero; where it has no batch left, it rests.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

__all__ = ["Batch", "check_points", "check_weights", "hold", "uneven_batches"]


@dataclass(frozen=True)
class Batch:
    """x (replica, batch, features) and y (replica, batch, outputs) of one step.

    Where the replicas have different numbers of points, `weights` (replica, batch) are 1 / count for a replica's own
    rows and 0 for the others, `counts` (replica,) is how many rows are its own, and `resting` the numbers of the
    replicas that have none. Where points have weights, a row counts as much as its weight and not 1.
    """

    x: Tensor
    y: Tensor
    weights: Tensor | None = None
    counts: Tensor | None = None
    resting: Tensor | None = None


def check_points(points: Sequence[int], replicas: int, rows: int) -> Tensor:
    """The points of each replica as a tensor (replica,); a ValueError unless each has one or more, and x the rows.

    >>> check_points([3, 5], replicas=2, rows=5)
    tensor([3, 5])
    """
    if len(points) != replicas or not all(1 <= count <= rows for count in points):
        raise ValueError(f"points wants a number of 1...{rows} for each of {replicas} replicas; got {list(points)}")
    return torch.tensor(list(points))


def check_weights(weights: Tensor, x: Tensor, points: Tensor | None) -> Tensor:
    """The weights of the points of x (replica, rows, features) as (replica, rows), in its type.

    A ValueError unless those of each replica's own points are finite, none negative, and not all zero.

    >>> check_weights(torch.tensor([1, 2]), torch.zeros(3, 2, 1), None).shape
    torch.Size([3, 2])
    """
    if weights.shape not in (x.shape[1:2], x.shape[:2]):
        wanted = f"(points={x.shape[1]},) or (replica={x.shape[0]}, points={x.shape[1]})"
        raise ValueError(f"weights must have the shape {wanted}, got {tuple(weights.shape)}")
    precision = x.dtype if x.is_floating_point() else torch.get_default_dtype()
    found = weights.detach().to(x.device, precision).expand(x.shape[:2])
    own = torch.arange(x.shape[1], device=x.device) < (x.shape[1] if points is None else points.to(x.device)[:, None])
    used = found.where(own, 0)
    if not (used.isfinite().all() and (used >= 0).all() and (used.sum(dim=1) > 0).all()):
        raise ValueError("weights must be finite, none negative, and not all zero for any replica")
    return found


def uneven_batches(
    x: Tensor,
    y: Tensor,
    order: Sequence[torch.Generator],
    batch_size: int,
    points: Tensor,
    importance: Tensor | None = None,
) -> Iterator[Batch]:
    """The batches of one epoch for x (replica, rows, features) and y (replica, rows, outputs), of whose rows the first
    `points[replica]` count, each as much as its `importance` (replica, rows) if that is given.

    >>> x, y = torch.arange(10.0).view(2, 5, 1), torch.zeros(2, 5, 1)
    >>> order = [torch.Generator().manual_seed(seed) for seed in range(2)]
    >>> [batch.counts.tolist() for batch in uneven_batches(x, y, order, 2, torch.tensor([5, 3]))]
    [[2, 2], [2, 1], [1, 0]]
    """
    rows = int(points.max())
    place = torch.arange(rows)
    start = place // batch_size * batch_size
    own = place < points.unsqueeze(1)
    source = torch.where(own, place, torch.minimum(start, points.unsqueeze(1) - 1))
    counts = (points.unsqueeze(1) - start).clamp(0, batch_size)
    weights = (own.to(x.dtype) / counts.clamp(min=1)).to(x.device)
    permutation = torch.stack([shuffled(int(count), rows, each) for count, each in zip(points, order, strict=True)])
    chosen = permutation.gather(1, source).to(x.device)
    replica = torch.arange(len(order), device=x.device).unsqueeze(1)
    shuffled_x, shuffled_y = x[replica, chosen], y[replica, chosen]
    shuffled_importance = None if importance is None else importance[replica, chosen].where(own.to(x.device), 0)
    for first in range(0, rows, batch_size):
        cut, count = slice(first, first + batch_size), counts[:, first]
        resting = (count == 0).nonzero().flatten().to(x.device)
        share, mass = weights[:, cut], count.to(x.device)
        if shuffled_importance is not None:
            mass = shuffled_importance[:, cut].sum(dim=1)
            share = shuffled_importance[:, cut] / mass.where(mass > 0, 1).unsqueeze(1)
        yield Batch(shuffled_x[:, cut], shuffled_y[:, cut], share, mass, resting)


def shuffled(points: int, rows: int, generator: torch.Generator) -> Tensor:
    """An order of the points, (rows,), filled up with zeros; drawn as that of a replica alone is."""
    return nn.functional.pad(torch.randperm(points, generator=generator), (0, rows - points))


@contextlib.contextmanager
def hold(network: nn.Module, optimizer: Optimizer, resting: Tensor | None) -> Iterator[None]:
    """Within this context, whatever the optimizer does, the replicas that rest stay as they are, its memory too."""
    if resting is None or len(resting) == 0:
        yield
        return
    held = [(tensor, tensor[resting].clone()) for tensor in moving(network, optimizer)]
    yield
    with torch.no_grad():
        for tensor, before in held:
            tensor[resting] = before


def moving(network: nn.Module, optimizer: Optimizer) -> Iterator[Tensor]:
    """All that a step moves: the parameters and what the optimizer keeps of each, replica by replica."""
    for parameter in network.parameters():
        yield parameter.detach()
        for name, kept in optimizer.state.get(parameter, {}).items():
            if isinstance(kept, Tensor) and kept.shape[:1] == parameter.shape[:1]:
                yield kept
            elif kept is not None:
                raise ValueError(
                    f"{type(optimizer).__name__} keeps one {name!r} for all replicas, so none of them can rest: take "
                    "SGD, or a batch_size that gives every replica the same number of batches"
                )
