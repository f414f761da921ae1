"""The spec of the comparison on tables: one model on one data set, with all its folds.

The fields of `TableRequest` are options of `chebact run tables`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from chebact.lab.options import Integer, Several, about
from chebact.lab.spec import check_choice, check_count

__all__ = ["LEVELS", "SECONDS", "TableRequest", "TableSpec"]

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""The intervals whose coverage a record of a model with deviations has."""

SECONDS = {
    "cl": 2.0,
    "mlp": 0.3,
    "linear": 0.03,
    "forest": 0.3,
    "boosting": 0.2,
    "svm": 0.4,
    "kernel-ridge": 0.4,
    "gaussian-process": 8.0,
}
"""About how long a fit of each model takes on one core; the models by name."""


@dataclass(frozen=True, kw_only=True)
class TableSpec:
    """The spec of one record. Every repeat deals the rows into folds anew; all models have the same folds."""

    data: str
    model: str
    folds: int = 5
    repeats: int = 2

    def __post_init__(self) -> None:
        check_choice("model", self.model, SECONDS)
        for what in ("folds", "repeats"):
            check_count(what, getattr(self, what))

    @property
    def seeds(self) -> int:
        """How many fits its record holds."""
        return self.folds * self.repeats

    def path(self, results: Path) -> Path:
        """Where its record lies below the results folder."""
        return results / self.data / f"{self.model}.json"

    def cost(self) -> float:
        """About how many seconds of one core it takes."""
        return self.seeds * SECONDS[self.model]


@dataclass(frozen=True, kw_only=True)
class TableRequest:
    """What one command asks for."""

    datasets: Annotated[tuple[str, ...], Several, about("Names of data sets; all by default.")] = ()
    models: Annotated[tuple[str, ...], Several, about("Models to compare.")] = tuple(SECONDS)
    folds: Annotated[Integer, about("Parts that the rows are dealt into.")] = 5
    repeats: Annotated[Integer, about("How often they are dealt anew.")] = 2
