"""The synthetic experiment: eleven networks, seven data sets, two noise levels, ten seeds each.

A cohort is one network on one data set at one noise level, with all its seeds. Cohorts of one network are trained
together, as replicas of one batched network, in groups that follow from the request alone. No replica's result
depends on its companions, to the last bit (`padded_count` says what that takes), so a folder may be filled in any
number of requests.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from chebact.lab import LabError
from chebact.lab.environment import environment, host
from chebact.lab.output import make_folder
from chebact.lab.spec import as_plain, check_count
from chebact.lab.store import Record, holds, write_record
from chebact.lab.synthetic.cohort import SyntheticCohort, train_together
from chebact.lab.synthetic.recipes import DATASETS, RecipeForm
from chebact.lab.workers import run_all
from chebact.networks.residual_mlp import ARCHITECTURES

__all__ = ["NAME", "SyntheticCohort", "SyntheticRequest", "run_synthetic"]

NAME = "synthetic"
TOGETHER = 144  # replicas in one batch: enough to hide the overhead of a step, few enough to stay in the last cache


@dataclass(frozen=True)
class SyntheticRequest:
    """What one command asks for: every model on every data set at every noise level."""

    models: tuple[str, ...] = tuple(ARCHITECTURES)
    datasets: tuple[str, ...] = tuple(DATASETS)
    noise: tuple[float, ...] = (0.01, 0.04)
    seeds: int = 10
    recipes: RecipeForm = "paper"
    epochs: int = 300

    def groups(self) -> list[list[SyntheticCohort]]:
        """The cohorts that are trained together, the longest trainings first."""
        if not (self.models and self.datasets and self.noise):
            raise LabError("nothing is asked for: name one model, one data set and one noise level at least")
        groups = [group for model in dict.fromkeys(self.models) for group in self.groups_of(model)]
        return sorted(groups, key=cost, reverse=True)

    def groups_of(self, model: str) -> Iterator[list[SyntheticCohort]]:
        """The groups of one model, of at most `TOGETHER` replicas unless a single cohort has more."""
        cohorts = [
            SyntheticCohort(model, dataset, float(noise) + 0.0, self.recipes, self.seeds, self.epochs)
            for noise in dict.fromkeys(self.noise)
            for dataset in dict.fromkeys(self.datasets)
        ]
        check_count("seeds", self.seeds)
        size = max(1, TOGETHER // self.seeds)
        yield from (cohorts[start : start + size] for start in range(0, len(cohorts), size))


def cost(group: Sequence[SyntheticCohort]) -> int:
    """How long a group takes, in no particular unit: layers times replicas times epochs."""
    row = ARCHITECTURES[group[0].model]
    return (2 + row.blocks * row.layers) * sum(cohort.seeds * cohort.epochs for cohort in group)


@dataclass(frozen=True)
class Done:
    """A group is trained and written: its records, the cohorts done so far, and how far the whole request is (0 to
    1).
    """

    records: list[Record]
    cohorts: int
    fraction: float


def run_synthetic(
    request: SyntheticRequest, results: Path, *, workers: int | None = None, dask: str | None = None
) -> Iterator[Done]:
    """Train what is missing in the results folder and write the records; yields after every group, what was there
    first.
    """
    groups = request.groups()
    there = {cohort: holds(cohort.path(results), as_plain(cohort)) for group in groups for cohort in group}
    missing = [group for group in groups if not all(there[cohort] for cohort in group)]
    total, open_cost = sum(map(cost, groups)), sum(map(cost, missing))
    if missing:
        make_folder(results)
    yield Done([], sum(there.values()), 1 - open_cost / total)
    for group, records in run_all(records_of, missing, workers=workers, dask=dask):
        for cohort, record in zip(group, records, strict=True):
            write_record(cohort.path(results), record)
            there[cohort] = True
        open_cost -= cost(group)
        yield Done(records, sum(there.values()), 1 - open_cost / total)


def records_of(group: Sequence[SyntheticCohort]) -> tuple[Sequence[SyntheticCohort], list[Record]]:
    """Train a group. It is the whole group even where some of its records are there: what is trained together is
    fixed.
    """
    created, start = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
    results = train_together(group)
    seconds, together = round(time.perf_counter() - start, 1), sum(cohort.seeds for cohort in group)
    run = {"host": host(), "created": created, "seconds": seconds, "together": together}
    pairs = zip(group, results, strict=True)
    return group, [Record(NAME, as_plain(cohort), result, environment(), run) for cohort, result in pairs]
