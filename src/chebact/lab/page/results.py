"""A results folder as the report reads it: the records of all experiments, and what was measured of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chebact.lab import LabError
from chebact.lab.bench.files import read_rows
from chebact.lab.bench.ops import Row
from chebact.lab.store import Record, read_record

__all__ = ["Results", "read_results"]

BENCH = "bench"


@dataclass(frozen=True)
class Results:
    """What lies below a folder; `cost` holds the rows of the benchmark and the machine, or None."""

    folder: Path
    records: Sequence[Record]
    cost: tuple[list[Row], dict[str, Any]] | None = None

    def of(self, experiment: str) -> list[Record]:
        """The records of one experiment."""
        return [record for record in self.records if record.experiment == experiment]


def read_results(folder: Path) -> Results:
    """Read everything below a folder; a LabError where it is missing or a record in it is damaged."""
    if not folder.is_dir():
        raise LabError(f"there is no results folder {folder}: run an experiment first, or name another with --results")
    measured = folder / BENCH  # its files are no records; data may be called so too, and have folders in there
    paths = [path for path in sorted(folder.rglob("*.json")) if path.parent != measured]
    return Results(folder, [read_record(path) for path in paths], read_cost(folder))


def read_cost(folder: Path) -> tuple[list[Row], dict[str, Any]] | None:
    """The benchmark of the operators, in the folder or beside it."""
    for place in (folder, folder.parent):
        path = place / BENCH / "ops.json"
        if path.is_file():
            return read_rows(path)
    return None
