"""The spec of the arena: one model on one data set, with its splits.

The fields of `ArenaRequest` and `OwnData` are options of `chebact run arena`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from chebact.lab.arena.entrants import ENTRANTS
from chebact.lab.options import Integer, Several, about
from chebact.lab.spec import added, check_choice, check_count

__all__ = ["CORE", "LEVELS", "ArenaRequest", "ArenaSpec", "OwnData"]

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""The intervals whose coverage a record of a model with deviations has."""

CORE = (
    "pendulum-0.04",
    "jump-0.01",
    "friedman1",
    "friedman3",
    "feynman-i.12.11-0",
    "feynman-i.30.3-0.01",
    "feynman-i.9.18-0.1",
    "diabetes",
    "breast-cancer",
    "wine",
)
"""The data sets that the slow models have too. They were chosen before any of them was run."""


@dataclass(frozen=True, kw_only=True)
class ArenaSpec:
    """The spec of one record: the first `splits` of the splits of a data set, which are those of a cross-validation of
    so many `folds`. `digest` is that of a user's table.
    """

    data: str
    model: str
    folds: int = 3
    splits: int = 3
    digest: str | None = added(None)

    def __post_init__(self) -> None:
        check_choice("model", self.model, ENTRANTS)
        for what in ("folds", "splits"):
            check_count(what, getattr(self, what))

    @property
    def seeds(self) -> int:
        """How many fits its record holds."""
        return self.splits

    def path(self, results: Path) -> Path:
        """Where its record lies below the results folder."""
        return results / self.data / f"{self.model}.json"

    def cost(self) -> float:
        """About how many seconds of one core it takes."""
        return self.splits * ENTRANTS[self.model].seconds


@dataclass(frozen=True, kw_only=True)
class OwnData:
    """A table of a user, in place of the arena's."""

    data: Annotated[
        Path | None, about("A CSV file with a line of names, or a folder in the layout of the UCI splits.")
    ] = None
    target: Annotated[str | None, about("The column of the file to learn.")] = None
    splits: Annotated[
        Path | None, about("Folder with the splits of the file: n_splits.txt, index_train_N.txt, index_test_N.txt.")
    ] = None
    task: Annotated[
        Literal["auto", "regression", "classification"],
        about("Auto takes texts and few integers for classes in a file; a folder is a regression."),
    ] = "auto"
    drop: Annotated[tuple[str, ...], Several, about("Columns of the file to leave out.")] = ()


@dataclass(frozen=True, kw_only=True)
class ArenaRequest:
    """What one command asks for."""

    datasets: Annotated[tuple[str, ...], Several, about("Names of data sets; all by default.")] = ()
    models: Annotated[tuple[str, ...], Several, about("Models to compare; all that are installed by default.")] = ()
    folds: Annotated[Integer, about("Parts that the rows are split in.")] = 3
    voices: Annotated[Path, about("Folder of the two voice sets, which are left out where it does not have them.")] = (
        Path("../shared/data")
    )
