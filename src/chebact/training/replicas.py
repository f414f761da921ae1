"""Train many replicas of a network at once: one batched step instead of R small ones.

A replica has its own parameters, order of the data and loss, and optionally its own data. Replicas are independent: the
losses are added before the backward pass, so the gradient of a replica is that of its own loss, and the optimizer must
be elementwise (SGD, Adam, AdamW, RMSprop, Adagrad; not LBFGS, Adafactor, Muon, or clipping by a norm over all replicas,
which are rejected). So R replicas together are equivalent to R separate trainings, and a replica that becomes NaN does
not affect the others. This also holds if replicas have different numbers of points, as in the folds of a cross
validation (`ragged`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import ConstantLR, CosineAnnealingLR, LRScheduler

from chebact.checks import check_choice, check_integer, check_not_negative, check_positive, must_be
from chebact.curvature import curvature_penalty
from chebact.learned import learned_activations
from chebact.ranges.penalty import DEFAULT_MARGIN, RangePenalty, check_margin
from chebact.recording import evaluation_mode
from chebact.training import fused
from chebact.training.independence import check_network, check_optimizer, make_generators
from chebact.training.losses import (
    Loss,
    absolute_error,
    cross_entropy,
    huber_error,
    per_point,
    scaled_huber_error,
    squared_error,
    takes_weights,
)
from chebact.training.memory import frozen_garbage
from chebact.training.optimizers import AdamW, OptimizerFactory, Sgd, make_optimizer, paper_sgd
from chebact.training.ragged import Batch, check_points, check_weights, freeze_replicas, ragged_batches
from chebact.training.task import Task

__all__ = [
    "ReplicaRun",
    "absolute_error",
    "constant_rate",
    "cosine_by_epoch",
    "cross_entropy",
    "huber_error",
    "paper_sgd",
    "predict_replicas",
    "scaled_huber_error",
    "squared_error",
    "train_replicas_",
]

Schedule = Callable[[Optimizer, int], LRScheduler]


@dataclass(frozen=True)
class ReplicaRun:
    """The result of a training.

    `losses` (epochs, replica) are the mean training losses of each epoch. `failed` (replica,) is True if the loss of a
    replica was not finite; from then on its losses are NaN. `trainer` is the trainer that ran, "fused" or "torch".
    """

    losses: Tensor
    failed: Tensor
    trainer: str = "torch"


def cosine_by_epoch(optimizer: Optimizer, epochs: int) -> LRScheduler:
    """The step size decreases to zero over the epochs, along half a cosine."""
    return CosineAnnealingLR(optimizer, T_max=epochs)


def constant_rate(optimizer: Optimizer, count: int) -> LRScheduler:
    """The step size is constant."""
    return ConstantLR(optimizer, factor=1.0, total_iters=count)


def train_replicas_(
    network: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    order: Sequence[torch.Generator | int],
    points: Sequence[int] | None = None,
    weights: Tensor | None = None,
    epochs: int = 300,
    batch_size: int = 32,
    loss: Loss = absolute_error,
    optimizer: OptimizerFactory | Sgd | AdamW = paper_sgd,
    schedule: Schedule = cosine_by_epoch,
    schedule_by: Literal["epoch", "step"] = "epoch",
    curvature: float = 0.0,
    clip_norm: float | None = None,
    range_penalty: float = 0.0,
    range_margin: float = DEFAULT_MARGIN,
    on_epoch: Callable[[int, Tensor], None] | None = None,
    trainer: Literal["fused", "torch"] | None = None,
) -> ReplicaRun:
    """Train `network` in place, all of its replicas at once.

    `network` maps (replica, batch, features) to (replica, batch, outputs). `x` is (points, features) if all replicas
    use the same data, or (replica, points, features); `y` likewise. `order` has one seed or generator per replica
    (`range(4)` for four), which shuffles its data every epoch. `loss` returns one number per replica (replica,) or one
    per point (replica, batch), which is averaged over the points of a replica. The last batch of an epoch may be
    smaller. `on_epoch(epoch, losses)` is called after each epoch with the mean losses (replica,); an exception that it
    raises ends the training.

    `points` is the number of rows of x and y for each replica; later rows are ignored. A replica with fewer batches
    than the others is idle during their last ones: its parameters and optimizer state do not change.
    This requires a loss with one number per point, and an optimizer without a step count (SGD).

    `weights` (points,) or (replica, points) are sample weights: the loss of a batch is the weighted mean.
    `schedule(optimizer, epochs)` returns a torch scheduler, which is stepped after every epoch; with
    `schedule_by="step"` it is `schedule(optimizer, steps)`, with the steps of all epochs, stepped after every step.

    `curvature` is the weight of `chebact.curvature_penalty`, which is added to the loss of every batch; the returned
    losses do not include it.

    `clip_norm` bounds the gradient: where the Euclidean norm of the gradient of a replica, over all its parameters, is
    larger, it is scaled down to that. None means no bound.

    `range_penalty` is the weight of the penalty of `chebact.range_penalty` on inputs of learned activations outside
    their intervals less `range_margin`, which is added to the loss of every batch; the returned losses do not include
    it. A point counts in its mean as in that of the loss.

    `trainer="fused"` uses the compiled trainer or raises its reason, "torch" uses batched torch operations; None uses
    the compiled trainer if it supports this training. `ReplicaRun.trainer` is the trainer that ran.

    >>> from chebact.networks import ResidualMLP
    >>> seeded = lambda: [torch.Generator().manual_seed(seed) for seed in range(4)]
    >>> network = ResidualMLP.from_table("relu", 1, replicas=4, generator=seeded())
    >>> x = torch.linspace(-1, 1, 100).unsqueeze(1)
    >>> run = train_replicas_(network, x, x.abs(), order=range(4), epochs=20)
    >>> run.losses.shape, bool((run.losses[-1] < run.losses[0]).all()), run.failed.any().item()
    (torch.Size([20, 4]), True, False)
    """
    generators = make_generators(order)
    replicas = len(generators)
    x, y = per_replica(x, replicas, "x"), per_replica(y, replicas, "y")
    check_sizes(x, y, epochs, batch_size)
    check_choice("schedule_by", schedule_by, ("epoch", "step"))
    if trainer is not None:
        check_choice("trainer", trainer, ("fused", "torch"))
    check_network(network, replicas)
    counts = None if points is None else check_points(points, replicas, x.shape[1])
    importance = None if weights is None else check_weights(weights, x, counts)
    if counts is None and importance is not None:
        counts = torch.full((replicas,), x.shape[1])
    stepper = make_optimizer(optimizer, network)
    if not fused.steps_elementwise(stepper):
        check_optimizer(lambda parameters: make_optimizer(optimizer, network), network, replicas)
    steps = -(-(x.shape[1] if counts is None else int(counts.max())) // batch_size)
    scheduler = schedule(stepper, epochs * (1 if schedule_by == "epoch" else steps))
    by_step = schedule_by == "step"
    data, bend = (x, y, importance, counts, generators), check_not_negative("curvature", curvature)
    bound = None if clip_norm is None else check_positive("clip_norm", clip_norm)
    if range_penalty:
        learned_activations(network)  # refuses a network without
    keep = (check_not_negative("range_penalty", range_penalty), check_margin(range_margin, "range_margin"))
    task = Task(network, *data, epochs, batch_size, loss, stepper, scheduler, by_step, bend, bound, *keep)
    network.train()
    compiled = None if trainer == "torch" else fused.prepare(task, by_name=trainer == "fused")
    losses = train_by_torch_(task, on_epoch) if compiled is None else compiled.run(on_epoch)
    name = "torch" if compiled is None else "fused"
    return ReplicaRun(losses.where(losses.isfinite(), torch.nan), ~losses.isfinite().all(dim=0), name)


def train_by_torch_(task: Task, on_epoch: Callable[[int, Tensor], None] | None) -> Tensor:
    """Train with batched torch operations; returns the mean losses (epoch, replica)."""
    x, order, counts = task.x, task.order, task.points
    precision = x.dtype if x.is_floating_point() else torch.get_default_dtype()
    losses = torch.full((task.epochs, len(order)), torch.nan, dtype=precision, device=x.device)
    loss = task.loss if counts is None else per_point(task.loss)
    ranges = RangePenalty(task.network, task.range_margin, weight=task.range_penalty) if task.range_penalty else None
    with frozen_garbage():
        for epoch in range(task.epochs):
            if counts is None:
                batches = shuffled_batches(x, task.y, order, task.batch_size)
            else:
                batches = ragged_batches(x, task.y, order, task.batch_size, counts, task.weights)
            losses[epoch] = train_epoch_(task, batches, loss, ranges)
            if not task.by_step:
                task.scheduler.step()
            if on_epoch is not None:
                on_epoch(epoch, losses[epoch])
            if not losses[epoch].isfinite().any():
                break  # all replicas have diverged
    return losses


def train_epoch_(task: Task, batches: Iterator[Batch], loss: Loss, ranges: RangePenalty | None) -> Tensor:
    """One pass over the batches; returns the mean loss per replica (replica,), not finite if that of a step was not."""
    network, optimizer, clip_norm = task.network, task.optimizer, task.clip_norm
    total, points = torch.zeros(()), torch.zeros(())
    for batch in batches:
        optimizer.zero_grad()
        known = {"weights": batch.weights} if takes_weights(loss) else {}
        with contextlib.nullcontext() if ranges is None else ranges:
            outputs = network(batch.x)
        losses = per_replica_losses(loss(outputs, batch.y, **known), batch)
        penalty: Tensor | float = task.curvature * curvature_penalty(network).sum() if task.curvature else 0.0
        if ranges is not None:
            penalty = penalty + ranges.value(weights=batch.weights)
        torch.autograd.backward(losses.sum() + penalty)
        if clip_norm is not None:
            clip_gradients_(network, len(batch.x), clip_norm)
        with freeze_replicas(network, optimizer, batch.idle):
            optimizer.step()
        if task.by_step:
            task.scheduler.step()
        if batch.counts is None:
            total, points = total + losses.detach() * batch.x.shape[1], points + batch.x.shape[1]
        else:
            total, points = total + losses.detach().where(batch.counts > 0, 0) * batch.counts, points + batch.counts
    return total / points


@torch.no_grad()
def clip_gradients_(network: nn.Module, replicas: int, bound: float) -> None:
    """Scale the gradient of each replica down to a norm of `bound` where it is larger."""
    gradients = [parameter.grad for parameter in network.parameters() if parameter.grad is not None]
    rows = [gradient.reshape(replicas, -1) for gradient in gradients]
    norms = torch.stack([row.square().sum(dim=1) for row in rows]).sum(dim=0).sqrt()
    factors = (bound / norms.clamp(min=bound)).unsqueeze(1)
    for gradient, row in zip(gradients, rows, strict=True):
        gradient.copy_((factors * row).view_as(gradient))


def per_replica_losses(losses: Tensor, batch: Batch) -> Tensor:
    """The losses per replica, (replica,), from losses per replica or per point."""
    if losses.shape == batch.x.shape[:2] and losses.ndim == 2:
        return losses.mean(dim=1) if batch.weights is None else (losses * batch.weights).sum(dim=1)
    if batch.weights is not None:
        shape = tuple(batch.x.shape[:2])
        raise ValueError(must_be("with points, the result of loss", f"one number per point, {shape}", losses.shape))
    if losses.shape != batch.x.shape[:1]:
        shape = tuple(batch.x.shape[:1])
        raise ValueError(must_be("the result of loss", f"one number per replica, {shape}", losses.shape))
    return losses


def shuffled_batches(x: Tensor, y: Tensor, order: Sequence[torch.Generator], batch_size: int) -> Iterator[Batch]:
    """The batches (replica, batch, ...) of one epoch, views of data that is shuffled once."""
    points = x.shape[1]
    permutation = torch.stack([torch.randperm(points, generator=generator) for generator in order]).to(x.device)
    replica = torch.arange(len(order), device=x.device).unsqueeze(1)
    shuffled_x, shuffled_y = x[replica, permutation], y[replica, permutation]
    for start in range(0, points, batch_size):
        yield Batch(shuffled_x[:, start : start + batch_size], shuffled_y[:, start : start + batch_size])


def predict_replicas(network: nn.Module, x: Tensor, replicas: int, batch_size: int = 250) -> Tensor:
    """The predictions (replica, points, outputs) of a network for x (points, features) or (replica, points, features).

    The network runs in evaluation mode, on `batch_size` points at a time to limit the memory.

    >>> from chebact.networks import ResidualMLP
    >>> predict_replicas(ResidualMLP.from_table("tanh", 2, replicas=5), torch.zeros(7, 2), replicas=5).shape
    torch.Size([5, 7, 1])
    """
    with evaluation_mode(network):
        portions = torch.split(per_replica(x, replicas, "x"), batch_size, dim=1)
        return torch.cat([network(portion) for portion in portions], dim=1)


def per_replica(data: Tensor, replicas: int, name: str) -> Tensor:
    """View data that all replicas share, (points, columns), as (replica, points, columns)."""
    if not isinstance(data, Tensor):
        raise TypeError(must_be(name, "a tensor", data, f"pass torch.as_tensor({name})"))
    if data.ndim == 2:
        return data.expand(replicas, *data.shape)
    if data.ndim != 3 or data.shape[0] != replicas:
        raise ValueError(must_be(name, f"(points, columns) or (replica={replicas}, points, columns)", data.shape))
    return data


def check_sizes(x: Tensor, y: Tensor, epochs: int, batch_size: int) -> None:
    if x.shape[0] == 0 or x.shape[1] == 0 or x.shape[:2] != y.shape[:2]:
        raise ValueError(must_be("y", f"of the same points as x, one or more, {tuple(x.shape)}", y.shape))
    check_integer("epochs", epochs, least=1)
    check_integer("batch_size", batch_size, least=1)
