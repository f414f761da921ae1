"""The records of the arena as rows: one model on one data set."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import Any

from chebact.lab.arena.record import ArenaRecord, ArenaResults
from chebact.lab.arena.spec import ArenaSpec

__all__ = ["Row", "rows_of"]


@dataclass(frozen=True)
class Row:
    """`scores` has the root mean square error in deviations of the target, or the share of wrong classes, of each
    split; infinity for a fit that failed. The seconds are medians of the splits, the coverage is that of the intervals
    of `LEVELS`.
    """

    data: str
    model: str
    task: str
    family: str
    rows: int
    columns: int
    scores: tuple[float, ...]
    seconds: float = 0.0
    predict_seconds: float = 0.0
    total_seconds: float = 0.0
    parameters: int | None = None
    log_loss: float | None = None
    coverage: tuple[float, ...] = ()

    @property
    def score(self) -> float:
        """The mean of the splits; infinity where a fit failed."""
        return fmean(self.scores)

    @property
    def deviation(self) -> float | None:
        """The sample deviation over the splits; None of a single one, and where a fit failed."""
        return stdev(self.scores) if len(self.scores) > 1 and math.isfinite(self.score) else None

    @property
    def failed(self) -> int:
        """How many fits failed."""
        return sum(not math.isfinite(score) for score in self.scores)

    @property
    def score_text(self) -> str:
        """The score for people."""
        return f"{self.failed} of {len(self.scores)} failed" if self.failed else f"{self.score:.4g}"

    @property
    def values(self) -> dict[str, Any]:
        """As plain values, for files: None for the score of a fit that failed."""
        scores = [score if math.isfinite(score) else None for score in self.scores]
        mean = {"score": None if self.failed else self.score, "deviation": self.deviation, "failed": self.failed}
        return {**vars(self), **mean, "scores": scores, "coverage": list(self.coverage)}


def rows_of(records: Iterable[ArenaRecord]) -> list[Row]:
    """A row per record."""
    return [row_of(record.spec, record.results) for record in records]


def row_of(spec: ArenaSpec, results: ArenaResults) -> Row:
    splits = results.splits
    losses = [split.log_loss for split in splits if split.log_loss is not None]
    covered = zip(*(split.coverage for split in splits if split.coverage is not None), strict=True)
    return Row(
        spec.data,
        spec.model,
        results.task,
        results.family,
        results.rows,
        results.columns,
        tuple(math.inf if split.score is None else split.score for split in splits),
        median(split.seconds for split in splits),
        median(split.predict_seconds for split in splits),
        sum(split.seconds + split.predict_seconds for split in splits),
        results.parameters,
        fmean(losses) if losses else None,
        tuple(fmean(level) for level in covered),
    )
