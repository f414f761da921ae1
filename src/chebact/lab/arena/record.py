"""What a record of the arena holds: the scores of one model on one data set, split by split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from chebact.lab import LabError
from chebact.lab.arena.spec import LEVELS, ArenaSpec
from chebact.lab.forms import between
from chebact.lab.record import TypedRecord
from chebact.lab.spec import added

__all__ = ["RECORDS", "ArenaRecord", "ArenaResults", "Split"]

Seconds = Annotated[float, between(0, 1e9)]


@dataclass(frozen=True)
class Split:
    """One fit: its score on the test rows, and processor seconds of fit and prediction. Models with probabilities have
    the logarithmic loss, those with deviations the coverage of the intervals of `LEVELS`. A fit that `failed` has the
    reason, and no score.
    """

    score: Annotated[float, between(0, 1e9)] | None
    seconds: Seconds
    predict_seconds: Seconds
    log_loss: float | None = added(None)
    coverage: tuple[Annotated[float, between(0, 1)], ...] | None = added(None)
    failed: str | None = added(None)


@dataclass(frozen=True)
class ArenaResults:
    """The size of the table, the number of the model's parameters where it has a fixed one, and the splits."""

    rows: int
    columns: int
    task: Literal["regression", "classification"]
    family: str
    parameters: int | None
    splits: tuple[Split, ...]


@dataclass(frozen=True)
class ArenaRecord(TypedRecord):
    """One model on one data set."""

    spec: ArenaSpec
    results: ArenaResults

    def __post_init__(self) -> None:
        splits = self.results.splits
        if len(splits) != self.spec.splits:
            raise LabError(f"results must have {self.spec.splits} splits, got {len(splits)}")
        if any(len(split.coverage) != len(LEVELS) for split in splits if split.coverage is not None):
            raise LabError(f"results must have the coverage of {len(LEVELS)} intervals")
        if any((split.score is None) == (split.failed is None) for split in splits):
            raise LabError("results must have a score or the reason of a failure in every split")

    @property
    def trainings(self) -> int:
        """One per split."""
        return len(self.results.splits)


RECORDS = {"arena": ArenaRecord}
