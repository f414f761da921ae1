"""Train many replicas of a network at once: one batched step in place of R small ones.

A replica has its own parameters, its own order of the data, its own loss, and if need be its own data. Nothing flows
between replicas: the losses are added before the backward pass, so each replica's gradient is that of its own loss,
and the optimizer must work elementwise (SGD, Adam, AdamW, RMSprop, Adagrad do; LBFGS, Adafactor, Muon, and clipping by
a norm over all replicas do not, and are refused). So R replicas together are R runs alone, and one that turns NaN takes
only itself along. That holds too where the replicas have different numbers of points, as the folds of a cross
validation have (`ragged`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import ConstantLR, CosineAnnealingLR, LRScheduler

from chebact.checks import check_not_negative
from chebact.curvature import curvature_penalty
from chebact.training import fused
from chebact.training.independence import check_network, check_optimizer, make_generators
from chebact.training.losses import Loss, absolute_error, cross_entropy, huber_error, per_point, squared_error
from chebact.training.memory import frozen_garbage
from chebact.training.optimizers import AdamW, OptimizerFactory, Sgd, make_optimizer, paper_sgd
from chebact.training.ragged import Batch, check_points, check_weights, hold, uneven_batches
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
    "squared_error",
    "train_replicas_",
]

Schedule = Callable[[Optimizer, int], LRScheduler]


@dataclass(frozen=True)
class ReplicaRun:
    """What a training gave: `losses` (epochs, replica), the mean training loss of each epoch, and `failed` (replica,),
    True where the loss left the finite numbers; from there on that replica's losses are NaN. `trainer` is the one that
    ran, "fused" or "torch".
    """

    losses: Tensor
    failed: Tensor
    trainer: str = "torch"


def cosine_by_epoch(optimizer: Optimizer, epochs: int) -> LRScheduler:
    """The step size falls along a half cosine to zero over the epochs."""
    return CosineAnnealingLR(optimizer, T_max=epochs)


def constant_rate(optimizer: Optimizer, count: int) -> LRScheduler:
    """The step size stays as it is."""
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
    on_epoch: Callable[[int, Tensor], None] | None = None,
    trainer: Literal["fused", "torch"] | None = None,
) -> ReplicaRun:
    """Train `network` in place, all of its replicas at once.

    `network` maps (replica, batch, features) to (replica, batch, outputs). `x` is (points, features) when all
    replicas learn from the same data or (replica, points, features) when each has its own; `y` likewise. `order`
    holds one seed or generator per replica (`range(4)` for four): each shuffles its own data every epoch. `loss`
    gives one number per replica, or
    one a point (replica, batch), whose mean over a replica's points counts. The last batch of an epoch is smaller when
    the points do not divide. `on_epoch(epoch, losses)` is called after each epoch with the (replica,) mean losses; an
    exception that it raises ends the training.

    `points` says how many rows of x and y each replica has; what follows them is never looked at. A replica with fewer
    batches than the others rests while they do their last ones: neither its parameters nor the optimizer's memory of
    them move. This wants a loss of one number a point, and an optimizer without a step count of its own (SGD).

    `weights` (points,) or (replica, points) says how much each point counts: the loss of a batch is the mean with these
    weights. `schedule(optimizer, epochs)` makes a scheduler of torch's that is stepped after every epoch; with
    `schedule_by="step"` it is `schedule(optimizer, steps)`, of all epochs together, stepped after every step.

    `curvature` is the weight of `chebact.curvature_penalty` beside the loss of every batch; the losses that are given
    back are without it.

    `trainer="fused"` trains by the compiled trainer or raises its reason, "torch" by batched operations of torch; None
    takes the first where it serves this training. `ReplicaRun.trainer` says which it was.

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
    check_choices(schedule_by, trainer)
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
    task = Task(network, *data, epochs, batch_size, loss, stepper, scheduler, by_step, bend)
    network.train()
    compiled = None if trainer == "torch" else fused.prepare(task, by_name=trainer == "fused")
    losses = train_by_torch_(task, on_epoch) if compiled is None else compiled.run(on_epoch)
    name = "torch" if compiled is None else "fused"
    return ReplicaRun(losses.where(losses.isfinite(), torch.nan), ~losses.isfinite().all(dim=0), name)


def train_by_torch_(task: Task, on_epoch: Callable[[int, Tensor], None] | None) -> Tensor:
    """Train by batched operations of torch; the mean losses (epoch, replica)."""
    x, order, counts = task.x, task.order, task.points
    precision = x.dtype if x.is_floating_point() else torch.get_default_dtype()
    losses = torch.full((task.epochs, len(order)), torch.nan, dtype=precision, device=x.device)
    loss = task.loss if counts is None else per_point(task.loss)
    with frozen_garbage():
        for epoch in range(task.epochs):
            if counts is None:
                batches = shuffled_batches(x, task.y, order, task.batch_size)
            else:
                batches = uneven_batches(x, task.y, order, task.batch_size, counts, task.weights)
            each_step = task.scheduler if task.by_step else None
            losses[epoch] = train_epoch_(task.network, batches, loss, task.optimizer, each_step, task.curvature)
            if not task.by_step:
                task.scheduler.step()
            if on_epoch is not None:
                on_epoch(epoch, losses[epoch])
            if not losses[epoch].isfinite().any():
                break  # every replica is lost, and stays so
    return losses


