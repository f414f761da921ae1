"""The spec of the experiment on private inference: one kind of activation at one degree on one table, all splits.

The fields of `PrivateRequest` are options of `chebact run private`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from chebact.lab.options import Integer, Several, about
from chebact.lab.spec import check_choice, check_count

__all__ = ["DEGREES", "NO_DEGREE", "PrivateRequest", "PrivateSpec"]

NO_DEGREE = 0  # of a model that is no polynomial
DEGREES: dict[str, tuple[int, ...]] = {
    "relu": (NO_DEGREE,),
    "cl-tails": (2, 3, 5),
    "square": (2,),
    "relu-fit": (2, 5),
    "silu-fit": (2, 5),
    "cl": (2, 3, 5),
}
"""The models and their degrees. The fits have no term of degree 3: but for x/2, ReLU and SiLU are even functions."""


@dataclass(frozen=True, kw_only=True)
class PrivateSpec:
    """The spec of one record. All models have the same splits and the same initial weights; a split chooses its setting
    on `inner` splits of its training rows.
    """

    data: str
    model: str
    degree: int
    splits: int = 10
    epochs: int = 40
    width: int = 32
    inner: int = 3

    def __post_init__(self) -> None:
        check_choice("model", self.model, DEGREES)
        for what in ("splits", "epochs", "width", "inner"):
            check_count(what, getattr(self, what))

    @property
    def seeds(self) -> int:
        """How many trainings its record holds."""
        return self.splits

    def path(self, results: Path) -> Path:
        """Where its record lies below the results folder."""
        degree = f"-{self.degree}" if self.degree else ""
        return results / self.data / f"{self.model}{degree}.json"

    def cost(self) -> float:
        """About how many seconds of one core it takes."""
        return self.splits * (1 + self.degree * (self.model not in ("relu", "cl-tails")))


@dataclass(frozen=True, kw_only=True)
class PrivateRequest:
    """What one command asks for."""

    datasets: Annotated[
        tuple[str, ...], Several, about("Names of data sets; all that need no file by default, and voice with --voice.")
    ] = ()
    models: Annotated[tuple[str, ...], Several, about("Models to compare.")] = tuple(DEGREES)
    degrees: Annotated[tuple[int, ...], Several, about("Degrees of the polynomials.")] = (2, 3, 5)
    splits: Annotated[Integer, about("How often the rows are dealt into training and test rows.")] = 10
    epochs: Annotated[Integer, about("Passes over the training rows.")] = 40
    voice: Annotated[Path | None, about("The CSV file of UCI 489, recordings of 80 people, for the set voice.")] = None
