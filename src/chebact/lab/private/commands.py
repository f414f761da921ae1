"""The command that runs the experiment on private inference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from chebact.lab.commands.run import Workers, train
from chebact.lab.options import Flat, Records
from chebact.lab.private.rows import rows_of
from chebact.lab.private.run import NAME, run_private
from chebact.lab.private.spec import PrivateRequest
from chebact.lab.store import Record

__all__ = ["run"]

ALL, MACHINE = PrivateRequest(), Workers()


def run(
    *,
    request: Annotated[PrivateRequest, Flat] = ALL,
    results: Records = Path("results/private"),
    machine: Annotated[Workers, Flat] = MACHINE,
) -> None:
    """Train and encrypt what is missing in the results folder. Stop it at any moment; the same command continues."""
    train(NAME, run_private(request, results, **machine.arguments(results)), results, describe_records)


def describe_records(records: Sequence[Record]) -> list[str]:
    """The accuracy of new records, one line each."""
    rows = rows_of(record.typed for record in records)
    return [f"{row.data}, {row.model} {row.degree or ''}: {row.describe()}" for row in rows]