def train_epoch_(
    network: nn.Module,
    batches: Iterator[Batch],
    loss: Loss,
    optimizer: Optimizer,
    scheduler: LRScheduler | None = None,
    curvature: float = 0.0,
) -> Tensor:
    """One pass over the batches; the mean loss of each replica (replica,), not finite if any step's was not.

    A `scheduler` is stepped after every batch.
    """
    total, points = torch.zeros(()), torch.zeros(())
    for batch in batches:
        optimizer.zero_grad()
        losses = per_replica_losses(loss(network(batch.x), batch.y), batch)
        bent = curvature * curvature_penalty(network).sum() if curvature else 0.0
        torch.autograd.backward(losses.sum() + bent)
        with hold(network, optimizer, batch.resting):
            optimizer.step()
        if scheduler is not None:
            scheduler.step()
        if batch.counts is None:
            total, points = total + losses.detach() * batch.x.shape[1], points + batch.x.shape[1]
        else:
            total, points = total + losses.detach().where(batch.counts > 0, 0) * batch.counts, points + batch.counts
    return total / points


def per_replica_losses(losses: Tensor, batch: Batch) -> Tensor:
    """The mean over each replica's own points, (replica,), of a loss that may come so already."""
    if losses.shape == batch.x.shape[:2] and losses.ndim == 2:
        return losses.mean(dim=1) if batch.weights is None else (losses * batch.weights).sum(dim=1)
    if batch.weights is not None:
        wanted = tuple(batch.x.shape[:2])
        raise ValueError(f"with `points`, loss must give one number a point, {wanted}; got {tuple(losses.shape)}")
    if losses.shape != batch.x.shape[:1]:
        raise ValueError(f"loss must give one number a replica, ({batch.x.shape[0]},); got {tuple(losses.shape)}")
    return losses


def shuffled_batches(x: Tensor, y: Tensor, order: Sequence[torch.Generator], batch_size: int) -> Iterator[Batch]:
    """Batches (replica, batch, ...) of one epoch; the data are gathered once and the batches are views of that."""
    points = x.shape[1]
    permutation = torch.stack([torch.randperm(points, generator=generator) for generator in order]).to(x.device)
    replica = torch.arange(len(order), device=x.device).unsqueeze(1)
    shuffled_x, shuffled_y = x[replica, permutation], y[replica, permutation]
    for start in range(0, points, batch_size):
        yield Batch(shuffled_x[:, start : start + batch_size], shuffled_y[:, start : start + batch_size])


@torch.no_grad()
def predict_replicas(network: nn.Module, x: Tensor, replicas: int, batch_size: int = 250) -> Tensor:
    """The predictions (replica, points, outputs) of a network for x (points, features) or (replica, points, features).

    The network is put into evaluation mode for the while; the points go through it in portions, to bound the memory.

    >>> from chebact.networks import ResidualMLP
    >>> predict_replicas(ResidualMLP.from_table("tanh", 2, replicas=5), torch.zeros(7, 2), replicas=5).shape
    torch.Size([5, 7, 1])
    """
    was_training = network.training
    network.eval()
    try:
        portions = torch.split(per_replica(x, replicas, "x"), batch_size, dim=1)
        return torch.cat([network(portion) for portion in portions], dim=1)
    finally:
        network.train(was_training)


def per_replica(data: Tensor, replicas: int, name: str) -> Tensor:
    """View data that all replicas share, (points, columns), as (replica, points, columns)."""
    if not isinstance(data, Tensor):
        raise TypeError(f"{name} must be a tensor, got {type(data).__name__}; pass torch.as_tensor({name})")
    if data.ndim == 2:
        return data.expand(replicas, *data.shape)
    if data.ndim != 3 or data.shape[0] != replicas:
        wanted = f"(points, columns) or (replica={replicas}, points, columns)"
        raise ValueError(f"{name} must have the shape {wanted}; got {tuple(data.shape)}")
    return data


def check_choices(schedule_by: str, trainer: str | None) -> None:
    if schedule_by not in ("epoch", "step"):
        raise ValueError(f"schedule_by must be 'epoch' or 'step', got {schedule_by!r}")
    if trainer not in (None, "fused", "torch"):
        raise ValueError(f"trainer must be 'fused', 'torch' or None, got {trainer!r}")


def check_sizes(x: Tensor, y: Tensor, epochs: int, batch_size: int) -> None:
    if x.shape[0] == 0 or x.shape[1] == 0 or x.shape[:2] != y.shape[:2]:
        raise ValueError(f"x and y must hold the same points, one or more; got {tuple(x.shape)} and {tuple(y.shape)}")
    if epochs < 1 or batch_size < 1:
        raise ValueError(f"epochs and batch_size must be 1 or more; got {epochs} and {batch_size}")
