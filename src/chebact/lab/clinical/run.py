"""The clinical experiment: two classes of recordings, tested on subjects that no model has met.

A cohort is one model (a network of one width, or a baseline) with all its seeds and folds, and is one record. Seeds
and folds are the same for all models, so that they can be compared pair by pair.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from chebact.lab import LabError
from chebact.lab.clinical.baselines import BASELINES, MAJORITY
from chebact.lab.clinical.duplicates import Shared, in_common
from chebact.lab.clinical.fold_inputs import Choices, chosen_in_folds, chosen_on_cohort, prepared
from chebact.lab.clinical.models import baseline_results, network_results
from chebact.lab.clinical.spec import (
    BaselineCohort,
    ChoiceOfFeatures,
    Labels,
    NetworkCohort,
    Shortcut,
    Trial,
    trial_of,
)
from chebact.lab.clinical.table import Recordings
from chebact.lab.environment import environment, host
from chebact.lab.output import make_folder
from chebact.lab.spec import as_plain
from chebact.lab.store import Record, holds, read_record, write_record
from chebact.lab.workers import cores, run_all

__all__ = ["CHOICE", "MODELS", "NAME", "ClinicalRequest", "Done", "run_clinical"]

NAME, CHOICE = "clinical", "clinical-choice"
MODELS = (MAJORITY, "relu", "tanh", "cl-extrapolate")
Cohort = NetworkCohort | BaselineCohort
Spec = Cohort | ChoiceOfFeatures


@dataclass(frozen=True)
class ClinicalRequest:
    """What one command asks for. `chooser` is a second cohort on which the features are chosen, `in_folds` has them
    chosen in every fold; with neither, all of the table's are used.
    """

    table: Recordings
    chooser: Recordings | None = None
    in_folds: bool = False
    models: tuple[str, ...] = MODELS
    baselines: tuple[str, ...] = tuple(BASELINES)[1:]
    widths: tuple[int, ...] = (32, 64)
    seeds: int = 30
    folds: int = 10
    shortcut: Shortcut = "average"
    labels: Labels = "true"
    epochs: int = 300
    trees: int = 150
    rounds: int = 100

    def trial(self, table: Recordings, choice: str) -> Trial:
        """The trial of this request on a table."""
        return Trial.of(table, choice, labels=self.labels, seeds=self.seeds, folds=self.folds)

    def cohorts(self, trial: Trial) -> list[Cohort]:
        """All that is to be trained, the longest first."""
        shared: dict[str, Any] = trial_of(trial)
        networks: list[Cohort] = [
            NetworkCohort(**shared, model=model, width=width, shortcut=self.shortcut, epochs=self.epochs)
            for model in dict.fromkeys(self.models)
            if model != MAJORITY
            for width in dict.fromkeys(self.widths)
        ]
        plain = [model for model in self.models if model == MAJORITY] + list(self.baselines)
        others: list[Cohort] = [BaselineCohort(**shared, model=model) for model in dict.fromkeys(plain)]
        if not networks + others:
            raise LabError("nothing is asked for: name one model and one width, or one baseline, at least")
        return sorted(networks + others, key=lambda cohort: cohort.cost(), reverse=True)

    def choosing(self) -> list[ChoiceOfFeatures]:
        """The choices of features that come first: one on the second cohort, or one a seed, or none."""
        if self.chooser is None and not self.in_folds:
            return []
        settings: dict[str, Any] = {"wanted_for": self.table.name, "trees": self.trees, "rounds": self.rounds}
        if self.chooser is not None:
            on_all: dict[str, Any] = trial_of(Trial.of(self.chooser_table(), "all", labels="true", seeds=1, folds=1))
            return [ChoiceOfFeatures(**on_all, **settings, seed=None)]
        shared: dict[str, Any] = trial_of(replace(self.trial(self.table, "all"), seeds=1))
        return [ChoiceOfFeatures(**shared, **settings, seed=seed) for seed in range(self.seeds)]

    def chooser_table(self) -> Recordings:
        """The second cohort with the features that both have."""
        assert self.chooser is not None
        common = [name for name in self.table.features if name in self.chooser.features]
        if not common:
            raise LabError(f"{self.table.name} and {self.chooser.name} have no feature in common")
        chooser = self.chooser.with_features(common)
        shared = self.shared(chooser)
        if shared.count and not shared.chance:
            raise LabError(
                f"{self.chooser.name} and {self.table.name} have {shared.count} of their recordings in common, so that "
                "features would be chosen on what is tested later: give another cohort, or --select folds"
            )
        return chooser

    def remarks(self) -> list[str]:
        """In words, what is strange about the data, but no reason to stop."""
        said = [f"{self.table.name}: {each}" for each in self.table.remarks]
        if self.chooser is not None and (shared := self.shared(self.chooser_table())).count:
            said.append(
                f"{self.chooser.name} and {self.table.name} have {shared.count} rows of numbers in common, as features "
                "of few values give by chance: make sure that nobody is in both"
            )
        return said

    def shared(self, chooser: Recordings) -> Shared:
        """What the table has in common with another of some of its features."""
        own = self.table.with_features(chooser.features)
        return in_common(own.x, own.subjects, chooser.x, chooser.subjects)


@dataclass(frozen=True)
class Done:
    """Something is written or was there already: the new records, how many are done, and how far it all is (0 to 1)."""

    records: list[Record]
    cohorts: int
    fraction: float


class Tally:
    """Counts what is done of the specs of a run, by their costs."""

    def __init__(self) -> None:
        self.done, self.spent, self.total = 0, 0.0, 0.0

    def step(self, specs: Sequence[Spec], records: Sequence[Record] = ()) -> Done:
        """These are done."""
        self.done, self.spent = self.done + len(specs), self.spent + sum(spec.cost() for spec in specs)
        return Done(list(records), self.done, min(1.0, self.spent / self.total))


def run_clinical(
    request: ClinicalRequest, results: Path, *, workers: int | None = None, dask: str | None = None
) -> Iterator[Done]:
    """Train what is missing in the results folder and write the records; yields after every one, what was there
    first.
    """
    everything = request.trial(request.table, "all")
    for seed in range(request.seeds):  # a table that does not allow these folds is refused before anything runs
        prepared(request.table, everything, seed)
    choosing, tally = request.choosing(), Tally()
    tally.total = sum(spec.cost() for spec in [*choosing, *request.cohorts(everything)])
    yield from chosen(request, choosing, results, tally, workers, dask)
    found = [read_record(spec.path(results)).results for spec in choosing]
    table, choices, choice = request.table, None, "all"
    if request.chooser is not None:
        table, choice = table.with_features(found[0]["features"]), f"boruta on {request.chooser.name}"
    elif request.in_folds:
        choices = [[fold["columns"] for fold in seed["folds"]] for seed in found]
        choice = f"boruta in folds, {request.trees} trees, {request.rounds} rounds"
    cohorts = request.cohorts(request.trial(table, choice))
    tally.total = sum(spec.cost() for spec in [*choosing, *cohorts])
    missing = [cohort for cohort in cohorts if not holds(cohort.path(results), as_plain(cohort))]
    if missing:
        make_folder(results)
    yield tally.step([cohort for cohort in cohorts if cohort not in missing])
    for cohort, record in run_all(partial(trained, table=table, choices=choices), missing, workers=workers, dask=dask):
        write_record(cohort.path(results), record)
        yield tally.step([cohort], [record])


def chosen(
    request: ClinicalRequest,
    choosing: Sequence[ChoiceOfFeatures],
    results: Path,
    tally: Tally,
    workers: int | None,
    dask: str | None,
) -> Iterator[Done]:
    """Choose what features are still to be chosen. One cohort is one piece of work, which all cores share."""
    missing = [spec for spec in choosing if not holds(spec.path(results), as_plain(spec))]
    if missing:
        make_folder(results)
    yield tally.step([spec for spec in choosing if spec not in missing])
    table = request.table if request.chooser is None else request.chooser_table()
    work = partial(chosen_record, table=table, jobs=(workers or cores()) if request.chooser is not None else 1)
    for spec, record in run_all(work, missing, workers=workers, dask=dask):
        write_record(spec.path(results), record)
        yield tally.step([spec], [record])


def chosen_record(spec: ChoiceOfFeatures, table: Recordings, jobs: int) -> tuple[ChoiceOfFeatures, Record]:
    """Choose features in the folds of a seed, or on a cohort."""
    start, created = time.perf_counter(), now()
    found: dict[str, Any]
    if spec.seed is None:
        features, how = chosen_on_cohort(table, spec, jobs)
        found = {"features": features, "how": how}
    else:
        found = {"folds": [{"columns": columns, "how": how} for columns, how in chosen_in_folds(table, spec)]}
    about = environment("scikit-learn", "Boruta")
    return spec, Record(CHOICE, as_plain(spec), found, about, timed(start, created))


def trained(cohort: Cohort, table: Recordings, choices: Choices | None) -> tuple[Cohort, Record]:
    """Train one cohort."""
    start, created = time.perf_counter(), now()
    if isinstance(cohort, NetworkCohort):
        found = network_results(table, cohort, choices)
    else:
        found = baseline_results(table, cohort, choices)
    return cohort, Record(NAME, as_plain(cohort), found, environment("scikit-learn"), timed(start, created))


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def timed(start: float, created: str) -> dict[str, Any]:
    """The part of a record in which two runs differ."""
    return {"host": host(), "created": created, "seconds": round(time.perf_counter() - start, 1)}
