"""The training of one point of a study: all functions and seeds as replicas of one network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from chebact.activations import ChebyshevLagrange
from chebact.lab.functions import DATASETS, target
from chebact.lab.spec import stream
from chebact.lab.studies.measures import MEASURES, numbers
from chebact.lab.studies.spec import Settings, StudySpec
from chebact.networks.residual_mlp import ResidualMLP
from chebact.training.losses import Loss, absolute_error, scaled_huber_error
from chebact.training.optimizers import Sgd
from chebact.training.replicas import predict_replicas, train_replicas_

__all__ = ["Draw", "draw_data", "study_results"]

COLUMNS = max(row.features for row in DATASETS.values())
MOST_POINTS, TEST_POINTS = 20_000, 2000
LOSSES: dict[str, Loss] = {"absolute": absolute_error, "scaled-huber": scaled_huber_error}


@dataclass(frozen=True)
class Draw:
    """The data of all replicas: x (replica, points, columns) and y (replica, points, 1), the latter with noise for
    training and without for tests.
    """

    x: Tensor
    y: Tensor
    test_x: Tensor
    test_y: Tensor


def study_results(specs: Sequence[StudySpec]) -> list[dict[str, Any]]:
    """Train what the specs of a group share; the results part of the record of each, which is the same."""
    spec = specs[0]
    replicas = [(function, seed) for function in spec.functions for seed in range(spec.seeds)]
    data = draw_data(spec.settings, replicas)
    network = make_network(spec.settings, replicas)
    measure = MEASURES[spec.keep](network, data.test_x)
    run = train_replicas_(
        network,
        data.x,
        data.y,
        order=generators("order", replicas),
        epochs=spec.settings.epochs,
        batch_size=spec.settings.batch_size,
        loss=LOSSES[spec.settings.loss],
        optimizer=optimizer_of(spec.settings),
        curvature=spec.settings.curvature,
    )
    predicted = predict_replicas(network, data.test_x, len(replicas))
    rmse = (predicted.double() - data.test_y.double()).square().mean(dim=(1, 2)).sqrt()
    failed = run.failed | ~rmse.isfinite()
    more = measure(failed, [function for function, _ in replicas], data)
    found = [
        {"function": function, "rmse": numbers(rmse[own], failed[own]), **more(own)}
        for function, own in slices_of(spec)
    ]
    return [{"parameters": spec.settings.parameters(), "trainer": run.trainer, "functions": found} for _ in specs]


def slices_of(spec: StudySpec) -> list[tuple[str, slice]]:
    """The replicas of each function."""
    return [
        (function, slice(index * spec.seeds, (index + 1) * spec.seeds)) for index, function in enumerate(spec.functions)
    ]


def generators(purpose: str, replicas: Sequence[tuple[str, int]]) -> list[torch.Generator]:
    """One generator per function and seed, the same in all studies."""
    return [stream("studies", purpose, *replica) for replica in replicas]


def make_network(settings: Settings, replicas: Sequence[tuple[str, int]]) -> ResidualMLP:
    """The network, with a replica per function and seed."""
    ends = (-settings.interval, settings.interval)
    learned = partial(
        ChebyshevLagrange, degree=settings.degree, tails=settings.tails, interval=ends, init=settings.init
    )
    return ResidualMLP(
        COLUMNS,
        activation=learned if settings.activation == "learned" else settings.activation,
        width=settings.width,
        blocks=settings.blocks,
        replicas=len(replicas),
        used_features=[DATASETS[function].features for function, _ in replicas],
        generator=generators("start", replicas),
    )


def optimizer_of(settings: Settings) -> Sgd:
    """The optimizer of a recipe."""
    lr, momentum, decay = settings.learning_rate, settings.momentum, settings.weight_decay
    return Sgd(lr, momentum, settings.nesterov, decay, heights_weight_decay=settings.heights_decay)


def draw_data(settings: Settings, replicas: Sequence[tuple[str, int]]) -> Draw:
    """A draw of our own for each function and seed. Fewer points are the first of more, and noise of another
    deviation is the same noise, longer or shorter.
    """
    parts = [draw_one(function, seed, settings.points, settings.noise) for function, seed in replicas]
    return Draw(*(torch.stack(each) for each in zip(*parts, strict=True)))


def draw_one(function: str, seed: int, points: int, noise: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    features = DATASETS[function].features
    x = torch.rand(MOST_POINTS, features, generator=stream("studies", "x", function, seed))[:points] * 2 - 1
    disturbance = torch.randn(MOST_POINTS, 1, generator=stream("studies", "noise", function, seed))[:points]
    test_x = torch.rand(TEST_POINTS, features, generator=stream("studies", "test", function, seed)) * 2 - 1
    y, test_y = (target(function, each, "released") for each in (x, test_x))
    return widen(x), y + noise * disturbance, widen(test_x), test_y


def widen(x: Tensor) -> Tensor:
    """x with zero columns up to the most features that a function has."""
    return torch.nn.functional.pad(x, (0, COLUMNS - x.shape[1]))
