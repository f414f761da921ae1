"""The models of the arena, one row each. The makers are imported when a model is fitted.

To enter a model, write a function `make(task, columns, seed)` that returns an estimator of scikit-learn, and add a row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from chebact.lab.environment import installed_version

__all__ = ["ENTRANTS", "OURS", "SINGLE", "Entrant", "Task", "missing_packages"]

Task = Literal["regression", "classification"]
Group = Literal["chebact", "same network", "other"]
OURS, SINGLE = "cl", "cl-single"
HERE = "chebact.lab.arena"


@dataclass(frozen=True)
class Entrant:
    """A row: `make` names the function that makes the estimator, `options` are its further arguments, `seconds` is
    about what a fit takes on one core. A slow model has fewer `splits`, only the sets of `CORE`, or none of more than
    `most` rows times columns. `beside` is which of ours it is compared with: the ensemble, or the single network.
    """

    name: str
    title: str
    group: Group
    make: str
    seconds: float
    options: Mapping[str, Any] = field(default_factory=dict)
    beside: str = OURS
    splits: int = 1000
    core: bool = False
    most: float = math.inf
    tasks: tuple[Task, ...] = ("regression", "classification")
    packages: tuple[str, ...] = ()


def network(name: str, title: str, seconds: float, **options: Any) -> Entrant:
    """The network of the estimators with another activation, as an ensemble of ten."""
    return Entrant(name, title, "same network", f"{HERE}.networks:make_estimator", seconds, options, core=True)


def single(name: str, title: str, seconds: float, core: bool, *packages: str) -> Entrant:
    """One network with another activation. Those that the compiled trainer does not know are slow."""
    activation = name.removesuffix("-single")
    options = {"activation": activation, "replicas": 1}
    make = f"{HERE}.networks:make_estimator"
    limits: dict[str, Any] = {"splits": 1, "core": True} if core else {}
    return Entrant(name, title, "same network", make, seconds, options, beside=SINGLE, packages=packages, **limits)


def classical(name: str, title: str, seconds: float, **limits: Any) -> Entrant:
    """A model of scikit-learn."""
    return Entrant(name, title, "other", f"{HERE}.classical:{name.replace('-', '_')}", seconds, **limits)


def visitor(name: str, title: str, seconds: float, package: str, splits: int = 2) -> Entrant:
    """A network of another library, which is installed beside the project: `python3 dev.py arena`."""
    make = f"{HERE}.visitors:{name.replace('-', '_')}"
    return Entrant(name, title, "other", make, seconds, splits=splits, core=True, packages=(package,))


ENTRANTS: dict[str, Entrant] = {
    row.name: row
    for row in (
        Entrant(OURS, "chebact", "chebact", f"{HERE}.networks:make_estimator", 1.4),
        Entrant(SINGLE, "chebact (one)", "chebact", f"{HERE}.networks:make_estimator", 0.2, {"replicas": 1}),
        network("relu", "ReLU (ten)", 1.2, activation="relu"),
        network("tanh", "tanh (ten)", 1.4, activation="tanh"),
        single("relu-single", "ReLU (one)", 0.2, False),
        single("tanh-single", "tanh (one)", 0.2, False),
        single("gelu-single", "GELU (one)", 16.0, True),
        single("silu-single", "SiLU (one)", 16.0, True),
        single("prelu-single", "PReLU (one)", 16.0, True),
        single("rational-activations-single", "rational-activations (one)", 55.0, True, "rational-activations"),
        single("torchortho-single", "torchortho (one)", 55.0, True, "torchortho"),
        single("deepsplines-single", "deepsplines (one)", 55.0, True, "deepsplines"),
        single("torchcurves-single", "torchcurves (one)", 55.0, True, "torchcurves"),
        visitor("pykan", "pykan", 4.0, "pykan"),
        visitor("realmlp", "RealMLP", 8.0, "pytabkit"),
        visitor("tabm", "TabM, small", 20.0, "pytabkit", splits=1),
        classical("gaussian-process", "Gaussian process", 4.0, splits=2, most=50_000),
        classical("kernel-ridge", "kernel ridge", 0.4, tasks=("regression",)),
        classical("svm", "SVM", 0.6),
        classical("mlp", "MLP", 0.25),
        classical("boosting", "gradient boosting", 0.2),
        classical("forest", "random forest", 0.3),
        classical("linear", "ridge, logistic", 0.03),
    )
}
"""The table by name, in the order in which it is shown."""


def missing_packages(entrant: Entrant) -> list[str]:
    """The packages that a model needs and that are not installed."""
    return [name for name in entrant.packages if installed_version(name) is None]
