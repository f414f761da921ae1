"""The records of the comparison on tables as rows: one model on one data set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from chebact.lab.tables.record import TableRecord, TableResults
from chebact.lab.tables.spec import TableSpec

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


def rows_of(records: Iterable[TableRecord]) -> list[Row]:
    """A row per record."""
    return [row_of(record.spec, record.results) for record in records]


def row_of(spec: TableSpec, results: TableResults) -> Row:
    folds = results.folds
    scores = [fold.score for fold in folds]
    losses = [fold.log_loss for fold in folds if fold.log_loss is not None]
    covered = zip(*(fold.coverage for fold in folds if fold.coverage is not None), strict=True)
    return Row(
        spec.data,
        spec.model,
        results.task,
        results.rows,
        results.columns,
        len(folds),
        fmean(scores),
        stdev(scores) if len(scores) > 1 else 0.0,
        fmean(fold.seconds for fold in folds),
        fmean(losses) if losses else None,
        tuple(fmean(level) for level in covered),
    )
