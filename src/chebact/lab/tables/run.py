"""The comparison on tables: cross-validated scores of one model on one data set are one record."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy
from scipy.stats import norm
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold
from threadpoolctl import threadpool_limits

from chebact.lab import LabError
from chebact.lab.engine import Engine, Step, Work
from chebact.lab.spec import check_choice
from chebact.lab.tables.data import DATASETS, DataSet
from chebact.lab.tables.models import MODELS, Model
from chebact.lab.tables.spec import LEVELS, TableRequest, TableSpec

__all__ = ["NAME", "run_tables", "specs_of"]

NAME = "tables"
Array = Any


def specs_of(request: TableRequest) -> list[TableSpec]:
    """What is asked for, the longest first; a model that has nothing for a data set is left out."""
    for name in request.datasets:
        check_choice("data set", name, DATASETS)
    specs = [
        TableSpec(data=data, model=model, folds=request.folds, repeats=min(request.repeats, MODELS[model].repeats))
        for data in dict.fromkeys(request.datasets or DATASETS)
        for model in dict.fromkeys(request.models)
        if fits(MODELS[model], DATASETS[data])
    ]
    if not specs:
        raise LabError("nothing is asked for: name one model at least that can learn the data")
    return sorted(specs, key=lambda spec: spec.cost(), reverse=True)


def fits(model: Model, data: DataSet) -> bool:
    """Whether there is such a model for the task, and time for a table of this size."""
    if (model.regressor if data.task == "regression" else model.classifier) is None:
        return False
    return model.most == numpy.inf or data.make()[0].size <= model.most


def run_tables(
    request: TableRequest, results: Path, *, workers: int | None = None, dask: str | None = None
) -> Iterator[Step]:
    """Fit what is missing in the results folder and write the records; yields what was there, then every record."""
    engine = Engine(results, workers=workers, dask=dask)
    yield from engine.run([[spec] for spec in specs_of(request)], Work(NAME, table_results, ("scikit-learn", "scipy")))


def table_results(group: Sequence[TableSpec]) -> list[dict[str, Any]]:
    """All folds of one model on one data set."""
    (spec,) = group
    data, model = DATASETS[spec.data], MODELS[spec.model]
    x, y = data.make()
    regression = data.task == "regression"
    make = model.regressor if regression else model.classifier
    assert make is not None
    deal = RepeatedKFold if regression else RepeatedStratifiedKFold
    folds = []
    for seed, (train, test) in enumerate(deal(n_splits=spec.folds, n_repeats=spec.repeats, random_state=0).split(x, y)):
        estimator, start = make(x.shape[1], seed), time.process_time()
        with warnings.catch_warnings(), threadpool_limits(1):  # one thread per worker, as torch has it there
            warnings.simplefilter("ignore")  # that a search or a network ended at its limit, as the record shows
            estimator.fit(x[train], y[train])
        seconds = time.process_time() - start
        score = regression_score if regression else classification_score
        folds.append({**score(estimator, x[test], y[test], y), "seconds": round(seconds, 4)})
    dealt = [{"folds": folds[start : start + spec.folds]} for start in range(0, len(folds), spec.folds)]
    return [{"rows": len(x), "columns": x.shape[1], "task": data.task, "seeds": dealt}]


def regression_score(estimator: Any, x: Array, y: Array, all_y: Array) -> dict[str, Any]:
    """The root mean square error in deviations of the target, and the coverage of intervals where there are such."""
    last = getattr(estimator, "named_steps", {}).get("gaussianprocessregressor", estimator)
    gives_deviations = hasattr(last, "noise_") or last is not estimator
    prediction = estimator.predict(x, **({"return_std": True} if gives_deviations else {}))
    mean = prediction[0] if gives_deviations else prediction
    found: dict[str, Any] = {"score": float(numpy.sqrt(numpy.mean((mean - y) ** 2)) / all_y.std())}
    if gives_deviations:
        deviations = numpy.abs(mean - y) / prediction[1]
        found["coverage"] = [float((deviations <= norm.ppf((1 + level) / 2)).mean()) for level in LEVELS]
    return found


def classification_score(estimator: Any, x: Array, y: Array, all_y: Array) -> dict[str, Any]:
    """The share of wrong classes, and the logarithmic loss where there are probabilities."""
    found = {"score": 1 - float(accuracy_score(y, estimator.predict(x)))}
    if hasattr(estimator, "predict_proba"):
        found["log_loss"] = float(log_loss(y, estimator.predict_proba(x), labels=numpy.unique(all_y)))
    return found
