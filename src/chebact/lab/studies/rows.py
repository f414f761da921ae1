"""The records of the studies as rows, and a study's rows by their place in its picture."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from chebact.lab import LabError
from chebact.lab.studies.plan import Line, Panel, Study, label_of, specs_of_study
from chebact.lab.studies.record import FunctionResults, StudyRecord
from chebact.lab.studies.scores import Score, score_of, score_seeds
from chebact.lab.studies.shapes import Shapes, read_shapes
from chebact.lab.studies.spec import StudyRequest
from chebact.lab.studies.table import STUDIES

__all__ = ["Reading", "Row", "readings_of", "rows_of"]


@dataclass(frozen=True)
class Row:
    """One point of a line; `error`, `low` and `high` as in `Score`. `beyond` is the error beyond the range of the data
    and `clamped` that with inputs clamped to the interval, in studies of tails.
    """

    study: str
    panel: str
    line: str
    value: str
    error: float | None
    low: float | None
    high: float | None
    diverged: int
    trainings: int
    parameters: int
    beyond: float | None = None
    clamped: float | None = None


def row_of(record: StudyRecord) -> Row:
    """The row of a record."""
    spec, score, functions = record.spec, score_of(record), record.results.functions

    def other(name: str) -> float | None:
        found = [getattr(each, name) for each in functions]
        return None if any(each is None for each in found) else score_seeds(found).error

    return Row(
        spec.study,
        spec.panel,
        spec.line,
        spec.value,
        score.error,
        score.low,
        score.high,
        score.diverged,
        score.trainings,
        record.results.parameters,
        other("beyond"),
        other("clamped"),
    )


@dataclass(frozen=True)
class Reading:
    """What the records say of one study. `records` are by panel, line and value."""

    study: Study
    records: dict[tuple[str, str, str], StudyRecord]

    @property
    def rows(self) -> list[Row]:
        """The rows in the order of the table."""
        return [row_of(self.records[place]) for place in self.places if place in self.records]

    @property
    def places(self) -> list[tuple[str, str, str]]:
        """The places of all points."""
        return [(spec.panel, spec.line, spec.value) for spec in specs_of_study(self.study, StudyRequest())]

    @property
    def is_complete(self) -> bool:
        """Whether no point is missing."""
        return all(place in self.records for place in self.places)

    @cached_property
    def shapes(self) -> Shapes:
        """The learned shapes, of a study that keeps them."""
        return read_shapes([self.records[place] for place in self.places if place in self.records])

    def row(self, line: str, value: Any = "", panel: str = "") -> Row:
        """The row of a point, which must be there."""
        return row_of(self.records[panel, line, label_of(value)])

    def error(self, line: str, value: Any = "", panel: str = "") -> float:
        """The error of a point, infinite where too many of its trainings diverged."""
        found = self.row(line, value, panel).error
        return math.inf if found is None else found

    def line_rows(self, panel: Panel, line: Line) -> list[tuple[Any, Row]]:
        """The rows of a line that are there, each with its value; of a level the same row at both ends of the axis."""
        values = panel.axis.values
        shown = (values[:1] + values[-1:] if values else ("",)) if line.level else values
        keys = [(value, (panel.name, line.name, "" if line.level else label_of(value))) for value in shown]
        return [(value, row_of(self.records[key])) for value, key in keys if key in self.records]

    def best(self, line: str, panel: str = "") -> Row:
        """The point of a line with the least error."""
        rows = [row for row in self.rows if (row.panel, row.line) == (panel, line) and row.error is not None]
        return min(rows, key=lambda row: row.error or 0.0)

    def diverged(self, *, line: str = "") -> tuple[int, int]:
        """How many trainings diverged, of how many; those of a line where its name begins so."""
        rows = [row for row in self.rows if row.line.startswith(line)]
        return sum(row.diverged for row in rows), sum(row.trainings for row in rows)

    def functions(self, line: str, value: Any = "", panel: str = "") -> dict[str, FunctionResults]:
        """The results of a point by function."""
        found = self.records[panel, line, label_of(value)].results.functions
        return {each.function: each for each in found}

    def on_function(self, function: str, line: str, value: Any = "", panel: str = "") -> Score:
        """The score of a point on one function alone."""
        return score_seeds([self.functions(line, value, panel)[function].rmse])


def rows_of(readings: Iterable[Reading]) -> list[Row]:
    """The rows of all studies."""
    return [row for reading in readings for row in reading.rows]


def readings_of(records: Sequence[StudyRecord]) -> list[Reading]:
    """The studies that have records, in the order of the table; a LabError for records that no study asks for."""
    found: dict[str, dict[tuple[str, str, str], StudyRecord]] = {name: {} for name in STUDIES}
    for record in records:
        spec = record.spec
        place = (spec.panel, spec.line, spec.value)
        if spec.study not in found or place not in Reading(STUDIES[spec.study], {}).places:
            named = " ".join(word for word in (spec.study, *place) if word)
            raise LabError(f"a record must be of a point of a study, got {named!r}; move it away")
        if place in found[spec.study]:
            raise LabError(f"two records are of one point, {spec.study} {place}: name the folder of one run")
        found[spec.study][place] = record
    return [Reading(STUDIES[name], own) for name, own in found.items() if own]
