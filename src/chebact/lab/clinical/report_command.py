"""The command that shows the clinical records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

from rich.console import Console

from chebact.lab import LabError
from chebact.lab.clinical.paper_sheets import paper_blocks, paper_sheets
from chebact.lab.clinical.record import ClinicalRecord
from chebact.lab.clinical.rows import REFERENCE, Row, rows_of, tables_of
from chebact.lab.clinical.sheets import caption, document_blocks, sheets_of
from chebact.lab.commands.report import NO_FILES, USUAL_PAGE, FileOptions, PageOptions, View
from chebact.lab.commands.report import report as report_records
from chebact.lab.options import Records, Several, about
from chebact.lab.page.sheet import Sheet, as_rich

__all__ = ["report"]

RESULTS = Path("results/clinical")
SHOWN = ("generated", "parkinson-replicated", "parkinson-multiple")  # the data that the documents have blocks for


def report(
    *,
    results: Records = RESULTS,
    datasets: Annotated[tuple[str, ...], Several, about("Only the tables of these data.")] = (),
    against: Annotated[
        str | None,
        about("The model that the others are tested against; tanh by default, where there is a record of it."),
    ] = None,
    files: FileOptions = NO_FILES,
    page: PageOptions = USUAL_PAGE,
) -> None:
    """Show the tables that the records give, in percent, with the tests between models, and write the page."""
    seen: set[str] = set()

    def keep(record: ClinicalRecord) -> bool:
        seen.add(record.spec.data)
        return not datasets or record.spec.data in datasets

    def view(records: Sequence[ClinicalRecord]) -> View:
        rows = rows_of(records, against or REFERENCE)
        if against is not None and not any(row.model == against for row in rows):
            known = ", ".join(dict.fromkeys(row.model for row in rows))
            raise LabError(f"--against must be one of {known}, got {against!r}: there is no record of it")
        tables = tables_of(rows, against or REFERENCE)
        missing = {f"clinical-{name}": "Not run yet." for name in SHOWN if name not in seen}
        plain = [row.values for row in rows]
        paper = {} if datasets else paper_sheets(tables)
        blocks = document_blocks(tables) | ({} if datasets else paper_blocks(tables))
        return View(plain, lambda console: show(tables, paper.values(), console), blocks, missing)

    report_records("clinical", results, files, page, keep, view)


def show(tables: Sequence[Sequence[Row]], paper: Iterable[Sheet], console: Console) -> None:
    """Print the tables, and what the paper prints of DementiaBank."""
    for table in tables:
        console.print(caption(table), highlight=False, markup=False, emoji=False, soft_wrap=True)
        for sheet in sheets_of(table):
            console.print(as_rich(sheet, sheet.caption))
        console.print()
    for sheet in paper:
        console.print(as_rich(sheet, f"{sheet.caption}."))
        console.print()
