"""The specs of the synthetic experiment: what a command asks for, what one record is of.

The fields of `SyntheticRequest` are the options of `chebact run synthetic`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from chebact.lab import LabError
from chebact.lab.forms import between
from chebact.lab.functions import DATASETS, RECIPE_FORMS, RecipeForm, published_split
from chebact.lab.options import Integer, Several, about
from chebact.lab.spec import added, check_choice, check_count, check_noise, parts_of, stream
from chebact.lab.starts import PAPER, RELEASED, Start, WeightStart, check_start, resolve_start, takes_start
from chebact.networks.residual_mlp import ARCHITECTURES
from chebact.training import RECOMMENDED
from chebact.training.losses import Loss, absolute_error, scaled_huber_error, squared_error

__all__ = ["LOSSES", "SyntheticRequest", "SyntheticSpec", "usual_order"]

TOGETHER = 144  # replicas in one batch: enough to hide the overhead of a step, few enough for the last-level cache
COLUMNS = 5  # inputs of the widest network of the paper's data; data with fewer features have zeros there
ALL = ("all",)
LOSSES: dict[str, Loss] = {
    "absolute": absolute_error,
    "mse": squared_error,
    "scaled-huber": scaled_huber_error,
}
RECOMMENDED_MODELS = ("cl-extrapolate",)
ColumnOrder = Literal["fixed", "per-seed"]
LossName = Literal["absolute", "mse", "scaled-huber"]


def usual_order(recipes: RecipeForm) -> ColumnOrder:
    """How the columns are ordered unless a request says otherwise: every published repeat had an order of its own."""
    return "per-seed" if recipes == "released" else "fixed"


def usual_loss(recipes: RecipeForm) -> str:
    """The name of the loss unless a request says otherwise."""
    wanted = RECOMMENDED.loss if recipes == "recommended" else absolute_error
    return next(name for name, loss in LOSSES.items() if loss is wanted)


@dataclass(frozen=True)
class Cell:
    """One cell of the tables."""

    model: str
    dataset: str
    noise: Annotated[float, between(0, 1e100)]


@dataclass(frozen=True)
class Cells:
    """All cells of some rows, columns and tables."""

    models: Annotated[tuple[str, ...], Several, about("Networks of the paper's table.")] = ALL
    datasets: Annotated[tuple[str, ...], Several, about("Data sets of the paper.")] = ALL
    noise: Annotated[tuple[float, ...], Several, about("Deviations of the noise on the training targets.")] = (
        0.01,
        0.04,
    )


@dataclass(frozen=True)
class Settings:
    """What all runs of one command share."""

    recipes: Annotated[
        RecipeForm,
        about(
            "The functions as the paper prints them, or as the published figures were made; recommended is our "
            "training on the latter.",
            "--recipe",
        ),
    ] = "paper"
    seeds: Annotated[Integer, about("Trainings of each network on each data set.")] = 10
    epochs: Annotated[Integer, about("Passes over the data; 1,000 in place of 300 for recommended.")] = 300
    init: Start = added(PAPER)
    form: Annotated[
        Literal["paper", "released"],
        about(
            "The networks of the published figures, or those of the paper's text: with an activation before the last "
            "layer in CL, WCP, PCS-CL and tanh-CL too, which are all models then."
        ),
    ] = "released"
    start: WeightStart = added(RELEASED)
    loss: Annotated[
        LossName | None,
        about("The loss; scaled-huber for recommended, absolute for the others by default."),
    ] = None
    column_order: Annotated[
        ColumnOrder | None,
        about(
            "The order in which a function takes the columns after the first: one for all, or one per seed as in the "
            "published repeats; per-seed for released by default."
        ),
    ] = None


@dataclass(frozen=True)
class SyntheticSpec(Settings, Cell):
    """One record: a network, a data set, a noise level, all seeds. The settings are the paper's by default."""

    points: int = 1000
    batch_size: int = 32
    learning_rate: float = 0.01
    momentum: float = 0.99
    weight_decay: float = 1e-6
    loss: LossName = added("absolute")
    column_order: ColumnOrder = added("fixed")
    nesterov: bool = added(False)
    heights_decay: float | None = added(None)
    curvature: float = added(0.0)
    degree: int = added(3)

    def __post_init__(self) -> None:
        check_choice("model", self.model, ARCHITECTURES)
        check_choice("data set", self.dataset, DATASETS)
        check_choice("form of the recipes", self.recipes, RECIPE_FORMS)
        check_choice("form of the network", self.form, ("paper", "released"))
        check_choice("start", self.start, ("released", "he-uniform"))
        check_choice("loss", self.loss, LOSSES)
        check_choice("column order", self.column_order, ("fixed", "per-seed"))
        check_noise(self.noise)
        check_start(self.init, self.activation)
        for what in ("seeds", "epochs", "points", "batch_size"):
            check_count(what, getattr(self, what))

    def path(self, results: Path) -> Path:
        """The path of its record below the results folder."""
        short = f"{self.noise:g}"
        noise = short if float(short) == self.noise else repr(self.noise)  # two levels never share a folder
        folder = "-".join(word.replace(" ", "-") for word in (self.recipes, *self.changes))
        return results / folder / noise / f"{self.model}-{self.dataset}.json"

    @property
    def changes(self) -> tuple[str, ...]:
        """Which of the choices that the paper leaves open differ from the usual ones of its recipes, in words.

        >>> SyntheticSpec("relu", "step", 0.01, "released", loss="mse", column_order="per-seed").changes
        ('loss mse',)
        """
        words = {
            f"form {self.form}": self.form != "released",
            f"start {self.start}": self.start != RELEASED,
            f"loss {self.loss}": self.loss != usual_loss(self.recipes),
            f"{self.column_order} columns": self.column_order != usual_order(self.recipes),
        }
        return tuple(word for word, there in words.items() if there)

    def cost(self) -> float:
        """How long it takes, in no particular unit: layers times replicas times epochs."""
        row = ARCHITECTURES[self.model]
        return (2 + row.blocks * row.layers) * self.seeds * self.epochs

    @property
    def activation(self) -> str:
        """The activation of its network."""
        return ARCHITECTURES[self.model].activation

    @property
    def columns(self) -> int:
        """The inputs of its network. Those with the same number are trained together."""
        return max(COLUMNS, DATASETS[self.dataset].features)

    def data(self, part: Literal["train", "test"]) -> tuple[Tensor, Tensor]:
        """x (points, features), one draw per data set for every network, noise level and seed, and y (seed, points, 1).

        The test targets have no noise, so an RMSE below the noise level is right.
        """
        options: dict[str, Any] = {"noise": self.noise, "recipes": self.recipes, "points": self.points}
        splits = [published_split(self.dataset, **options, columns=order) for order in self.orders()]
        drawn = [train if part == "train" else test for train, test in splits]
        return drawn[0][0], torch.stack([y for _, y in drawn])

    def orders(self) -> list[list[int]]:
        """The order of the columns per seed, the same for every network and noise level. The first column stays."""
        features = DATASETS[self.dataset].features
        if self.column_order == "fixed":
            return [list(range(features))] * self.seeds
        streams = (stream("synthetic", "columns", self.dataset, seed) for seed in range(self.seeds))
        return [[0, *(1 + torch.randperm(features - 1, generator=each)).tolist()] for each in streams]

    def generators(self, purpose: Literal["start", "order"]) -> list[torch.Generator]:
        """One generator per seed, for the first weights or for the order of the data."""
        words = ("synthetic", purpose, self.model, self.dataset, self.noise, self.recipes)
        return [stream(*words, seed) for seed in range(self.seeds)]


