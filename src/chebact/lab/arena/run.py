"""The arena: the scores of one model on all splits of one data set are one record."""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from chebact.lab import LabError
from chebact.lab.arena.data import DATASETS, DataSet, Table, voice_file
from chebact.lab.arena.entrants import ENTRANTS, Entrant, Task, missing_packages
from chebact.lab.arena.own import Own
from chebact.lab.arena.scores import count_parameters, score_of
from chebact.lab.arena.spec import CORE, ArenaRequest, ArenaSpec
from chebact.lab.arena.splits import splits_of
from chebact.lab.engine import Engine, Step, Work
from chebact.lab.peers import PEERS
from chebact.lab.spec import check_choice

__all__ = ["NAME", "Contest", "contest_of", "run_arena"]

NAME = "arena"
VOICES = ArenaRequest().voices
PACKAGES = ("scikit-learn", "scipy", "pykan", "pytabkit", *(peer.name for peer in PEERS))


@dataclass(frozen=True)
class Contest:
    """What is run: the specs, the longest first, and a sentence for each model or data set that is left out."""

    specs: tuple[ArenaSpec, ...]
    left_out: tuple[str, ...]


def contest_of(request: ArenaRequest, own: Own | None = None) -> Contest:
    """What is asked for. A model or a set that was named and is not there is an error; others are left out."""
    if own is not None and request.datasets:
        raise LabError("--datasets names sets of the arena and --data a table of your own; give one of them")
    models, reasons = entrants_of(request.models)
    sets, more = ([], []) if own is not None else sets_of(request)
    if own is None:
        specs = [spec_of(model, data, request) for data in sets for model in models if enters(model, data)]
    else:
        count = len(splits_of(own.table, own.task, request.folds))
        specs = [
            ArenaSpec(
                data=own.name, model=model.name, folds=request.folds, splits=min(count, model.splits), digest=own.digest
            )
            for model in models
            if own.task in model.tasks and own.table.x.size <= model.most
        ]
    if not specs:
        raise LabError("nothing is asked for: name one model at least that can learn the data")
    return Contest(tuple(sorted(specs, key=lambda spec: spec.cost(), reverse=True)), (*reasons, *more))


def entrants_of(names: Sequence[str]) -> tuple[list[Entrant], list[str]]:
    """The models that can run here, and a sentence for each that cannot."""
    for name in names:
        check_choice("model", name, ENTRANTS)
    chosen, reasons = [], []
    for name in dict.fromkeys(names or ENTRANTS):
        missing = missing_packages(ENTRANTS[name])
        if missing and names:
            raise LabError(
                f"model {name} needs {', '.join(missing)}, which is not installed: `python3 dev.py arena` runs the "
                "arena in an environment that has it"
            )
        if missing:
            reasons.append(f"{name} is left out: {', '.join(missing)} is not installed (`python3 dev.py arena` has it)")
        else:
            chosen.append(ENTRANTS[name])
    return chosen, reasons


def sets_of(request: ArenaRequest) -> tuple[list[DataSet], list[str]]:
    """The data sets that are there, and a sentence for each that is not."""
    for name in request.datasets:
        check_choice("data set", name, DATASETS)
    chosen, reasons = [], []
    for name in dict.fromkeys(request.datasets or DATASETS):
        data = DATASETS[name]
        if data.file is None or voice_file(data, request.voices) is not None:
            chosen.append(data)
        elif request.datasets:
            raise LabError(f"data set {name} must be in --voices, got no file {request.voices / data.file}")
        else:
            reasons.append(f"{name} is left out: there is no file {request.voices / data.file}")
    return chosen, reasons


def enters(model: Entrant, data: DataSet) -> bool:
    """Whether there is such a model for the task, and time for it."""
    return data.task in model.tasks and (data.name in CORE or not model.core) and data.cells <= model.most


def spec_of(model: Entrant, data: DataSet, request: ArenaRequest) -> ArenaSpec:
    splits = min(request.folds, model.splits)
    return ArenaSpec(data=data.name, model=model.name, folds=request.folds, splits=splits)


def run_arena(
    contest: Contest,
    results: Path,
    own: Own | None = None,
    voices: Path = VOICES,
    *,
    workers: int | None = None,
    dask: str | None = None,
) -> Iterator[Step]:
    """Fit what is missing in the results folder and write the records; yields what was there, then every record."""
    engine = Engine(results, workers=workers, dask=dask)
    work = Work(NAME, partial(arena_results, own=own, voices=voices), PACKAGES)
    yield from engine.run([[spec] for spec in contest.specs], work)


def arena_results(group: Sequence[ArenaSpec], *, own: Own | None, voices: Path) -> list[dict[str, Any]]:
    """All splits of one model on one data set."""
    (spec,) = group
    task, family, table = table_of(spec, own, voices)
    found, parameters = [], None
    for seed, (train, test) in enumerate(splits_of(table, task, spec.folds)[: spec.splits]):
        estimator = estimator_of(ENTRANTS[spec.model], task, table.x.shape[1], seed)
        found.append(fit_and_score(estimator, task, table, train, test))
        parameters = count_parameters(estimator) if parameters is None else parameters
    size = {"rows": len(table.x), "columns": table.x.shape[1]}
    return [{**size, "task": task, "family": family, "parameters": parameters, "splits": found}]


def table_of(spec: ArenaSpec, own: Own | None, voices: Path) -> tuple[Task, str, Table]:
    """Task, family and table of a spec."""
    if own is not None:
        return own.task, own.name, own.table
    data = DATASETS[spec.data]
    path = voice_file(data, voices)
    return data.task, data.family, data.make() if path is None else data.make(path)


def estimator_of(entrant: Entrant, task: Task, columns: int, seed: int) -> Any:
    """The estimator of a model."""
    module, _, name = entrant.make.partition(":")
    return getattr(import_module(module), name)(task, columns, seed, **entrant.options)


def fit_and_score(estimator: Any, task: Task, table: Table, train: Any, test: Any) -> dict[str, Any]:
    """One split as the record has it. A fit that diverges has no score; another error stops the run."""
    start = time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")  # that a search or a network ended at its limit, as the record shows
        try:
            estimator.fit(table.x[train], table.y[train])
            fitted = time.process_time()
            found = score_of(estimator, task, table, test)
        except (ValueError, FloatingPointError) as error:
            fitted = time.process_time()
            found = {"score": None, "failed": f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]}
    times = {"seconds": round(fitted - start, 4), "predict_seconds": round(time.process_time() - fitted, 4)}
    return {**found, **times}
