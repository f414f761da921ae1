"""The fields of the arena: which sets a ranking is made on, and which part of the records the page on tables shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chebact.lab.arena.entrants import ENTRANTS, OURS
from chebact.lab.arena.rows import Row
from chebact.lab.arena.spec import CORE

__all__ = ["FIELDS", "Field", "in_order", "small_field", "title_of"]

PLAIN = ("friedman1", "friedman2", "friedman3", "diabetes", "breast-cancer", "wine", "digits")


@dataclass(frozen=True)
class Field:
    """Some of the sets, on which models are ranked; `wide` leaves out the models that have the sets of `CORE` alone."""

    name: str
    title: str
    has: Callable[[Row], bool]
    wide: bool = True

    def rows(self, rows: Sequence[Row]) -> list[Row]:
        """The rows of this field."""
        return [row for row in rows if self.has(row) and not (self.wide and is_core_only(row.model))]


def is_core_only(model: str) -> bool:
    """Whether a model has the sets of `CORE` alone."""
    return model in ENTRANTS and ENTRANTS[model].core


FIELDS = {
    field.name: field
    for field in (
        Field("regression", "all sets of regression", lambda row: row.task == "regression"),
        Field("classification", "all sets of classification", lambda row: row.task == "classification"),
        Field("core", "the core sets", lambda row: row.data in CORE, wide=False),
    )
}
"""The table by name."""


def in_order(rows: Sequence[Row]) -> list[str]:
    """The models of these rows, in the order of the table."""
    present = {row.model for row in rows}
    return [name for name in ENTRANTS if name in present]


def title_of(model: str) -> str:
    """What a model is called."""
    return ENTRANTS[model].title


def small_field(rows: Sequence[Row]) -> list[Row]:
    """What the page on tables shows: ours beside the models of scikit-learn, on scikit-learn's sets, Friedman's, and
    the formulas at noise 0.01.
    """
    return [row for row in rows if is_plain_model(row.model) and is_plain_set(row.data)]


def is_plain_model(model: str) -> bool:
    """Whether this is ours with its defaults, or one of scikit-learn."""
    return model == OURS or (ENTRANTS[model].group == "other" and not is_core_only(model))


def is_plain_set(data: str) -> bool:
    """Whether this is a set of scikit-learn, of Friedman, or a formula at noise 0.01."""
    return data in PLAIN or (data.startswith("feynman-") and data.endswith("-0.01"))
