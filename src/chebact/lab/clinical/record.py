"""What clinical records hold: counts of right and wrong per fold, and the features that Boruta chose."""

from __future__ import annotations

from dataclasses import dataclass

from chebact.lab import LabError
from chebact.lab.clinical.spec import BaselineSpec, ChoiceSpec, NetworkSpec
from chebact.lab.record import TypedRecord
from chebact.lab.spec import added

__all__ = ["RECORDS", "ChoiceRecord", "ChoiceResults", "ClinicalRecord", "ClinicalResults", "FoldChoice", "Seed"]


@dataclass(frozen=True)
class Seed:
    """The folds of one seed: true and false positives, true and false negatives, None where a training diverged."""

    folds: tuple[tuple[int, int, int, int] | None, ...]
    seed: int = added(0)
    roc_auc: tuple[float | None, ...] | None = added(None)
    loss: float | None = added(None)


@dataclass(frozen=True)
class ClinicalResults:
    """One entry per seed; the parameters of a network whose size is the same in all folds."""

    parameters: int | None
    seeds: tuple[Seed, ...]


@dataclass(frozen=True)
class ClinicalRecord(TypedRecord):
    """One model on all seeds and folds."""

    spec: NetworkSpec | BaselineSpec
    results: ClinicalResults

    def __post_init__(self) -> None:
        seeds, folds = self.results.seeds, self.spec.folds
        if len(seeds) != self.spec.seeds or any(len(seed.folds) != folds for seed in seeds):
            raise LabError(f"results must have {self.spec.seeds} seeds of {folds} folds")
        if any(sum(fold) == 0 for seed in seeds for fold in seed.folds if fold is not None):
            raise LabError("results must have a recording in every fold")

    @property
    def trainings(self) -> int:
        """One per seed and fold."""
        return sum(len(seed.folds) for seed in self.results.seeds)


@dataclass(frozen=True)
class FoldChoice:
    """The columns chosen in one fold, and how: confirmed, tentative, or the best rank."""

    columns: tuple[int, ...]
    how: str


@dataclass(frozen=True)
class ChoiceResults:
    """Features by name, chosen on another cohort; or columns, chosen in each fold of one seed."""

    features: tuple[str, ...] | None = added(None)
    how: str = added("confirmed")
    folds: tuple[FoldChoice, ...] | None = added(None)

    def __post_init__(self) -> None:
        if (self.features is None) == (self.folds is None):
            raise LabError("results must have either features or folds")


@dataclass(frozen=True)
class ChoiceRecord(TypedRecord):
    """Features chosen by Boruta."""

    spec: ChoiceSpec
    results: ChoiceResults


RECORDS = {"clinical": ClinicalRecord, "clinical-choice": ChoiceRecord}
