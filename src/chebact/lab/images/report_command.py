"""The command that shows the image records."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from rich.console import Console

from chebact.lab import LabError
from chebact.lab.bench.plot import image_kind
from chebact.lab.commands.report import PAGE, check_no_record, write_page
from chebact.lab.images.figure_files import draw_captures, draw_curves
from chebact.lab.images.rows import ImageRow, as_json, rows_of
from chebact.lab.images.sets import IMAGE_DATASETS
from chebact.lab.images.tables import CAPTION, as_markdown, as_table
from chebact.lab.options import Several
from chebact.lab.output import save, wide_console
from chebact.lab.page.documents import update_document
from chebact.lab.page.results import read_results
from chebact.lab.spec import check_choice
from chebact.lab.store import Record

__all__ = ["report", "save_captures"]

RESULTS = Path("results/images")
WIDTH = 140  # of the table where no terminal says otherwise


def report(
    *,
    results: Path = RESULTS,
    dataset: Annotated[tuple[str, ...], Several] = (),
    markdown: Path | None = None,
    text: Path | None = None,
    json: Path | None = None,
    curves: Path | None = None,
    captures: Path | None = None,
    update: Annotated[tuple[Path, ...], Several] = (),
    output: Path | None = None,
) -> None:
    """Show what the image records give: accuracy, the test against ReLU, time an epoch, beside the paper's; the page.

    Parameters
    ----------
    results
        Folder of the records.
    dataset
        Only these image sets.
    markdown
        Write the table to this file as Markdown.
    text
        Write the table to this file as plain text.
    json
        Write the rows to this file as JSON.
    curves
        Draw losses and test error by epoch into this PNG or SVG file.
    captures
        Draw the captured units of each record into this folder, as PNG files.
    update
        Documents whose block `images` is to be filled from the records.
    output
        Folder of the page, index.html; without it the page goes to `report` unless another file is asked for.
    """
    for name in dataset:
        check_choice("image set", name, IMAGE_DATASETS)
    kind = None if curves is None else image_kind(curves)
    check_no_record(results, markdown, text, json)
    found = read_results(results)
    records = found.of("images")
    records = [record for record in records if not dataset or record.spec["dataset"] in dataset]
    rows = rows_of(records)
    if not rows:
        raise LabError(f"no image records below {results} are of that kind: run `chebact run images` first")
    console = wide_console(WIDTH)
    show_rows(rows, console)
    if text is not None:
        plain = io.StringIO()
        show_rows(rows, Console(file=plain, width=WIDTH))
        save(text, plain.getvalue().encode())
    for path, content in ((markdown, as_markdown(rows)), (json, as_json(rows))):
        if path is not None:
            save(path, content.encode())
    if curves is not None and kind is not None:
        save(curves, draw_curves(records, kind))
    if captures is not None:
        save_captures(records, captures)
    for document in update:
        update_document(document, {"images": as_markdown(rows)})
    if output is not None or not (markdown or text or json or curves or captures or update):
        write_page("images", replace(found, records=records), output or PAGE)


def save_captures(records: Sequence[Record], folder: Path) -> None:
    """Draw the captured units of each record into a file; those of a name that was there get a number."""
    names = Counter[str]()
    for record in records:
        spec = record.spec
        part = "" if spec["subset"] is None else f"-of-{spec['subset']}"
        name = f"{spec['dataset']}-{spec['activation']}-{spec['epochs']}-epochs{part}"
        names[name] += 1
        save(folder / f"{name}{'' if names[name] == 1 else f'-{names[name]}'}.png", draw_captures(record, "png"))


def show_rows(rows: Sequence[ImageRow], console: Console) -> None:
    """Print the table under what it shows."""
    console.print(CAPTION, highlight=False)
    console.print(as_table(rows))
