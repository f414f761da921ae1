"""Train and test one model on all seeds and folds: networks as replicas of one batched network, the others in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from chebact.lab.clinical.baselines import make_baseline
from chebact.lab.clinical.classification import Counts, counted
from chebact.lab.clinical.fold_inputs import Choices, Prepared, prepared
from chebact.lab.clinical.spec import BaselineCohort, NetworkCohort
from chebact.lab.clinical.table import Recordings
from chebact.lab.spec import stream
from chebact.networks import ResidualMLP
from chebact.table import paper_activation
from chebact.training.replicas import ReplicaRun, cross_entropy, paper_sgd, predict_replicas, train_replicas_

__all__ = ["baseline_results", "network_of", "network_results", "train_folds"]

TOGETHER = 100  # replicas in one batch, in whole seeds: enough to hide the overhead of a step, few enough for the cache
JOINS: dict[str, Literal["mean", "add"]] = {"average": "mean", "add": "add"}
CLASSES = 2


def network_of(cohort: NetworkCohort, features: int, **options: Any) -> ResidualMLP:
    """The paper's clinical network: Linear, two blocks of two [activation, Linear] joined with their input, Linear."""
    shape: dict[str, Any] = {
        "activation": paper_activation(cohort.model),
        "width": cohort.width,
        "shortcut": JOINS[cohort.shortcut],
    }
    return ResidualMLP(features, CLASSES, blocks=2, layers=2, last_activation=False, **shape, **options)


def generators(
    cohort: NetworkCohort, purpose: Literal["start", "order"], seeds: Sequence[int]
) -> list[torch.Generator]:
    """One generator for each fold of each seed."""
    words = ("clinical", purpose, cohort.model, cohort.width)
    return [stream(*words, seed, fold) for seed in seeds for fold in range(cohort.folds)]


def train_folds(
    cohort: NetworkCohort, seeds: Sequence[int], folds: Sequence[Prepared], dtype: torch.dtype = torch.float32
) -> tuple[ReplicaRun, list[Tensor]]:
    """Train all folds of some seeds as one batch; the run, and the outputs (recording, class) for each test side."""
    used = [fold.train_x.shape[1] for fold in folds]
    network = network_of(
        cohort, max(used), replicas=len(folds), used_features=used, generator=generators(cohort, "start", seeds)
    ).to(dtype)
    lr, momentum, decay = cohort.learning_rate, cohort.momentum, cohort.weight_decay
    run = train_replicas_(
        network,
        stacked([fold.train_x for fold in folds], dtype),
        stacked([fold.train_y[:, None] for fold in folds], torch.long),
        points=[len(fold.train_y) for fold in folds],
        order=generators(cohort, "order", seeds),
        epochs=cohort.epochs,
        batch_size=cohort.batch_size,
        loss=cross_entropy,
        optimizer=partial(paper_sgd, lr=lr, momentum=momentum, weight_decay=decay),
    )
    outputs = predict_replicas(network, stacked([fold.test_x for fold in folds], dtype), len(folds))
    return run, [output[: len(fold.test_y)] for output, fold in zip(outputs, folds, strict=True)]


def stacked(tables: Sequence[Any], dtype: torch.dtype) -> Tensor:
    """Tables (row, column) of several sizes as one (replica, row, column), with zeros around."""
    rows, columns = (max(table.shape[axis] for table in tables) for axis in (0, 1))
    whole = torch.zeros(len(tables), rows, columns, dtype=dtype)
    for replica, table in zip(whole, tables, strict=True):
        replica[: table.shape[0], : table.shape[1]] = torch.from_numpy(table).to(dtype)
    return whole


def network_results(table: Recordings, cohort: NetworkCohort, choices: Choices | None = None) -> dict[str, Any]:
    """The results part of a network's record. Which seeds are trained together follows from the spec."""
    size, found = max(1, TOGETHER // cohort.folds), []
    for first in range(0, cohort.seeds, size):
        seeds = range(first, min(first + size, cohort.seeds))
        found += list(seed_results(cohort, seeds, [prepared(table, cohort, seed, choices) for seed in seeds]))
    whole = sum(p.numel() for p in network_of(cohort, cohort.features).parameters())
    return {"parameters": whole if choices is None else None, "seeds": found}  # each fold chose a size of its own


def seed_results(
    cohort: NetworkCohort, seeds: Sequence[int], folds: Sequence[Sequence[Prepared]]
) -> Iterator[dict[str, Any]]:
    """One result a seed: the counts of each fold, None where the training turned NaN, and the mean last loss."""
    flat = [fold for own in folds for fold in own]
    run, outputs = train_folds(cohort, seeds, flat)
    failed = run.failed | torch.tensor([not output.isfinite().all() for output in outputs])
    for place, (seed, own) in enumerate(zip(seeds, folds, strict=True)):
        part = slice(place * cohort.folds, (place + 1) * cohort.folds)
        tested = zip(own, outputs[part], failed[part].tolist(), strict=True)
        loss = run.losses[-1, part].double().mean()
        yield {
            "seed": seed,
            "folds": [
                None if lost else as_list(counted(fold.test_y.tolist(), output.argmax(1).tolist()))
                for fold, output, lost in tested
            ],
            "loss": None if failed[part].any() else float(f"{loss.item():.6g}"),
        }


def as_list(counts: Counts) -> list[int]:
    return list(vars(counts).values())


def baseline_results(table: Recordings, cohort: BaselineCohort, choices: Choices | None = None) -> dict[str, Any]:
    """The results part of a baseline's record."""
    most, found = int(2 * table.positive > len(table.y)), []  # of the whole cohort, as in the paper; 0 when even
    for seed in range(cohort.seeds):
        counts = []
        for number, fold in enumerate(prepared(table, cohort, seed, choices)):
            random = stream("clinical", "baseline", cohort.model, seed, number).initial_seed() % 2**32
            model = make_baseline(cohort.model, random, most).fit(fold.train_x, fold.train_y)
            counts.append(as_list(counted(fold.test_y.tolist(), model.predict(fold.test_x))))
        found.append({"seed": seed, "folds": counts})
    return {"parameters": None, "seeds": found}
