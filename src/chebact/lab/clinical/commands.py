"""The command that trains the clinical experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from rich.console import Console

from chebact.lab import LabError
from chebact.lab.clinical.input import TableOptions, resolve_tables
from chebact.lab.clinical.record import ChoiceRecord, ChoiceResults
from chebact.lab.clinical.rows import rows_of
from chebact.lab.clinical.run import CHOICE, NAME, ClinicalRequest, run_clinical
from chebact.lab.clinical.spec import ClinicalSettings
from chebact.lab.clinical.table import DataError
from chebact.lab.commands.run import Workers, train
from chebact.lab.options import Flat, Records
from chebact.lab.progress import tell
from chebact.lab.spec import parts_of
from chebact.lab.store import Record

__all__ = ["run"]

GENERATED, USUAL, MACHINE = TableOptions(), ClinicalSettings(), Workers()


def run(
    *,
    table: Annotated[TableOptions, Flat] = GENERATED,
    settings: Annotated[ClinicalSettings, Flat] = USUAL,
    results: Records = Path("results/clinical"),
    machine: Annotated[Workers, Flat] = MACHINE,
) -> None:
    """Train what is missing in the results folder. Stop it at any moment; the same command continues from there."""
    where = machine.arguments(results)
    try:
        first, chooser = resolve_tables(table)
        request = ClinicalRequest(first, chooser, table.select == "folds", **parts_of(settings, ClinicalSettings))
        describe_table(request)
        train(NAME, run_clinical(request, results, **where), results, describe_records)
    except DataError as error:
        raise LabError(str(error)) from error


def describe_table(request: ClinicalRequest) -> None:
    """Describe the table on the error stream."""
    table = request.table
    kind = "generated data, nobody was recorded" if table.generated else "your data"
    notes = "".join(f"; left out: {note}" for note in table.left_out)
    size = f"{table.size[0]} recordings of {len(set(table.subjects))} subjects, {table.size[1]} features"
    for line in [f"{table.name} ({kind}): {size}{notes}", *(f"note: {each}" for each in request.remarks())]:
        tell(Console(stderr=True), line)


def describe_records(records: Sequence[Record]) -> list[str]:
    """One line per new record."""
    lines = []
    for record in records:
        if record.experiment == CHOICE:
            chosen: ChoiceRecord = record.typed
            words = describe_choice(chosen.results)
            lines.append(f"chosen on {chosen.spec.data}: {words}, in {chosen.run.seconds:g} s")
            continue
        (row,) = rows_of([record.typed])
        scores = "diverged" if row.accuracy is None else f"accuracy {row.accuracy:.1f} %, micro-F1 {row.micro_f1:.1f} %"
        width = "" if row.width is None else f", width {row.width}"
        lines.append(f"{row.data}, {row.model}{width}: {scores}, in {record.typed.run.seconds:g} s")
    return lines


def describe_choice(found: ChoiceResults) -> str:
    """How many features Boruta chose, and whether they are confirmed."""
    if found.features is not None:
        confirmed = found.how == "confirmed"
        return f"{len(found.features)} features" + ("" if confirmed else f" ({found.how}: none is confirmed)")
    folds = found.folds or ()
    unsure, sizes = sum(fold.how != "confirmed" for fold in folds), [len(fold.columns) for fold in folds]
    return f"{sizes} features in the folds" + (f" (none confirmed in {unsure} of them)" if unsure else "")
