"""Train and test one model on all seeds and folds: networks as replicas of one batched network, the others in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from chebact.lab.clinical.baselines import make_baseline
from chebact.lab.clinical.classification import Counts, count_cases, roc_auc
from chebact.lab.clinical.fold_inputs import Choices, FoldInputs, prepare_folds
from chebact.lab.clinical.spec import BaselineSpec, NetworkSpec
from chebact.lab.clinical.table import Recordings
from chebact.lab.spec import stream
from chebact.lab.starts import HE_UNIFORM, activation_factory, draw_he_uniform_
from chebact.networks import ResidualMLP
from chebact.training.replicas import ReplicaRun, cross_entropy, paper_sgd, predict_replicas, train_replicas_

__all__ = ["baseline_results", "network_of", "network_results", "train_folds"]

TOGETHER = 100  # replicas in one batch, all folds of some seeds: enough to hide overhead, few enough for the cache
JOINS: dict[str, Literal["mean", "add"]] = {"average": "mean", "add": "add"}
CLASSES = 2


def network_of(spec: NetworkSpec, features: int, **options: Any) -> ResidualMLP:
    """The paper's clinical network: Linear, two blocks of two [activation, Linear] joined with their input, Linear."""
    shape: dict[str, Any] = {
        "activation": activation_factory(spec.model, spec.init),
        "width": spec.width,
        "shortcut": JOINS[spec.shortcut],
    }
    network = ResidualMLP(features, CLASSES, blocks=2, layers=2, last_activation=False, **shape, **options)
    if spec.start == HE_UNIFORM:
        draw_he_uniform_(network)
    return network


def generators(spec: NetworkSpec, purpose: Literal["start", "order"], seeds: Sequence[int]) -> list[torch.Generator]:
    """One generator for each fold of each seed."""
    words = ("clinical", purpose, spec.model, spec.width)
    return [stream(*words, seed, fold) for seed in seeds for fold in range(spec.folds)]


def train_folds(
    spec: NetworkSpec, seeds: Sequence[int], folds: Sequence[FoldInputs], dtype: torch.dtype = torch.float32
) -> tuple[ReplicaRun, list[Tensor]]:
    """Train all folds of some seeds as one batch; the run, and the outputs (recording, class) for each test side."""
    used = [fold.train_x.shape[1] for fold in folds]
    network = network_of(
        spec, max(used), replicas=len(folds), used_features=used, generator=generators(spec, "start", seeds)
    ).to(dtype)
    lr, momentum, decay = spec.learning_rate, spec.momentum, spec.weight_decay
    run = train_replicas_(
        network,
        stack_tables([fold.train_x for fold in folds], dtype),
        stack_tables([fold.train_y[:, None] for fold in folds], torch.long),
        points=[len(fold.train_y) for fold in folds],
        order=generators(spec, "order", seeds),
        epochs=spec.epochs,
        batch_size=spec.batch_size,
        loss=cross_entropy,
        optimizer=partial(paper_sgd, lr=lr, momentum=momentum, weight_decay=decay),
        trainer="torch",  # as the committed records
    )
    outputs = predict_replicas(network, stack_tables([fold.test_x for fold in folds], dtype), len(folds))
    return run, [output[: len(fold.test_y)] for output, fold in zip(outputs, folds, strict=True)]


def stack_tables(tables: Sequence[Any], dtype: torch.dtype) -> Tensor:
    """Tables (row, column) of several sizes as one (replica, row, column), padded with zeros."""
    rows, columns = (max(table.shape[axis] for table in tables) for axis in (0, 1))
    stacked = torch.zeros(len(tables), rows, columns, dtype=dtype)
    for replica, table in zip(stacked, tables, strict=True):
        replica[: table.shape[0], : table.shape[1]] = torch.from_numpy(table).to(dtype)
    return stacked


def network_results(table: Recordings, spec: NetworkSpec, choices: Choices | None = None) -> dict[str, Any]:
    """The results part of a network's record. Which seeds are trained together follows from the spec."""
    together, found = max(1, TOGETHER // spec.folds), []
    for first in range(0, spec.seeds, together):
        seeds = range(first, min(first + together, spec.seeds))
        found += list(seed_results(spec, seeds, [prepare_folds(table, spec, seed, choices) for seed in seeds]))
    size = sum(p.numel() for p in network_of(spec, spec.features).parameters())
    return {"parameters": size if choices is None else None, "seeds": found}  # with choices it differs per fold


def seed_results(
    spec: NetworkSpec, seeds: Sequence[int], folds: Sequence[Sequence[FoldInputs]]
) -> Iterator[dict[str, Any]]:
    """One result per seed: the counts of each fold, None where the training turned NaN, and the mean last loss."""
    flat = [fold for of_seed in folds for fold in of_seed]
    run, outputs = train_folds(spec, seeds, flat)
    failed = run.failed | torch.tensor([not output.isfinite().all() for output in outputs])
    for index, (seed, of_seed) in enumerate(zip(seeds, folds, strict=True)):
        part = slice(index * spec.folds, (index + 1) * spec.folds)
        tested = list(zip(of_seed, outputs[part], failed[part].tolist(), strict=True))
        loss = run.losses[-1, part].double().mean()
        yield {
            "seed": seed,
            "folds": [
                None if lost else as_list(count_cases(fold.test_y.tolist(), output.argmax(1).tolist()))
                for fold, output, lost in tested
            ],
            "roc_auc": [
                None if lost else fold_roc_auc(fold, output[:, 1] - output[:, 0]) for fold, output, lost in tested
            ],
            "loss": None if failed[part].any() else float(f"{loss.item():.6g}"),
        }


def fold_roc_auc(fold: FoldInputs, scores: Any) -> float | None:
    """The area under the ROC curve of a fold's test side, in six digits."""
    found = roc_auc(fold.test_y.tolist(), scores.tolist())
    return None if found is None else float(f"{found:.6g}")


def as_list(counts: Counts) -> list[int]:
    return list(vars(counts).values())


def baseline_results(table: Recordings, spec: BaselineSpec, choices: Choices | None = None) -> dict[str, Any]:
    """The results part of a baseline's record."""
    most, found = int(2 * table.positive > len(table.y)), []  # of all recordings, as in the paper; 0 for a tie
    for seed in range(spec.seeds):
        counts, areas = [], []
        for number, fold in enumerate(prepare_folds(table, spec, seed, choices)):
            random = stream("clinical", "baseline", spec.model, seed, number).initial_seed() % 2**32
            model = make_baseline(spec.model, random, most).fit(fold.train_x, fold.train_y)
            counts.append(as_list(count_cases(fold.test_y.tolist(), model.predict(fold.test_x))))
            areas.append(fold_roc_auc(fold, decision_scores(model, fold.test_x)))
        found.append({"seed": seed, "folds": counts, "roc_auc": areas})
    return {"parameters": None, "seeds": found}


def decision_scores(model: Any, x: Any) -> Any:
    """The scores of a scikit-learn model for class 1: higher is more certain."""
    return model.decision_function(x) if hasattr(model, "decision_function") else model.predict_proba(x)[:, 1]