@dataclass(frozen=True)
class SyntheticRequest(Settings, Cells):
    """What one command asks for: every model on every data set at every noise level."""

    def groups(self) -> list[list[SyntheticSpec]]:
        """The specs that are trained together, the longest trainings first."""
        models, datasets = self.named_models(), resolve_names(self.datasets, DATASETS)
        if not (models and datasets and self.noise):
            raise LabError("nothing is asked for: name one model, one data set and one noise level at least")
        groups = [group for model in models for group in self.groups_of(model, datasets)]
        return sorted(groups, key=lambda group: sum(spec.cost() for spec in group), reverse=True)

    def named_models(self) -> list[str]:
        """The models that are asked for. Unless some are named: those that the recommended recipe is for, and those
        that the form of the paper changes; a LabError where it changes none of those named.
        """
        if self.recipes == "recommended" and self.models == ALL:
            return list(RECOMMENDED_MODELS)
        named = resolve_names(self.models, ARCHITECTURES)
        if self.form == "released":
            return named
        changed = [name for name, row in ARCHITECTURES.items() if not row.released_last]
        if not set(named) & {*changed, *(name for name in named if name not in ARCHITECTURES)}:
            raise LabError(f"form {self.form} must have one of {', '.join(changed)}, got {', '.join(named)}")
        return changed if self.models == ALL else named

    def recommended(self, learned: bool) -> dict[str, Any]:
        """The settings of the recommended recipe, where the request does not say otherwise."""
        usual = SyntheticRequest()
        settings: dict[str, Any] = {
            "learning_rate": RECOMMENDED.lr,
            "momentum": RECOMMENDED.momentum,
            "weight_decay": RECOMMENDED.weight_decay,
            "batch_size": RECOMMENDED.batch_size,
            "nesterov": True,
            "epochs": RECOMMENDED.epochs if self.epochs == usual.epochs else self.epochs,
        }
        if not learned:
            return settings
        init = RECOMMENDED.init if self.init == usual.init else self.init
        own = {"heights_decay": 0.0, "curvature": RECOMMENDED.curvature, "degree": RECOMMENDED.degree}
        return settings | own | {"init": init}

    def groups_of(self, model: str, datasets: Iterable[str]) -> Iterator[list[SyntheticSpec]]:
        """The groups of one model, of at most `TOGETHER` replicas unless a single spec has more."""
        asked = [ARCHITECTURES[name].activation for name in self.named_models() if name in ARCHITECTURES]
        row = ARCHITECTURES.get(model)  # None is refused by the spec
        settings = parts_of(self, Settings) | {
            "loss": self.loss or usual_loss(self.recipes),
            "column_order": self.column_order or usual_order(self.recipes),
        }
        settings |= {"init": resolve_start(self.init, row.activation, asked)} if row else {}
        if self.recipes == "recommended" and row:
            settings |= self.recommended(takes_start(row.activation))
        specs = [
            SyntheticSpec(model, dataset, float(noise) + 0.0, **settings)
            for noise in dict.fromkeys(self.noise)
            for dataset in datasets
        ]
        size = max(1, TOGETHER // self.seeds)
        for columns in sorted({spec.columns for spec in specs}):
            alike = [spec for spec in specs if spec.columns == columns]
            yield from (alike[start : start + size] for start in range(0, len(alike), size))


def resolve_names(names: tuple[str, ...], table: Mapping[str, Any]) -> list[str]:
    """The names, each once; the word all means every row of the table."""
    return list(table) if names == ALL else list(dict.fromkeys(names))
