"""The command that runs the studies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from chebact.lab.commands.run import Workers, train
from chebact.lab.options import Flat, Records, about
from chebact.lab.store import Record
from chebact.lab.studies.run import NAME, run_studies
from chebact.lab.studies.scores import score_of
from chebact.lab.studies.spec import StudyRequest

__all__ = ["run"]

ALL, MACHINE = StudyRequest(), Workers()


def run(
    *names: Annotated[str, about("Names of studies; all by default.")],
    request: Annotated[StudyRequest, Flat] = ALL,
    results: Records = Path("results/studies"),
    machine: Annotated[Workers, Flat] = MACHINE,
) -> None:
    """Train what is missing in the results folder. Stop it at any moment; the same command continues from there."""
    train(NAME, run_studies(names, request, results, **machine.arguments(results)), results, describe_records)


def describe_records(records: Sequence[Record]) -> list[str]:
    """The error of new records, one line each."""
    lines = []
    for record in records:
        spec, score = record.typed.spec, score_of(record.typed)
        where = " ".join(word for word in (spec.study, spec.panel, spec.line, spec.value) if word)
        error = (
            "no error, half of the seeds of a function or more diverged"
            if score.error is None
            else f"RMSE {score.error:.4f}"
        )
        lost = f", {score.diverged} of {score.trainings} diverged" if score.diverged else ""
        lines.append(f"{where}: {error}{lost}")
    return lines
