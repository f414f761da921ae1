"""The experiment on private inference: all splits of one model at one degree on one table are one record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from chebact.lab import LabError
from chebact.lab.engine import Engine, Step, Work
from chebact.lab.private.data import DATASETS, splits_of
from chebact.lab.private.evaluation import evaluate_clear, evaluate_encrypted, time_row
from chebact.lab.private.models import MODELS
from chebact.lab.private.spec import DEGREES, PrivateRequest, PrivateSpec
from chebact.lab.private.training import Trained, train_splits
from chebact.lab.spec import check_choice
from chebact.private.planning import Plan
from chebact.private.scheme import import_seal
from chebact.ranges.polynomial import without_tails

__all__ = ["NAME", "run_private", "specs_of"]

NAME = "private"
SPLITS = 0  # the seed of the splits; each chooses its setting on inner splits of its own training rows


def specs_of(request: PrivateRequest) -> list[PrivateSpec]:
    """What is asked for, the longest first."""
    for name in request.datasets:
        check_choice("data set", name, DATASETS)
    names = request.datasets or [row.name for row in DATASETS.values() if request.voice or not row.from_file]
    for model in request.models:
        check_choice("model", model, DEGREES)
    specs = [
        PrivateSpec(data=data, model=model, degree=degree, splits=request.splits, epochs=request.epochs)
        for data in dict.fromkeys(names)
        for model in dict.fromkeys(request.models)
        for degree in DEGREES[model]
        if degree in request.degrees or not degree
    ]
    if not specs:
        raise LabError("nothing is asked for: name one model at least that has such a degree")
    return sorted(specs, key=lambda spec: spec.cost(), reverse=True)


def run_private(
    request: PrivateRequest, results: Path, *, workers: int | None = None, dask: str | None = None
) -> Iterator[Step]:
    """Train and encrypt what is missing in the results folder; yields what was there, then every record."""
    try:
        import_seal()
    except ImportError as error:
        raise LabError(str(error)) from error
    specs = specs_of(request)
    for data in {spec.data for spec in specs}:
        DATASETS[data].read(request.voice)
    work = Work(NAME, partial(private_results, voice=request.voice), ("scikit-learn", "tenseal"), batched=True)
    yield from Engine(results, workers=workers, dask=dask).run([[spec] for spec in specs], work)


def private_results(group: Sequence[PrivateSpec], voice: Path | None) -> list[dict[str, Any]]:
    """Train all splits of one spec, and evaluate each in the clear and on ciphertexts."""
    (spec,) = group
    table = DATASETS[spec.data].read(voice)
    splits = splits_of(table, spec.splits, SPLITS)
    trained = train_splits(spec, table, splits)
    found: list[dict[str, Any]] = []
    served: dict[str, Any] = {}
    for number, (_, test) in enumerate(splits):
        result, costs = split_result(spec, trained[number], table.y[test], timed=not served)
        found.append(result)
        served = served or costs
    sizes = {"rows": len(table.x), "columns": table.x.shape[1], "classes": int(table.y.max()) + 1}
    return [{**sizes, "splits": found, **({"served": served} if served else {})}]


def split_result(spec: PrivateSpec, trained: Trained, y: Any, *, timed: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """The results of one split, and the costs of serving it if they are asked for."""
    model, part, network = MODELS[spec.model], trained.parts, trained.network
    result: dict[str, Any] = {"test_rows": len(y), "lost": trained.lost, "setting": trained.setting.text}
    if trained.lost:
        return result, {}
    result |= evaluate_clear(network, part, y, learned=model.learned)
    result["lost"] = result["accuracy"] is None
    if not model.served or result["lost"]:
        return result, {}
    polynomial = without_tails(network) if model.learned else network
    encrypted, plan, server = evaluate_encrypted(polynomial, part[1], y)
    return result | encrypted, costs_of(plan) | time_row(server, part[1][0]) if timed else {}


def costs_of(plan: Plan) -> dict[str, Any]:
    """The numbers of a plan that a record has."""
    names = ("levels", "rows_per_ciphertext", "ciphertext_products", "plaintext_products", "rotations")
    parameters = {"ring": plan.parameters.ring, "scale_bits": plan.parameters.scale_bits}
    return parameters | {name: getattr(plan, name) for name in names}
