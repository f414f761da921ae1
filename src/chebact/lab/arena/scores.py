"""How good a fitted model is on the test rows of a split, and how many parameters it has."""

from __future__ import annotations

from typing import Any

import numpy
from scipy.stats import norm
from sklearn.metrics import accuracy_score, log_loss
from sklearn.pipeline import Pipeline

from chebact.lab.arena.data import Table
from chebact.lab.arena.entrants import Task
from chebact.lab.arena.spec import LEVELS

__all__ = ["count_parameters", "score_of"]

Array = Any


def score_of(estimator: Any, task: Task, table: Table, test: Array) -> dict[str, Any]:
    """The score of the test rows, and what else the model gives."""
    return (regression_score if task == "regression" else classification_score)(estimator, table, test)


def regression_score(estimator: Any, table: Table, test: Array) -> dict[str, Any]:
    """The root mean square error in deviations of the target, against the target without noise where that is known;
    and the coverage of measurements by intervals, where the model gives deviations.
    """
    x, y = table.x[test], table.y[test]
    truth = table.y if table.truth is None else table.truth
    deviations = None
    if gives_deviations(estimator):
        mean, deviations = estimator.predict(x, return_std=True)
    else:
        mean = estimator.predict(x)
    mean = numpy.asarray(mean).reshape(-1)
    if not numpy.isfinite(mean).all():
        raise FloatingPointError("a prediction is not finite")
    found: dict[str, Any] = {"score": float(numpy.sqrt(numpy.mean((mean - truth[test]) ** 2)) / truth.std())}
    if deviations is not None:
        sizes = numpy.abs(mean - y) / numpy.maximum(deviations, 1e-300)
        found["coverage"] = [float((sizes <= norm.ppf((1 + level) / 2)).mean()) for level in LEVELS]
    return found


def gives_deviations(estimator: Any) -> bool:
    """Whether this is a Gaussian process in a pipeline, or ours, fitted with rows left out."""
    return "gaussianprocessregressor" in getattr(estimator, "named_steps", {}) or hasattr(estimator, "noise_")


def classification_score(estimator: Any, table: Table, test: Array) -> dict[str, Any]:
    """The share of wrong classes, and the logarithmic loss where there are probabilities."""
    x, y = table.x[test], table.y[test]
    found = {"score": 1 - float(accuracy_score(y, estimator.predict(x)))}
    if hasattr(estimator, "predict_proba"):
        found["log_loss"] = float(log_loss(y, estimator.predict_proba(x), labels=numpy.unique(table.y)))
    return found


def count_parameters(estimator: Any) -> int | None:
    """The numbers that a network or a linear model has learned; None for a model without a fixed number of them."""
    inner = estimator[-1] if isinstance(estimator, Pipeline) else getattr(estimator, "regressor_", None)
    if inner is not None:
        return count_parameters(inner)
    if hasattr(estimator, "network_"):
        return sum(int(parameter.numel()) for parameter in estimator.network_.parameters() if parameter.requires_grad)
    if hasattr(estimator, "coefs_"):
        return sum(int(each.size) for each in (*estimator.coefs_, *estimator.intercepts_))
    if hasattr(estimator, "coef_") and hasattr(estimator, "intercept_") and not hasattr(estimator, "support_"):
        return int(numpy.size(estimator.coef_) + numpy.size(estimator.intercept_))
    return None
