"""What a record of the comparison on tables holds: the scores of one model on one data set, fold by fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from chebact.lab import LabError
from chebact.lab.forms import between
from chebact.lab.record import TypedRecord
from chebact.lab.spec import added
from chebact.lab.tables.spec import LEVELS, TableSpec

__all__ = ["RECORDS", "Fold", "Repeat", "TableRecord", "TableResults"]


@dataclass(frozen=True)
class Fold:
    """One fit: its score on the rows left out, processor seconds, and what models with probabilities or deviations
    have: the logarithmic loss, and the coverage of the intervals of `LEVELS`.
    """

    score: Annotated[float, between(0, 1e9)]
    seconds: Annotated[float, between(0, 1e9)]
    log_loss: float | None = added(None)
    coverage: tuple[Annotated[float, between(0, 1)], ...] | None = added(None)


@dataclass(frozen=True)
class Repeat:
    """The folds of one dealing of the rows."""

    folds: tuple[Fold, ...]


@dataclass(frozen=True)
class TableResults:
    """The size of the table, and one entry per repeat."""

    rows: int
    columns: int
    task: Literal["regression", "classification"]
    seeds: tuple[Repeat, ...]

    @property
    def folds(self) -> list[Fold]:
        """The folds of all repeats."""
        return [fold for repeat in self.seeds for fold in repeat.folds]


@dataclass(frozen=True)
class TableRecord(TypedRecord):
    """One model on one data set."""

    spec: TableSpec
    results: TableResults

    def __post_init__(self) -> None:
        spec, repeats = self.spec, self.results.seeds
        if len(repeats) != spec.repeats or any(len(repeat.folds) != spec.folds for repeat in repeats):
            raise LabError(f"results must have {spec.repeats} repeats of {spec.folds} folds")
        if any(len(fold.coverage) != len(LEVELS) for fold in self.results.folds if fold.coverage is not None):
            raise LabError(f"results must have the coverage of {len(LEVELS)} intervals")

    @property
    def trainings(self) -> int:
        """One per fold."""
        return len(self.results.folds)


RECORDS = {"tables": TableRecord}
