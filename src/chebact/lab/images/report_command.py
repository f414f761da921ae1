"""The command that shows the image records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from rich.console import Console

from chebact.lab.commands.report import NO_FILES, USUAL_PAGE, FileOptions, PageOptions, View
from chebact.lab.commands.report import report as report_records
from chebact.lab.images.figures import draw_captures, draw_curves
from chebact.lab.images.record import ImageRecord
from chebact.lab.images.rows import ImageRow, rows_of
from chebact.lab.images.sets import IMAGE_DATASETS
from chebact.lab.images.tables import CAPTION, markdown, sheet_of
from chebact.lab.images.unit_table import unit_markdown, unit_sheet
from chebact.lab.options import Records, Several, about
from chebact.lab.output import check_outputs
from chebact.lab.page.sheet import Sheet, as_rich
from chebact.lab.page.theme import image_kind
from chebact.lab.spec import check_choice

__all__ = ["report"]

RESULTS = Path("results/images")
WIDTH = 140  # of the table where no terminal says otherwise


def report(
    *,
    results: Records = RESULTS,
    datasets: Annotated[tuple[str, ...], Several, about("Only these image sets.")] = (),
    files: FileOptions = NO_FILES,
    curves: Annotated[Path | None, about("Draw losses and test accuracy by epoch into this PNG or SVG file.")] = None,
    captures: Annotated[
        Path | None, about("Draw the captured units of each record into this folder, as PNG files.")
    ] = None,
    page: PageOptions = USUAL_PAGE,
) -> None:
    """Show the results of the image records: accuracy, the test against ReLU, time per epoch; and the page."""
    for name in datasets:
        check_choice("image set", name, IMAGE_DATASETS)
    kind = None if curves is None else image_kind(curves)
    check_outputs(files=(curves,), folders=(captures,))
    folders = () if captures is None else (captures,)

    def view(records: Sequence[ImageRecord]) -> View:
        rows, units = rows_of(records), unit_sheet(records)
        drawings: dict[Path, Callable[[], bytes]] = {}
        if curves is not None and kind is not None:
            drawings[curves] = partial(draw_curves, records, kind)
        if captures is not None:
            drawings |= {captures / name: partial(draw_captures, each) for name, each in capture_names(records).items()}
        blocks = {"images": markdown(rows)} | ({} if units is None else {"image-units": unit_markdown(units)})
        exported = [row.exported() for row in rows]
        return View(exported, partial(show, rows, units), blocks, {}, drawings, WIDTH, folders)

    def keep(record: ImageRecord) -> bool:
        return not datasets or record.spec.dataset in datasets

    report_records("images", results, files, page, keep, view)


def capture_names(records: Sequence[ImageRecord]) -> dict[str, ImageRecord]:
    """A file name for each record; a name that is taken gets a number."""
    counts, names = Counter[str](), {}
    for record in records:
        name = f"{record.spec.dataset}-{record.spec.name}"
        counts[name] += 1
        names[f"{name}{'' if counts[name] == 1 else f'-{counts[name]}'}.png"] = record
    return names


def show(rows: Sequence[ImageRow], units: Sheet | None, console: Console) -> None:
    """Print the tables under their captions."""
    console.print(CAPTION, highlight=False)
    console.print(as_rich(sheet_of(rows)))
    if units is not None:
        console.print(units.caption, highlight=False)
        console.print(as_rich(units, wrap_names=True))
        for note in units.notes:
            console.print(note, highlight=False)
