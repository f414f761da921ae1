"""The models that are compared: ours with its defaults, and scikit-learn's on standardised inputs and targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from chebact.estimators import CLClassifier, CLRegressor

__all__ = ["MODELS", "OURS", "Model"]

Maker = Callable[[int, int], Any]  # of the number of columns and a seed
OURS = "cl"


@dataclass(frozen=True)
class Model:
    """A row. A maker takes the number of columns and a seed; None where there is no such model for a task. A model
    that takes long has that many `repeats` at the most, and no sets of more than `most` rows times columns.
    """

    name: str
    title: str
    regressor: Maker | None
    classifier: Maker | None
    repeats: int = 1000
    most: float = numpy.inf


def scaled(model: Any) -> Any:
    """A classifier on standardised inputs."""
    return make_pipeline(StandardScaler(), model)


def both_scaled(model: Any) -> Any:
    """A regressor on standardised inputs and targets."""
    return TransformedTargetRegressor(scaled(model), transformer=StandardScaler())


def matern(columns: int) -> Any:
    """A Matern kernel of order 5/2 with a length per column."""
    return ConstantKernel(1.0) * Matern(numpy.ones(columns), (1e-2, 1e3), nu=2.5)


def gaussian_process(columns: int, seed: int) -> Any:
    """A Gaussian process whose noise and lengths are those of the greatest likelihood."""
    kernel = matern(columns) + WhiteKernel(1e-2, (1e-8, 1e1))
    return make_pipeline(
        StandardScaler(), GaussianProcessRegressor(kernel, alpha=1e-10, normalize_y=True, random_state=seed)
    )


def kernel_ridge(columns: int, seed: int) -> Any:
    """Kernel ridge regression with a Gaussian kernel; its two numbers by search in three folds."""
    grid = {"alpha": [1e-4, 1e-3, 1e-2, 1e-1], "gamma": [each / columns for each in (0.03, 0.1, 0.3, 1.0)]}
    return both_scaled(GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=3))


def support_vectors(columns: int, seed: int) -> Any:
    """A support vector machine; its bound by search in three folds."""
    return both_scaled(GridSearchCV(SVR(epsilon=0.02), {"C": [1.0, 10.0, 100.0]}, cv=3))


MODELS: dict[str, Model] = {
    row.name: row
    for row in (
        Model(
            OURS,
            "chebact",
            lambda columns, seed: CLRegressor(random_state=seed),
            lambda columns, seed: CLClassifier(random_state=seed),
        ),
        Model(
            "mlp",
            "MLP",
            lambda columns, seed: both_scaled(
                MLPRegressor(hidden_layer_sizes=(32,) * 4, max_iter=300, random_state=seed)
            ),
            lambda columns, seed: scaled(MLPClassifier(hidden_layer_sizes=(32,) * 4, max_iter=300, random_state=seed)),
        ),
        Model(
            "linear",
            "ridge or logistic",
            lambda columns, seed: both_scaled(RidgeCV(numpy.geomspace(1e-4, 1e4, 17))),
            lambda columns, seed: scaled(LogisticRegressionCV(max_iter=2000, random_state=seed)),
        ),
        Model(
            "forest",
            "random forest",
            lambda columns, seed: RandomForestRegressor(random_state=seed),
            lambda columns, seed: RandomForestClassifier(random_state=seed),
        ),
        Model(
            "boosting",
            "gradient boosting",
            lambda columns, seed: HistGradientBoostingRegressor(random_state=seed),
            lambda columns, seed: HistGradientBoostingClassifier(random_state=seed),
        ),
        Model("svm", "SVM", support_vectors, lambda columns, seed: scaled(SVC(random_state=seed))),
        Model("kernel-ridge", "kernel ridge", kernel_ridge, None),
        Model(
            "gaussian-process",
            "Gaussian process",
            gaussian_process,
            lambda columns, seed: scaled(GaussianProcessClassifier(matern(columns), random_state=seed)),
            repeats=1,
            most=50_000,
        ),
    )
}
"""The table by name."""
