"""What the records of the study of shapes say: all channels as curves, their clusters and kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from chebact.functional import chebyshev_lagrange
from chebact.lab.studies.clusters import (
    GRID,
    KINDS,
    Clusters,
    cluster_curves,
    kinds_of,
    normalised,
    permutation_p,
)
from chebact.lab.studies.record import StudyRecord
from chebact.lab.studies.spec import Settings

__all__ = ["DEAD", "Channels", "Shapes", "read_shapes"]

Array = Any
DEAD = 0.01  # of the mean effect of its layer: a channel below it does next to nothing


@dataclass(frozen=True)
class Channels:
    """All kept channels of some records: of each its normalised curve (channel, points), the place in `lines` and in
    `functions`, its seed, and whether it is dead.
    """

    curves: Array
    line: Array
    function: Array
    seed: Array
    dead: Array
    lines: tuple[str, ...]
    functions: tuple[str, ...]


@dataclass(frozen=True)
class Shapes:
    """The channels, and of those that are not dead the clusters and kinds, in the same order."""

    channels: Channels
    clusters: Clusters
    kinds: tuple[str, ...]

    def living(self, line: str = "", function: str = "") -> Array:
        """Which of the living channels are of a line and a function; all by default."""
        own, alive = self.channels, ~self.channels.dead
        chosen = numpy.ones(int(alive.sum()), dtype=bool)
        if line:
            chosen &= own.line[alive] == own.lines.index(line)
        if function:
            chosen &= own.function[alive] == own.functions.index(function)
        return chosen

    def shares(self, line: str = "", function: str = "") -> list[float]:
        """The share of every cluster among the living channels."""
        chosen = self.clusters.labels[self.living(line, function)]
        return [float((chosen == index).mean()) if len(chosen) else 0.0 for index in range(len(self.clusters.centres))]

    def kind_shares(self, line: str = "", function: str = "") -> dict[str, float]:
        """The share of every kind among the living channels."""
        kinds = numpy.array(self.kinds)[self.living(line, function)]
        return {kind: float((kinds == kind).mean()) if len(kinds) else 0.0 for kind in KINDS}

    def dead_share(self, line: str) -> float:
        """The share of dead channels of a line."""
        own = self.channels
        return float(own.dead[own.line == own.lines.index(line)].mean())

    def dependence(self, line: str) -> float:
        """The p-value that the clusters do not depend on the function; the networks are shuffled, not the channels."""
        own, alive = self.channels, ~self.channels.dead
        chosen = self.living(line)
        networks = own.function[alive][chosen] * 1000 + own.seed[alive][chosen]
        labels, names = self.clusters.labels[chosen], numpy.unique(networks)
        count = len(self.clusters.centres)
        shares = numpy.stack([numpy.bincount(labels[networks == name], minlength=count) for name in names])
        return permutation_p(shares / shares.sum(axis=1, keepdims=True), names // 1000)


def curves_of(settings: Settings, rows: Array) -> Array:
    """Channels (channel, degree + 4) as curves over the middle 90 % of their inputs: (channel, points)."""
    width = settings.degree + 1
    low, high = rows[:, width], rows[:, width + 1]
    x = low + (high - low) * (GRID[:, None] + 1) / 2
    heights = torch.from_numpy(rows[:, :width].copy())
    ends = (-settings.interval, settings.interval)
    y = chebyshev_lagrange(torch.from_numpy(x), heights, tails=settings.tails, interval=ends)
    return y.T.numpy()


def read_channels(records: Sequence[StudyRecord]) -> Channels:
    """The channels of some records."""
    functions = records[0].spec.functions
    parts: dict[str, list[Array]] = {name: [] for name in ("curves", "line", "function", "seed", "dead")}
    for line, record in enumerate(records):
        for each in record.results.functions:
            for seed, layers in enumerate(each.shapes or ()):
                for layer in layers:
                    rows = numpy.array(layer)
                    effect, count = rows[:, -1], len(rows)
                    parts["curves"].append(curves_of(record.spec.settings, rows))
                    parts["dead"].append(effect < DEAD * effect.mean())
                    for name, value in (("line", line), ("function", functions.index(each.function)), ("seed", seed)):
                        parts[name].append(numpy.full(count, value))
    joined = {name: numpy.concatenate(each) for name, each in parts.items()}
    joined["curves"] = normalised(joined["curves"])
    return Channels(**joined, lines=tuple(record.spec.line for record in records), functions=functions)


def read_shapes(records: Sequence[StudyRecord]) -> Shapes:
    """The channels of some records with their clusters and kinds."""
    channels = read_channels(records)
    alive = channels.curves[~channels.dead]
    return Shapes(channels, cluster_curves(alive), tuple(kinds_of(alive)))
