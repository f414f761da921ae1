"""The command that shows the clinical records."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from rich.console import Console

from chebact.lab import LabError
from chebact.lab.clinical.rows import REFERENCE, Row, as_csv, as_json, rows_of, tables_of
from chebact.lab.clinical.sheets import caption, rich_table, sections, sheets_of
from chebact.lab.commands.report import PAGE, check_no_record, write_page
from chebact.lab.options import Several
from chebact.lab.output import save, wide_console
from chebact.lab.page.documents import update_document
from chebact.lab.page.results import read_results

__all__ = ["report"]

RESULTS = Path("results/clinical")
SHOWN = ("generated", "parkinson-replicated", "parkinson-multiple")  # the data that the documents have blocks for


def report(
    *,
    results: Path = RESULTS,
    data: Annotated[tuple[str, ...], Several] = (),
    against: str | None = None,
    markdown: Path | None = None,
    csv: Path | None = None,
    json: Path | None = None,
    update: Annotated[tuple[Path, ...], Several] = (),
    output: Path | None = None,
) -> None:
    """Show the tables that the records give, in percent, with the tests between models, and write the page.

    Parameters
    ----------
    results
        Folder of the records.
    data
        Only the tables of these data.
    against
        The model that the others are tested against; tanh by default, where there is a record of it.
    markdown
        Write the tables to this file as Markdown.
    csv
        Write the rows to this file as comma-separated values.
    json
        Write the rows to this file as JSON.
    update
        Documents whose marked blocks are to be filled from the records; a block without records says so.
    output
        Folder of the page, index.html; without it the page goes to `report` unless another file is asked for.
    """
    check_no_record(results, markdown, csv, json)
    found = read_results(results)
    everything = found.of("clinical")
    records = [record for record in everything if not data or record.spec["data"] in data]
    rows = rows_of(records, against or REFERENCE)
    if not rows:
        raise LabError(f"no clinical records below {results} are of that kind")
    if against is not None and not any(row.model == against for row in rows):
        known = ", ".join(dict.fromkeys(row.model for row in rows))
        raise LabError(f"there is no record of {against!r} to test against: choose --against from {known}")
    tables = tables_of(rows, against or REFERENCE)
    show(tables)
    written = sections(tables)
    for path, text in ((markdown, "\n".join(written.values())), (csv, as_csv(rows)), (json, as_json(rows))):
        if path is not None:
            save(path, text.encode())
    for document in update:
        update_document(document, not_run(but={record.spec["data"] for record in everything} if data else ()) | written)
    if output is not None or not (markdown or csv or json or update):
        write_page("clinical", replace(found, records=records), output or PAGE)


def show(tables: Sequence[Sequence[Row]], console: Console | None = None) -> None:
    """Print the tables."""
    console = console or wide_console()
    for table in tables:
        console.print(caption(table), highlight=False, markup=False, emoji=False, soft_wrap=True)
        for sheet in sheets_of(table):
            console.print(rich_table(sheet))
        console.print()


def not_run(but: Collection[str] = ()) -> dict[str, str]:
    """What the blocks of the documents say where there is no record: those of the data `but` are left as they are."""
    return {f"clinical-{name}": "Not run yet." for name in SHOWN if name not in but}
