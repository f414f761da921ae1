"""The clinical experiment: two classes of recordings, tested on subjects that no model has met.

A record is of one model (a network of one width, or a baseline) with all its seeds and folds. Seeds and folds are the
same for all models, so that they can be compared pair by pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from chebact.lab import LabError
from chebact.lab.clinical.baselines import BASELINES, MAJORITY
from chebact.lab.clinical.duplicates import Shared, find_shared_rows
from chebact.lab.clinical.fold_inputs import Choices, choose_in_folds, choose_on_cohort, prepare_folds
from chebact.lab.clinical.models import baseline_results, network_results
from chebact.lab.clinical.record import ChoiceResults
from chebact.lab.clinical.spec import (
    IN_FOLDS,
    NONE,
    ON_COHORT,
    BaselineSpec,
    ChoiceSettings,
    ChoiceSpec,
    ClinicalSettings,
    FoldSettings,
    NetworkSettings,
    NetworkSpec,
    Trial,
)
from chebact.lab.clinical.table import Recordings
from chebact.lab.engine import Engine, Step, Work
from chebact.lab.spec import check_choice, parts_of
from chebact.lab.starts import check_start, resolve_start
from chebact.lab.store import read_record
from chebact.lab.workers import cores
from chebact.table import ACTIVATIONS

__all__ = ["CHOICE", "NAME", "ClinicalRequest", "run_clinical"]

NAME, CHOICE = "clinical", "clinical-choice"


@dataclass(frozen=True)
class ClinicalRequest(ClinicalSettings):
    """What one command asks for. `chooser` is a second cohort on which the features are chosen, `in_folds` has them
    chosen in every fold; with neither, all of the table's are used.
    """

    table: Recordings
    chooser: Recordings | None = None
    in_folds: bool = False

    def specs(self, table: Recordings, choice: str) -> list[NetworkSpec | BaselineSpec]:
        """All that is to be trained on a table, the longest first."""
        make = partial(NetworkSpec.for_table, table, choice, self, **parts_of(self, NetworkSettings))
        names = [model for model in dict.fromkeys(self.models) if model not in (MAJORITY, NONE)]
        for name in names:
            check_choice("model", name, (*ACTIVATIONS, MAJORITY))
            check_start(resolve_start(self.init, name, names), name)
        networks = [
            make(model=model, width=width, init=resolve_start(self.init, model, names))
            for model in names
            for width in dict.fromkeys(self.widths)
        ]
        plain = dict.fromkeys([*(name for name in self.models if name == MAJORITY), *self.baselines])
        others = [BaselineSpec.for_table(table, choice, self, model=name) for name in plain if name != NONE]
        for spec in others:
            check_choice("baseline", spec.model, BASELINES)
        if not networks and not others:
            raise LabError("nothing is asked for: name one model and one width, or one baseline, at least")
        return sorted([*networks, *others], key=lambda spec: spec.cost(), reverse=True)

    def choice_specs(self) -> list[ChoiceSpec]:
        """The choices of features that come first: one on the second cohort, or one per seed, or none."""
        if self.chooser is None and not self.in_folds:
            return []
        settings: dict[str, Any] = {"wanted_for": self.table.name, **parts_of(self, ChoiceSettings)}
        if self.chooser is not None:
            once = FoldSettings(seeds=1, folds=1)
            return [ChoiceSpec.for_table(self.chooser_table(), "all", once, **settings, seed=None)]
        make = partial(ChoiceSpec.for_table, self.table, "all", self, **settings)
        return [make(seed=seed, seeds=1) for seed in range(self.seeds)]

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
                "features would be chosen on what is tested later: give another cohort, or `select` folds"
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
        return find_shared_rows(own.x, own.subjects, chooser.x, chooser.subjects)


def run_clinical(
    request: ClinicalRequest, results: Path, *, workers: int | None = None, dask: str | None = None
) -> Iterator[Step]:
    """Train what is missing in the results folder and write the records; yields what was there, then every record."""
    choosing, later = request.choice_specs(), request.specs(request.table, "all")  # numbers beyond sense end here
    for seed in range(request.seeds):  # a table that does not allow these folds is refused before anything runs
        prepare_folds(request.table, Trial.for_table(request.table, "all", request), seed)
    engine = Engine(results, workers=workers, dask=dask)
    if choosing:
        table = request.table if request.chooser is None else request.chooser_table()
        jobs = (workers or cores()) if request.chooser is not None else 1  # one cohort is one piece, for all cores
        work = Work(CHOICE, partial(choice_results, table=table, jobs=jobs), ("scikit-learn", "Boruta"))
        yield from engine.run(single_groups(choosing), work, later=later)
    found: list[ChoiceResults] = [read_record(spec.path(results)).typed.results for spec in choosing]
    table, choices, choice = request.table, None, "all"
    if request.chooser is not None:
        table, choice = table.with_features(found[0].features or ()), f"{ON_COHORT}{request.chooser.name}"
    elif request.in_folds:
        choices = [[fold.columns for fold in seed.folds or ()] for seed in found]
        choice = f"{IN_FOLDS}, {request.trees} trees, {request.rounds} rounds"
    training = Work(NAME, partial(model_results, table=table, choices=choices), ("scikit-learn",))
    yield from engine.run(single_groups(request.specs(table, choice)), training)


def single_groups(specs: Sequence[Any]) -> list[list[Any]]:
    """Groups of one."""
    return [[spec] for spec in specs]


def choice_results(group: Sequence[ChoiceSpec], table: Recordings, jobs: int) -> list[dict[str, Any]]:
    """Features chosen on a cohort, or in the folds of a seed."""
    (spec,) = group
    if spec.seed is None:
        features, how = choose_on_cohort(table, spec, jobs)
        return [{"features": features, "how": how}]
    return [{"folds": [{"columns": columns, "how": how} for columns, how in choose_in_folds(table, spec)]}]


def model_results(
    group: Sequence[NetworkSpec | BaselineSpec], table: Recordings, choices: Choices | None
) -> list[dict[str, Any]]:
    """One model, trained and tested."""
    (spec,) = group
    if isinstance(spec, NetworkSpec):
        return [network_results(table, spec, choices)]
    return [baseline_results(table, spec, choices)]
