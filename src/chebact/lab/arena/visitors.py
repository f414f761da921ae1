"""Networks of other libraries as estimators: pykan, and RealMLP and TabM of pytabkit.

They are optional and have no types here; `python3 dev.py arena` installs them into an environment of their own.
"""

from __future__ import annotations

import contextlib
import io
import logging
from importlib import import_module
from typing import Any, Self

import numpy
import torch
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from chebact.lab.arena.entrants import Task

__all__ = ["Kan", "pykan", "realmlp", "tabm"]

Array = Any
TABM_SMALL = {"tabm_k": 16, "d_block": 256}


class Kan(BaseEstimator):  # type: ignore[misc]
    """A Kolmogorov-Arnold network of pykan with one hidden layer of five, as in its introduction: cubic splines on five
    intervals, 20 steps of L-BFGS, on standardised inputs and targets.
    """

    def __init__(self, task: Task, seed: int, steps: int = 20) -> None:
        self.task, self.seed, self.steps = task, seed, steps

    def fit(self, X: Array, y: Array) -> Self:
        """Learn y (row,) from X (row, column)."""
        regression = self.task == "regression"
        self.inputs_ = StandardScaler().fit(X)
        classes, codes = (None, y) if regression else numpy.unique(y, return_inverse=True)
        self.classes_: Array = classes
        self.centre_, self.scale_ = (float(y.mean()), float(y.std())) if regression else (0.0, 1.0)
        outputs = 1 if classes is None else len(classes)
        target = ((codes - self.centre_) / self.scale_)[:, None] if regression else codes
        kind = torch.float32 if regression else torch.int64
        self.network_ = import_module("kan").KAN(
            width=[X.shape[1], 5, outputs], grid=5, k=3, seed=self.seed, auto_save=False
        )
        x, goal = self.rows(X), torch.tensor(target, dtype=kind)
        data = {"train_input": x, "train_label": goal, "test_input": x, "test_label": goal}
        loss = None if regression else torch.nn.CrossEntropyLoss()
        with contextlib.redirect_stderr(io.StringIO()):  # where it draws its progress
            self.network_.fit(data, opt="LBFGS", steps=self.steps, loss_fn=loss, log=self.steps)
        return self

    def rows(self, X: Array) -> Any:
        """X as the network takes it."""
        return torch.tensor(self.inputs_.transform(X), dtype=torch.float32)

    def outputs(self, X: Array) -> Array:
        """What the network gives, (row, output)."""
        with torch.no_grad():
            return self.network_(self.rows(X)).double().numpy()

    def predict(self, X: Array) -> Array:
        """The prediction or the class, (row,)."""
        found = self.outputs(X)
        return (
            found[:, 0] * self.scale_ + self.centre_ if self.classes_ is None else self.classes_[found.argmax(axis=1)]
        )


def pykan(task: Task, columns: int, seed: int) -> Any:
    """A Kolmogorov-Arnold network."""
    return Kan(task, seed)


def tabular(kind: str, task: Task, seed: int, **options: Any) -> Any:
    """An estimator of pytabkit on one thread; its trainer's notes about devices are not shown."""
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    made = getattr(import_module("pytabkit"), f"{kind}_{'Regressor' if task == 'regression' else 'Classifier'}")
    return made(device="cpu", random_state=seed, n_threads=1, verbosity=0, **options)


def realmlp(task: Task, columns: int, seed: int) -> Any:
    """RealMLP with its tuned defaults."""
    return tabular("RealMLP_TD", task, seed)


def tabm(task: Task, columns: int, seed: int) -> Any:
    """TabM, smaller than its defaults, with which one fit of 800 rows took 306 s of a core."""
    return tabular("TabM_D", task, seed, **TABM_SMALL)
