"""A results folder as the report reads it: the records of all experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from chebact.lab import LabError
from chebact.lab.record import TypedRecord
from chebact.lab.store import Record, read_record

__all__ = ["Results", "read_results"]

Kind = TypeVar("Kind", bound=TypedRecord)
MEASURED = "bench"  # its files are no records; data may be called so too, and have folders in there


@dataclass(frozen=True)
class Results:
    """The records below a folder."""

    folder: Path
    records: Sequence[Record]

    def typed(self, kind: type[Kind]) -> list[Kind]:
        """The records of one class."""
        return [record.typed for record in self.records if isinstance(record.typed, kind)]

    def records_of(self, experiment: str) -> list[Record]:
        """The records of one experiment."""
        return [record for record in self.records if record.experiment == experiment]


def read_results(folder: Path) -> Results:
    """Read everything below a folder; a LabError where it is missing or a record in it is damaged."""
    if not folder.is_dir():
        raise LabError(f"there is no results folder {folder}: run an experiment first, or name another with --results")
    paths = [path for path in sorted(folder.rglob("*.json")) if path.parent != folder / MEASURED]
    return Results(folder, [read_record(path) for path in paths])
