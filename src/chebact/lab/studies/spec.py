"""The specs of the studies: how one point of a picture is trained, and what a command asks for.

The fields of `StudyRequest` are options of `chebact run study`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from chebact.checks import Tails
from chebact.lab.functions import DATASETS
from chebact.lab.options import Integer, Several, about
from chebact.lab.spec import added, check_choice, check_count, check_noise

__all__ = ["FIXED", "PUBLISHED", "RECOMMENDED", "Keep", "Settings", "StudyRequest", "StudySpec"]

FUNCTIONS = tuple(DATASETS)
FIXED = ("relu", "tanh")
"""Activations that learn nothing: the references."""

Keep = Literal["errors", "tails", "shapes"]
"""What a record has besides the errors: what the tails do, or the learned shapes."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A network and its training; the defaults are the paper's. `activation` is `learned` or one of `FIXED`; the nodes
    are on [-interval, interval].
    """

    activation: Literal["learned", "relu", "tanh"] = "learned"
    degree: int = 3
    tails: Tails = "extrapolate"
    interval: float = 1.0
    init: Literal["zeros", "relu"] = "zeros"
    width: int = 32
    blocks: int = 3
    points: int = 1000
    noise: float = 0.01
    epochs: int = 300
    batch_size: int = 32
    learning_rate: float = 0.01
    momentum: float = 0.99
    nesterov: bool = False
    weight_decay: float = 1e-6
    heights_decay: float | None = None
    curvature: float = 0.0
    loss: Literal["absolute", "scaled-huber"] = "absolute"

    def __post_init__(self) -> None:
        for what in ("degree", "width", "blocks", "points", "epochs", "batch_size"):
            check_count(what, getattr(self, what))
        check_noise(self.noise)

    @property
    def steps(self) -> int:
        """The steps of the optimizer."""
        return self.epochs * -(-self.points // self.batch_size)

    def parameters(self, features: int = 3) -> int:
        """The parameters of the network.

        >>> Settings().parameters(), Settings(activation="relu").parameters()
        (3841, 3329)
        """
        heights = (self.blocks + 1) * self.width * (self.degree + 1) if self.activation == "learned" else 0
        inner = self.blocks * (self.width + 1) * self.width
        return (features + 1) * self.width + inner + heights + self.width + 1


PUBLISHED = Settings()
"""The recipe of the published figures."""

RECOMMENDED = Settings(
    degree=2,
    init="relu",
    learning_rate=0.02,
    nesterov=True,
    weight_decay=5e-4,
    heights_decay=0.0,
    curvature=1e-5,
    loss="scaled-huber",
)
"""The recommended recipe with 300 epochs in place of its 1,000: all lines of a study have as many steps."""


@dataclass(frozen=True, kw_only=True)
class StudySpec:
    """One record: a point of a line in a panel of a study, that is one network on all functions with all seeds.

    `value` is the place on the axis; it is empty for a reference, which has no axis. Every seed has its own draw of the
    data, first weights and order, which are the same in all studies.
    """

    study: str
    panel: str
    line: str
    value: str
    settings: Settings
    functions: tuple[str, ...] = FUNCTIONS
    seeds: int = 10
    keep: Keep = added("errors")

    def __post_init__(self) -> None:
        check_count("seeds", self.seeds)
        for function in self.functions:
            check_choice("function", function, DATASETS)

    def path(self, results: Path) -> Path:
        """The path of its record below the results folder."""
        words = (self.panel, self.line, self.value)
        return results / self.study / f"{'-'.join(word for word in words if word)}.json"

    def cost(self) -> float:
        """How long it takes, in no particular unit."""
        settings = self.settings
        return settings.parameters() * settings.steps * settings.batch_size * self.seeds * len(self.functions)


@dataclass(frozen=True, kw_only=True)
class StudyRequest:
    """What one command asks for."""

    functions: Annotated[tuple[str, ...], Several, about("Functions of the paper to learn.")] = FUNCTIONS
    seeds: Annotated[Integer, about("Trainings on each function, each with its own draw of the data.")] = 10
