"""The specs of the clinical experiment: the data, the models, and the repetitions.

The fields of `ClinicalSettings` are options of `chebact run clinical`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from chebact.lab import LabError
from chebact.lab.clinical.baselines import BASELINES, MAJORITY
from chebact.lab.clinical.table import Recordings
from chebact.lab.options import Integer, Several, about
from chebact.lab.spec import added, check_choice, check_count, parts_of
from chebact.lab.starts import HE_UNIFORM, PAPER, RELEASED, Start, WeightStart

__all__ = [
    "BaselineSpec",
    "ChoiceSpec",
    "ClinicalSettings",
    "FoldSettings",
    "NetworkSettings",
    "NetworkSpec",
    "Trial",
]

Shortcut = Literal["average", "add"]
Labels = Literal["true", "shuffled"]
NONE = "none"
IN_FOLDS, ON_COHORT = "boruta in folds", "boruta on "  # how the features were chosen, as records say it


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """Which models are compared."""

    models: Annotated[tuple[str, ...], Several, about("1-class, and activations of the table; or the word none.")] = (
        MAJORITY,
        "relu",
        "tanh",
        "cl-extrapolate",
    )
    baselines: Annotated[tuple[str, ...], Several, about("Models of scikit-learn; or the word none.")] = tuple(
        name for name in BASELINES if name != MAJORITY
    )
    widths: Annotated[tuple[Integer, ...], Several, about("Widths of the networks.")] = (32, 64)


@dataclass(frozen=True, kw_only=True)
class FoldSettings:
    """How often, and in what parts."""

    seeds: Annotated[Integer, about("Draws of the folds.")] = 30
    folds: Annotated[Integer, about("Parts that the subjects are split in.")] = 10
    labels: Annotated[Labels, about("Shuffled by subject, balanced accuracy is 50 % unless there is a leak.")] = "true"


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """How a network is built and trained."""

    epochs: Annotated[Integer, about("Passes over the data.")] = 300
    shortcut: Annotated[
        Shortcut, about("Average a block with its input, as in the paper, or add it, as in the released code.")
    ] = "average"
    init: Start = added(PAPER)
    start: WeightStart = added(RELEASED)


@dataclass(frozen=True, kw_only=True)
class ChoiceSettings:
    """How Boruta chooses features."""

    trees: Annotated[Integer, about("Trees of Boruta's forest.")] = 150
    rounds: Annotated[Integer, about("Rounds of Boruta at the most.")] = 100


@dataclass(frozen=True, kw_only=True)
class ClinicalSettings(ChoiceSettings, NetworkSettings, FoldSettings, ModelSettings):
    """What all runs of one command share, and which there are."""


@dataclass(frozen=True, kw_only=True)
class Trial(FoldSettings):
    """The data and their folds. `digest` is that of the table with the features that were offered; `choice` says how
    they were chosen. With shuffled labels there is nothing to learn: a score above chance is a leak.
    """

    data: str
    digest: str
    generated: bool
    recordings: int
    subjects: int
    positive: int
    features: int
    choice: str

    def __post_init__(self) -> None:
        check_choice("kind of labels", self.labels, get_args(Labels))
        for what in ("seeds", "folds", "features"):
            check_count(what, getattr(self, what))

    @classmethod
    def for_table(cls, table: Recordings, choice: str, settings: FoldSettings, **more: Any) -> Self:
        """The spec on a table, features chosen in this way; `more` are the other fields."""
        return cls(
            data=table.name,
            digest=table.digest,
            generated=table.generated,
            recordings=table.size[0],
            subjects=len(set(table.subjects)),
            positive=table.positive,
            features=table.size[1],
            choice=choice,
            **{**parts_of(settings, FoldSettings), **more},
        )

    def folder(self, results: Path) -> Path:
        """The folder of the records of this data."""
        return results / (self.data if self.labels == "true" else f"{self.data}-shuffled")


@dataclass(frozen=True, kw_only=True)
class BaselineSpec(Trial):
    """The spec of one record: a model without widths and epochs on all seeds and folds of a trial."""

    model: str

    def path(self, results: Path) -> Path:
        """The path of its record below the results folder."""
        return self.folder(results) / "baselines" / f"{self.model}.json"

    def cost(self) -> float:
        """About how many seconds of one core it takes."""
        seconds = {MAJORITY: 0.0003, "logistic": 0.01, "svm": 0.01, "forest": 0.2, "boosting": 0.15}
        return self.seeds * self.folds * seconds[self.model] * self.recordings / 407


@dataclass(frozen=True, kw_only=True)
class NetworkSpec(NetworkSettings, Trial):
    """The spec of one record: a network of one width on all seeds and folds of a trial. The settings are the paper's
    by default.
    """

    model: str
    width: int
    batch_size: int = 32
    learning_rate: float = 0.01
    momentum: float = 0.9
    weight_decay: float = 1e-4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("shortcut", self.shortcut, get_args(Shortcut))
        check_choice("start", self.start, (RELEASED, HE_UNIFORM))
        for what in ("width", "epochs", "batch_size"):
            check_count(what, getattr(self, what))

    def path(self, results: Path) -> Path:
        """The path of its record below the results folder."""
        folder = self.shortcut if self.start == RELEASED else f"{self.shortcut}-start-{self.start}"
        return self.folder(results) / folder / f"{self.model}-{self.width}.json"

    def cost(self) -> float:
        """About how many seconds of one core it takes."""
        steps = self.seeds * self.folds * self.epochs * self.recordings / self.batch_size
        return steps * (30 + self.features * self.width / 100 + self.width**2 / 50) * 1e-6


@dataclass(frozen=True, kw_only=True)
class ChoiceSpec(ChoiceSettings, Trial):
    """The spec of one record: features chosen by Boruta for the table `wanted_for`, in all folds of one seed, or once
    on another cohort (`seed` is None).
    """

    wanted_for: str
    seed: int | None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("trees", self.trees)
        check_count("rounds", self.rounds)
        if self.rounds < 2:
            raise LabError("`rounds` must be 2 or more, which Boruta needs, got 1")

    def path(self, results: Path) -> Path:
        """The path of its record below the results folder."""
        if self.seed is None:
            return results / self.wanted_for / "choice" / "cohort.json"
        return self.folder(results) / "choice" / f"seed-{self.seed:02d}.json"

    def cost(self) -> float:
        """About how many seconds of one core it takes."""
        fits = self.rounds * (1 if self.seed is None else self.folds)
        return fits * self.trees * (1 + self.features / 100) * self.recordings / 407 * 6e-4
