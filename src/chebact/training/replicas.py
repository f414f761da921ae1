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

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, LRScheduler

from chebact.training.independence import check_network, check_optimizer, make_generators
from chebact.training.memory import frozen_garbage
from chebact.training.ragged import Batch, check_points, hold, uneven_batches

__all__ = [
    "ReplicaRun",
    "absolute_error",
    "cosine_by_epoch",
    "cross_entropy",
    "paper_sgd",
    "predict_replicas",
    "squared_error",
    "train_replicas_",
]

Loss = Callable[[Tensor, Tensor], Tensor]
OptimizerFactory = Callable[[list[nn.Parameter]], Optimizer]
Schedule = Callable[[Optimizer, int], LRScheduler]


@dataclass(frozen=True)
class ReplicaRun:
    """What a training gave: `losses` (epochs, replica), the mean training loss of each epoch, and `failed` (replica,),
    True where the loss left the finite numbers; from there on that replica's losses are NaN.
    """

    losses: Tensor
    failed: Tensor


def absolute_error(prediction: Tensor, target: Tensor) -> Tensor:
    """The L1 loss of each replica: (replica, batch, outputs) twice -> (replica,)."""
    return (prediction - target).abs().mean(dim=(1, 2))


def squared_error(prediction: Tensor, target: Tensor) -> Tensor:
    """The mean squared error of each replica: (replica, batch, outputs) twice -> (replica,)."""
    return (prediction - target).square().mean(dim=(1, 2))


def cross_entropy(prediction: Tensor, target: Tensor) -> Tensor:
    """The cross entropy of each point: (replica, batch, classes) and class numbers (replica, batch, 1) -> (replica,
    batch).
    """
    flat = nn.functional.cross_entropy(prediction.flatten(0, 1), target.flatten(), reduction="none")
    return flat.view(prediction.shape[:2])


def paper_sgd(
    parameters: list[nn.Parameter], lr: float = 0.01, momentum: float = 0.99, weight_decay: float = 1e-6
) -> Optimizer:
    """SGD as the paper's synthetic experiments use it, in torch's fused form: one pass over each parameter."""
    return torch.optim.SGD(parameters, lr=lr, momentum=momentum, weight_decay=weight_decay, fused=True)


def cosine_by_epoch(optimizer: Optimizer, epochs: int) -> LRScheduler:
    """The step size falls along a half cosine to zero over the epochs."""
    return CosineAnnealingLR(optimizer, T_max=epochs)


def train_replicas_(
    network: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    order: Sequence[torch.Generator | int],
    points: Sequence[int] | None = None,
    epochs: int = 300,
    batch_size: int = 32,
    loss: Loss = absolute_error,
    optimizer: OptimizerFactory = paper_sgd,
    schedule: Schedule = cosine_by_epoch,
    on_epoch: Callable[[int, Tensor], None] | None = None,
) -> ReplicaRun:
    """Train `network` in place, all of its replicas at once.

    `network` maps (replica, batch, features) to (replica, batch, outputs). `x` is (points, features) when all
    replicas learn from the same data or (replica, points, features) when each has its own; `y` likewise. `order`
    holds one seed or generator per replica (`range(4)` for four): each shuffles its own data anew every epoch. `loss`
    gives one number per replica, or
    one a point (replica, batch), whose mean over a replica's points counts. The last batch of an epoch is smaller when
    the points do not divide. `on_epoch(epoch, losses)` is called after each epoch with the (replica,) mean losses; an
    exception that it raises ends the training.

    `points` says how many rows of x and y each replica has; what follows them is never looked at. A replica with fewer
    batches than the others rests while they do their last ones: neither its parameters nor the optimizer's memory of
    them move. This wants a loss of one number a point, and an optimizer without a step count of its own (SGD).

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
    check_network(network, replicas)
    check_optimizer(optimizer, network, replicas)
    counts = None if points is None else check_points(points, replicas, x.shape[1])
    stepper = optimizer(list(network.parameters()))
    scheduler = schedule(stepper, epochs)
    precision = x.dtype if x.is_floating_point() else torch.get_default_dtype()
    losses = torch.full((epochs, replicas), torch.nan, dtype=precision, device=x.device)
    network.train()
    with frozen_garbage():
        for epoch in range(epochs):
            if counts is None:
                batches = shuffled_batches(x, y, generators, batch_size)
            else:
                batches = uneven_batches(x, y, generators, batch_size, counts)
            losses[epoch] = train_epoch_(network, batches, loss, stepper)
            scheduler.step()
            if on_epoch is not None:
                on_epoch(epoch, losses[epoch])
            if not losses[epoch].isfinite().any():
                break  # every replica is lost, and stays so
    return ReplicaRun(losses.where(losses.isfinite(), torch.nan), ~losses.isfinite().all(dim=0))


def train_epoch_(network: nn.Module, batches: Iterator[Batch], loss: Loss, optimizer: Optimizer) -> Tensor:
    """One pass over the batches; the mean loss of each replica (replica,), not finite if any step's was not."""
    total, points = torch.zeros(()), torch.zeros(())
    for batch in batches:
        optimizer.zero_grad()
        losses = per_replica_losses(loss(network(batch.x), batch.y), batch)
        torch.autograd.backward(losses.sum())
        with hold(network, optimizer, batch.resting):
            optimizer.step()
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


def check_sizes(x: Tensor, y: Tensor, epochs: int, batch_size: int) -> None:
    if x.shape[0] == 0 or x.shape[1] == 0 or x.shape[:2] != y.shape[:2]:
        raise ValueError(f"x and y must hold the same points, one or more; got {tuple(x.shape)} and {tuple(y.shape)}")
    if epochs < 1 or batch_size < 1:
        raise ValueError(f"epochs and batch_size must be 1 or more; got {epochs} and {batch_size}")
