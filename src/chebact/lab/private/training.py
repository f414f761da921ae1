"""The training: every split chooses a setting on inner splits of its training rows, then trains with it.

Splits are replicas of one network, so all inner splits of all splits are trained at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch import nn

from chebact.lab.private.data import Split, Table, splits_of, standardised
from chebact.lab.private.evaluation import decide, outputs_of
from chebact.lab.private.models import MARGIN, MODELS, build, take_replica
from chebact.lab.private.settings import SETTINGS, Setting
from chebact.lab.private.spec import PrivateSpec
from chebact.lab.spec import stream
from chebact.ranges.polynomial import without_tails
from chebact.training import AdamW, cross_entropy, train_replicas_

__all__ = ["Trained", "train_splits"]

Array = Any
BATCH = 32


@dataclass(frozen=True)
class Trained:
    """The network of a split in float64, the features of its training and test rows, whether its loss was not finite,
    and the setting that was chosen.
    """

    network: nn.Sequential
    parts: tuple[Array, Array]
    lost: bool
    setting: Setting


def train_splits(spec: PrivateSpec, table: Table, splits: Sequence[Split]) -> list[Trained]:
    """One network per split, each with the setting that is best on `spec.inner` inner splits of its training rows."""
    settings, inner = SETTINGS[spec.model], inner_splits(table, splits, spec.inner)
    scores = [inner_scores(train_(spec, table, inner, each, "inner"), table, inner, spec) for each in settings]
    chosen = numpy.array(scores).argmax(axis=0)
    trained = {k: train_(spec, table, splits, settings[k], "outer") for k in set(chosen.tolist())}
    return [trained[k][number] for number, k in enumerate(chosen.tolist())]


def inner_splits(table: Table, splits: Sequence[Split], count: int) -> list[Split]:
    """`count` splits of the training rows of every split, as rows of the table: (split, inner split) in one list."""
    found = []
    for number, (train, _) in enumerate(splits):
        part = Table(table.x[train], table.y[train], None if table.groups is None else table.groups[train])
        found += [(train[fit], train[check]) for fit, check in splits_of(part, count, 1 + number)]
    return found


def inner_scores(trained: Sequence[Trained], table: Table, inner: Sequence[Split], spec: PrivateSpec) -> Array:
    """The mean accuracy (split,) on the rows that were left out; a lost network has none right."""
    scores = [
        score(each, table.y[check], MODELS[spec.model].penalty > 0)
        for each, (_, check) in zip(trained, inner, strict=True)
    ]
    return numpy.array(scores).reshape(-1, spec.inner).mean(axis=1)


def score(trained: Trained, y: Array, cut: bool) -> float:
    """The accuracy as it would be served."""
    network = without_tails(trained.network) if cut and not trained.lost else trained.network
    return 0.0 if trained.lost else decide(outputs_of(network, trained.parts[1]), y) or 0.0


def train_(spec: PrivateSpec, table: Table, splits: Sequence[Split], setting: Setting, what: str) -> list[Trained]:
    """Train one network per split with the same setting, all at once."""
    parts = [standardised(table, split) for split in splits]
    rows = min(len(train) for train, _ in parts)
    x = torch.tensor(numpy.stack([train[:rows] for train, _ in parts]), dtype=torch.float32)
    y = torch.tensor(numpy.stack([table.y[train][:rows] for train, _ in splits]))[..., None]
    model, sizes = MODELS[spec.model], (x.shape[2], spec.width, int(table.y.max()) + 1)

    def streams(use: str) -> list[torch.Generator]:
        return [stream("private", spec.data, what, use, each) for each in range(len(splits))]

    network = build(model, spec.degree, sizes, setting.reach, len(splits), streams("init"))
    decay = 0.0 if model.learned else None  # decay of heights would pull the polynomials to zero
    run = train_replicas_(
        network,
        x,
        y,
        order=streams("order"),
        epochs=spec.epochs,
        batch_size=BATCH,
        loss=cross_entropy,
        optimizer=AdamW(lr=setting.rate, weight_decay=setting.decay, heights_weight_decay=decay),
        schedule_by="step",
        range_penalty=model.penalty,
        range_margin=MARGIN,
    )
    alone = [
        take_replica(network, build(model, spec.degree, sizes, setting.reach), each) for each in range(len(splits))
    ]
    lost = run.failed.tolist()
    return [Trained(*each, setting) for each in zip(alone, parts, lost, strict=True)]
