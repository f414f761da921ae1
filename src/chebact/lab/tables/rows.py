"""The records of the comparison on tables as rows: one model on one data set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from chebact.lab.store import Record
from chebact.lab.tables.spec import spec_of

__all__ = ["Row", "rows_of"]


@dataclass(frozen=True)
class Row:
    """Mean and deviation of a score over all folds (the root mean square error in deviations of the target, or the
    share of wrong classes), the processor seconds of a fit, and the mean coverage of the intervals of `LEVELS`.
    """

    data: str
    model: str
    task: str
    rows: int
    columns: int
    fits: int
    score: float
    deviation: float
    seconds: float
    log_loss: float | None
    coverage: tuple[float, ...]

    @property
    def values(self) -> dict[str, Any]:
        """As plain values, for files."""
        return {**vars(self), "coverage": list(self.coverage)}


def rows_of(records: Iterable[Record]) -> list[Row]:
    """A row per record."""
    return [row_of(record) for record in records]


def row_of(record: Record) -> Row:
    spec, results = spec_of(record.spec), record.results
    folds = [fold for seed in results["seeds"] for fold in seed["folds"]]
    scores = [fold["score"] for fold in folds]
    losses = [fold["log_loss"] for fold in folds if "log_loss" in fold]
    covered = zip(*(fold["coverage"] for fold in folds if "coverage" in fold), strict=True)
    return Row(
        spec.data,
        spec.model,
        results["task"],
        results["rows"],
        results["columns"],
        len(folds),
        fmean(scores),
        stdev(scores) if len(scores) > 1 else 0.0,
        fmean(fold["seconds"] for fold in folds),
        fmean(losses) if losses else None,
        tuple(fmean(level) for level in covered),
    )
