"""The specs of the clinical experiment: what is learned from, by whom, and how often."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal, get_args

from chebact.lab import LabError
from chebact.lab.clinical.baselines import BASELINES, MAJORITY
from chebact.lab.clinical.table import Recordings
from chebact.lab.spec import check_choice, check_count
from chebact.table import ACTIVATIONS

__all__ = ["BaselineCohort", "ChoiceOfFeatures", "Labels", "NetworkCohort", "Shortcut", "Trial", "trial_of"]

Shortcut = Literal["average", "add"]
Labels = Literal["true", "shuffled"]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """The data and their folds. `digest` is that of the table with the features that were offered; `choice` says how
    those came about. With shuffled labels there is nothing to be learned, and what is found all the same is a leak.
    """

    data: str
    digest: str
    generated: bool
    recordings: int
    subjects: int
    positive: int
    features: int
    choice: str
    labels: Labels = "true"
    seeds: int = 30
    folds: int = 10

    def __post_init__(self) -> None:
        check_choice("kind of labels", self.labels, get_args(Labels))
        for what in ("seeds", "folds", "features"):
            check_count(what, getattr(self, what))

    @classmethod
    def of(cls, table: Recordings, choice: str, *, labels: Labels, seeds: int, folds: int) -> Trial:
        """The trial on a table."""
        return Trial(
            data=table.name,
            digest=table.digest,
            generated=table.generated,
            recordings=table.size[0],
            subjects=len(set(table.subjects)),
            positive=table.positive,
            features=table.size[1],
            choice=choice,
            labels=labels,
            seeds=seeds,
            folds=folds,
        )

    def folder(self, results: Path) -> Path:
        """Where the records of this data lie."""
        return results / (self.data if self.labels == "true" else f"{self.data}-shuffled")


def trial_of(spec: Trial) -> dict[str, object]:
    """The fields that a spec has as a trial."""
    mine = asdict(spec)
    return {field.name: mine[field.name] for field in fields(Trial)}


@dataclass(frozen=True, kw_only=True)
class BaselineCohort(Trial):
    """The spec of one record: a model without widths and epochs on all seeds and folds of a trial."""

    model: str

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("baseline", self.model, BASELINES)

    def path(self, results: Path) -> Path:
        """Where its record lies below the results folder."""
        return self.folder(results) / "baselines" / f"{self.model}.json"

    def cost(self) -> float:
        """About how many seconds of one core it takes."""
        seconds = {MAJORITY: 0.0003, "logistic": 0.01, "svm": 0.01, "forest": 0.2, "boosting": 0.15}
        return self.seeds * self.folds * seconds[self.model] * self.recordings / 407


@dataclass(frozen=True, kw_only=True)
class NetworkCohort(Trial):
    """The spec of one record: a network of one width on all seeds and folds of a trial. The settings are the paper's
    by default.
    """

    model: str
    width: int
    shortcut: Shortcut = "average"
    epochs: int = 300
    batch_size: int = 32
    learning_rate: float = 0.01
    momentum: float = 0.9
    weight_decay: float = 1e-4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("model", self.model, (*ACTIVATIONS, MAJORITY))
        check_choice("shortcut", self.shortcut, get_args(Shortcut))
        for what in ("width", "epochs", "batch_size"):
            check_count(what, getattr(self, what))

    def path(self, results: Path) -> Path:
        """Where its record lies below the results folder."""
        return self.folder(results) / self.shortcut / f"{self.model}-{self.width}.json"

    def cost(self) -> float:
        """About how many seconds of one core it takes."""
        steps = self.seeds * self.folds * self.epochs * self.recordings / self.batch_size
        return steps * (30 + self.features * self.width / 100 + self.width**2 / 50) * 1e-6


@dataclass(frozen=True, kw_only=True)
class ChoiceOfFeatures(Trial):
    """The spec of one record: features chosen by Boruta for the table `wanted_for`, in all folds of one seed, or once
    on another cohort (`seed` is None).
    """

    wanted_for: str
    seed: int | None
    trees: int = 150
    rounds: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("trees", self.trees)
        check_count("rounds", self.rounds)
        if self.rounds < 2:
            raise LabError("Boruta needs 2 rounds or more; got --rounds 1")

    def path(self, results: Path) -> Path:
        """Where its record lies below the results folder."""
        if self.seed is None:
            return results / self.wanted_for / "choice" / "cohort.json"
        return self.folder(results) / "choice" / f"seed-{self.seed:02d}.json"

    def cost(self) -> float:
        """About how many seconds of one core it takes."""
        fits = self.rounds * (1 if self.seed is None else self.folds)
        return fits * self.trees * (1 + self.features / 100) * self.recordings / 407 * 6e-4
