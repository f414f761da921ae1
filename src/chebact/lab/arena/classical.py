"""Models of scikit-learn with their defaults, on standardised inputs and targets; what cannot do without is searched.

Each function takes the task, the number of columns and a seed.
"""

from __future__ import annotations

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

from chebact.lab.arena.entrants import Task

__all__ = ["boosting", "forest", "gaussian_process", "kernel_ridge", "linear", "mlp", "svm"]


def scaled(model: Any) -> Any:
    """A model on standardised inputs."""
    return make_pipeline(StandardScaler(), model)


def both_scaled(model: Any) -> Any:
    """A regressor on standardised inputs and targets."""
    return TransformedTargetRegressor(scaled(model), transformer=StandardScaler())


def matern(columns: int) -> Any:
    """A Matern kernel of order 5/2 with a length per column."""
    return ConstantKernel(1.0) * Matern(numpy.ones(columns), (1e-2, 1e3), nu=2.5)


def gaussian_process(task: Task, columns: int, seed: int) -> Any:
    """A Gaussian process; its lengths, and the noise of a regression, are those of the greatest likelihood."""
    if task == "classification":
        return scaled(GaussianProcessClassifier(matern(columns), random_state=seed))
    kernel = matern(columns) + WhiteKernel(1e-2, (1e-8, 1e1))
    return scaled(GaussianProcessRegressor(kernel, alpha=1e-10, normalize_y=True, random_state=seed))


def kernel_ridge(task: Task, columns: int, seed: int) -> Any:
    """Kernel ridge regression with a Gaussian kernel; its two numbers by search in three folds."""
    grid = {"alpha": [1e-4, 1e-3, 1e-2, 1e-1], "gamma": [each / columns for each in (0.03, 0.1, 0.3, 1.0)]}
    return both_scaled(GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=3))


def svm(task: Task, columns: int, seed: int) -> Any:
    """A support vector machine; for regression its bound by search in three folds."""
    if task == "classification":
        return scaled(SVC(random_state=seed))
    return both_scaled(GridSearchCV(SVR(epsilon=0.02), {"C": [1.0, 10.0, 100.0]}, cv=3))


def mlp(task: Task, columns: int, seed: int) -> Any:
    """scikit-learn's network of four layers of 32 units."""
    options: dict[str, Any] = {"hidden_layer_sizes": (32,) * 4, "max_iter": 300, "random_state": seed}
    return both_scaled(MLPRegressor(**options)) if task == "regression" else scaled(MLPClassifier(**options))


def boosting(task: Task, columns: int, seed: int) -> Any:
    """Gradient boosting of trees, by histograms."""
    kind = HistGradientBoostingRegressor if task == "regression" else HistGradientBoostingClassifier
    return kind(random_state=seed)


def forest(task: Task, columns: int, seed: int) -> Any:
    """A random forest of 100 trees."""
    kind = RandomForestRegressor if task == "regression" else RandomForestClassifier
    return kind(random_state=seed)


def linear(task: Task, columns: int, seed: int) -> Any:
    """Ridge or logistic regression, the penalty by search."""
    if task == "regression":
        return both_scaled(RidgeCV(numpy.geomspace(1e-4, 1e4, 17)))
    return scaled(LogisticRegressionCV(max_iter=2000, random_state=seed))
