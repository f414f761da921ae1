"""The command that runs the arena."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from rich.console import Console

from chebact.lab.arena.own import read_own
from chebact.lab.arena.rows import rows_of
from chebact.lab.arena.run import NAME, contest_of, run_arena
from chebact.lab.arena.spec import ArenaRequest, OwnData
from chebact.lab.commands.run import Workers, train
from chebact.lab.options import Flat, Records
from chebact.lab.progress import tell
from chebact.lab.store import Record

__all__ = ["run"]

ALL, NO_DATA, MACHINE = ArenaRequest(), OwnData(), Workers()


def run(
    *,
    request: Annotated[ArenaRequest, Flat] = ALL,
    own: Annotated[OwnData, Flat] = NO_DATA,
    results: Records = Path("results/arena"),
    machine: Annotated[Workers, Flat] = MACHINE,
) -> None:
    """Fit what is missing in the results folder. Stop it at any moment; the same command continues from there."""
    where = machine.arguments(results)
    table = read_own(own)
    contest = contest_of(request, table)
    for sentence in contest.left_out:
        tell(Console(stderr=True), sentence)
    train(NAME, run_arena(contest, results, table, request.voices, **where), results, describe_records)


def describe_records(records: Sequence[Record]) -> list[str]:
    """The score and the time of new records, one line each."""
    rows = rows_of(record.typed for record in records)
    return [f"{row.data}, {row.model}: {row.score_text}, {row.seconds:.2f} s per fit" for row in rows]
