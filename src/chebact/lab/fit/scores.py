"""How well a table can be learned: cross-validated scores of ours, of a linear model and of gradient boosting."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from chebact.estimators import CLClassifier, CLRegressor
from chebact.lab.columns.encoding import Task

__all__ = ["make_estimator", "most_folds", "scores"]

SCORES = {"regression": ("r2", "R²"), "classification": ("accuracy", "accuracy")}


def make_estimator(task: Task, seed: int) -> Any:
    """Ours, with its defaults."""
    return CLRegressor(random_state=seed) if task == "regression" else CLClassifier(random_state=seed)


def models(task: Task, seed: int) -> dict[str, Any]:
    """The models by title."""
    regression = task == "regression"
    linear = RidgeCV(numpy.geomspace(1e-4, 1e4, 17)) if regression else LogisticRegressionCV(max_iter=2000)
    boosting = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
    return {
        "chebact": make_estimator(task, seed),
        "ridge" if regression else "logistic": make_pipeline(StandardScaler(), linear),
        "gradient boosting": boosting(random_state=seed),
    }


def most_folds(task: Task, y: Any, folds: int) -> int:
    """No more folds than the rarest class has rows, and than there are pairs of rows."""
    rarest = int(numpy.unique(y, return_counts=True)[1].min()) if task == "classification" else len(y) // 2
    return min(folds, rarest)


def scores(task: Task, x: Any, y: Any, folds: int, seed: int) -> Iterator[tuple[str, str, float, float, float]]:
    """Of each model: its title, the name of the score, mean and deviation over the folds, and seconds."""
    deal = (KFold if task == "regression" else StratifiedKFold)(folds, shuffle=True, random_state=seed)
    scoring, name = SCORES[task]
    for title, model in models(task, seed).items():
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that another model stopped at its limit is no fault of the table
            found = cross_val_score(model, x, y, cv=deal, scoring=scoring)
        yield title, name, float(found.mean()), float(found.std()), time.perf_counter() - start
