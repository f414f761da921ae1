"""The command that runs the comparison on tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from chebact.lab.commands.run import Workers, train
from chebact.lab.options import Flat, Records
from chebact.lab.store import Record
from chebact.lab.tables.rows import rows_of
from chebact.lab.tables.run import NAME, run_tables
from chebact.lab.tables.spec import TableRequest

__all__ = ["run"]

ALL, MACHINE = TableRequest(), Workers()


def run(
    *,
    request: Annotated[TableRequest, Flat] = ALL,
    results: Records = Path("results/tables"),
    machine: Annotated[Workers, Flat] = MACHINE,
) -> None:
    """Fit what is missing in the results folder. Stop it at any moment; the same command continues from there."""
    train(NAME, run_tables(request, results, **machine.arguments(results)), results, describe_records)


def describe_records(records: Sequence[Record]) -> list[str]:
    """The score and the time of new records, one line each."""
    rows = rows_of(record.typed for record in records)
    return [f"{row.data}, {row.model}: {row.score:.4g}, {row.seconds:.2f} s per fit" for row in rows]
