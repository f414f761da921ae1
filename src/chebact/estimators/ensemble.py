"""Replicas of one network as an ensemble: each from a start of its own, without the rows that it leaves out."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor, nn

from chebact.estimators.watching import Watch
from chebact.learned import LearnedActivation
from chebact.networks import ResidualMLP
from chebact.table import Factory, make_activation, paper_activation
from chebact.training import RECOMMENDED, predict_replicas, train_replicas_
from chebact.training.losses import Loss

__all__ = ["Fit", "Lesson", "fit_ensemble", "make_network", "outputs_of"]

Array = Any
SMALLER = 0.25  # the step of a replica that diverged, when it is trained again
TRIES = 3
BOUND = 1.0  # of the gradient's norm: tables have outliers and columns of all kinds
CURVED = 3  # the least degree with a curvature penalty by default: below, tables are learned better without


@dataclass(frozen=True)
class Lesson:
    """What is learned, and how: x (row, features), y (row, targets), perhaps weights (row,), scaled; the rows that each
    replica leaves out (replica, count); one seed per replica. `settings` is the estimator with its parameters.
    """

    x: Tensor
    y: Tensor
    weights: Tensor | None
    left_out: Array
    seeds: Sequence[int]
    outputs: int
    loss: Loss
    settings: Any
    learning_rate: float
    epochs: int = 1
    degree: int = RECOMMENDED.degree
    weight_decay: float = 0.0

    def of_replicas(self, chosen: Sequence[int], learning_rate: float) -> Lesson:
        """The same for some of the replicas, with another step."""
        seeds = [self.seeds[replica] for replica in chosen]
        return replace(self, left_out=self.left_out[chosen], seeds=seeds, learning_rate=learning_rate)


@dataclass(frozen=True)
class Fit:
    """A trained network; its mean training losses (epoch, replica); what it gives for the rows that each replica left
    out (replica, count, outputs), and which these are (replica, count).
    """

    network: ResidualMLP
    losses: Array
    left_out: Array
    outputs: Array
    degree: int
    weight_decay: float


def fit_ensemble(lesson: Lesson, start: ResidualMLP | None = None) -> Fit:
    """Train the replicas, from the parameters of `start` if that is given. One that diverges is trained again with a
    smaller step, and left out with a warning where that does not help.
    """
    network, losses = train(lesson, start)
    lost, step = diverged(losses), lesson.learning_rate
    for _ in range(TRIES):
        if not lost:
            break
        step *= SMALLER
        again, own = train(lesson.of_replicas(lost, step), None)
        copy_replicas_(network, lost, again, range(len(lost)))
        losses[: len(own), lost] = own
        lost = [lost[place] for place in diverged(own)]
    kept = [replica for replica in range(len(lesson.seeds)) if replica not in lost]
    if not kept:
        raise ValueError(
            f"learning_rate must be smaller for these data, got {lesson.settings.learning_rate}: all "
            f"{len(lost)} networks diverged, and so they did with steps down to {step:g}"
        )
    if lost:
        warnings.warn(f"{len(lost)} of {len(lesson.seeds)} networks diverged and are left out", ConvergenceWarning, 4)
        seeds = [lesson.seeds[replica] for replica in kept]
        network, whole = network_of(lesson, seeds), network
        copy_replicas_(network, range(len(kept)), whole, kept)
    left_out = lesson.left_out[kept]
    outputs = outputs_of(network, lesson.x.numpy()[left_out])
    return Fit(network, losses[:, kept], left_out, outputs, lesson.degree, lesson.weight_decay)


def train(lesson: Lesson, start: ResidualMLP | None) -> tuple[ResidualMLP, Array]:
    """The network of a lesson, trained, and its losses (epoch, replica)."""
    replicas = len(lesson.seeds)
    network = network_of(lesson, lesson.seeds)
    if start is not None:
        copy_replicas_(network, range(replicas), start, range(replicas))
    own = own_rows(lesson)
    weights = None if lesson.weights is None else lesson.weights[own]
    shared = lesson.left_out.shape[1] == 0
    x, y = (lesson.x, lesson.y) if shared else (lesson.x[own], lesson.y[own])
    watch = Watch.of(lesson, network)
    run = partial(
        train_replicas_,
        network,
        x,
        y,
        order=[torch.Generator().manual_seed(seed + 1) for seed in lesson.seeds],
        weights=weights,
        **options_of(lesson, network, own.shape[1]),
    )
    losses = run().losses if watch is None else watch.follow(run)
    return network, losses.double().numpy()


def options_of(lesson: Lesson, network: ResidualMLP, count: int) -> dict[str, Any]:
    """The recommended recipe with the settings of a lesson, for `count` rows per replica."""
    settings = lesson.settings
    degrees = [module.basis.degree for module in network.modules() if isinstance(module, LearnedActivation)]
    usual = RECOMMENDED.curvature if min(degrees, default=0) >= CURVED else 0.0
    return RECOMMENDED.options(
        learned=bool(degrees),
        epochs=lesson.epochs,
        batch_size=-(-count // -(-count // settings.batch_size)),  # even batches: one of a single row is a wild step
        loss=lesson.loss,
        lr=lesson.learning_rate,
        momentum=settings.momentum,
        weight_decay=lesson.weight_decay,
        clip_norm=BOUND,
        curvature=usual if settings.curvature == "auto" else settings.curvature,
    )


def own_rows(lesson: Lesson) -> Array:
    """The rows that each replica learns from, (replica, count)."""
    rows = numpy.arange(len(lesson.x))
    return numpy.stack([numpy.setdiff1d(rows, left, assume_unique=True) for left in lesson.left_out])


def diverged(losses: Array) -> list[int]:
    """The replicas whose loss (epoch, replica) left the finite numbers, or ended far above where it began."""
    last = losses[numpy.isfinite(losses).any(axis=1)][-1:] if len(losses) else losses
    if not len(last):
        return list(range(losses.shape[1]))
    fine = numpy.isfinite(losses).all(axis=0) & (last[0] <= 4 * losses[0] + 1e-3)
    return [int(replica) for replica in numpy.flatnonzero(~fine)]


def network_of(lesson: Lesson, seeds: Sequence[int]) -> ResidualMLP:
    """The network of a lesson at its start."""
    return make_network(lesson.settings, lesson.degree, lesson.x.shape[1], lesson.outputs, seeds)


def make_network(settings: Any, degree: int, features: int, outputs: int, seeds: Sequence[int]) -> ResidualMLP:
    """The network of an estimator, with a replica per seed."""
    return ResidualMLP(
        features,
        outputs,
        activation=activation_of(settings),
        width=settings.width,
        blocks=settings.blocks,
        degree=degree if isinstance(settings.activation, str) else None,
        replicas=len(seeds),
        generator=[torch.Generator().manual_seed(seed) for seed in seeds],
    )


def activation_of(settings: Any) -> Factory:
    """The activation with its start; one without learned heights has none."""
    if not isinstance(settings.activation, str):
        factory: Factory = settings.activation
        return factory
    named = paper_activation(settings.activation)
    learned = "init" in getattr(named, "keywords", {})
    return partial(make_activation, settings.activation, init=settings.init) if learned else named


@torch.no_grad()
def copy_replicas_(network: nn.Module, places: Sequence[int], source: nn.Module, chosen: Sequence[int]) -> None:
    """Set replicas of a network to those of another with the same layers."""
    pairs = list(zip_longest(network.parameters(), source.parameters()))
    if any(a is None or b is None or a.shape[1:] != b.shape[1:] for a, b in pairs):
        raise ValueError("warm_start must find the width, blocks and degree of the fit before, got others; fit a clone")
    for parameter, other in pairs:
        parameter[list(places)] = other[list(chosen)]


def outputs_of(network: ResidualMLP, x: Array) -> Array:
    """What a network gives for scaled x (row, features) or (replica, row, features): (replica, row, outputs).

    In float64, so that a row has the same result alone and among others.
    """
    double = copy.deepcopy(network).double()
    replicas = network.first.replicas
    assert replicas is not None
    if x.shape[-2] == 0:
        return numpy.zeros((replicas, 0, network.last.out_features))
    result: Array = predict_replicas(double, torch.from_numpy(x.astype(numpy.float64)), replicas).numpy()
    return result
