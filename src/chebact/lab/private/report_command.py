"""The command that shows the records of private inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from rich.console import Console

from chebact.lab.commands.report import NO_FILES, USUAL_PAGE, FileOptions, PageOptions, View
from chebact.lab.commands.report import report as report_records
from chebact.lab.options import Records, about
from chebact.lab.output import check_folder
from chebact.lab.page.sheet import as_rich
from chebact.lab.private.record import PrivateRecord
from chebact.lab.private.rows import Row, rows_of
from chebact.lab.private.sheets import NAMES, blocks, sheets_of

__all__ = ["report"]


def report(
    *,
    results: Records = Path("results/private"),
    pictures: Annotated[
        Path | None, about("Folder to draw the accuracies into, as private-light.svg and private-dark.svg.")
    ] = None,
    files: FileOptions = NO_FILES,
    page: PageOptions = USUAL_PAGE,
) -> None:
    """Show accuracy in the clear and encrypted, and what the encryption takes, and write the page."""
    if pictures is not None:
        check_folder(pictures, "--pictures")

    def view(records: Sequence[PrivateRecord]) -> View:
        rows = rows_of(records)
        return View(
            [row.values for row in rows],
            lambda console: show(rows, console),
            blocks(rows),
            drawings={} if pictures is None else drawings(rows, pictures),
            width=160,
            folders=() if pictures is None else (pictures,),
        )

    report_records("private", results, files, page, lambda record: True, view)


def show(rows: Sequence[Row], console: Console) -> None:
    """Print the tables."""
    for sheet in sheets_of(rows):
        console.print(as_rich(sheet, sheet.caption))


def drawings(rows: Sequence[Row], folder: Path) -> Mapping[Path, Callable[[], bytes]]:
    """The accuracies of all data sets side by side, in both schemes."""
    from chebact.lab.page.theme import DARK, LIGHT, as_file, grid
    from chebact.lab.private.figures import draw_accuracy

    def drawn(scheme: str, colours: dict[str, str]) -> bytes:
        known = [data for data in NAMES if any(row.data == data for row in rows)]
        with grid(330 * len(known) + 80, 340, 1, len(known)) as (figure, ((*axes,),)):
            figure.subplots_adjust(left=0.115, right=0.985, bottom=0.13, top=0.92, wspace=0.08)
            for number, (each, data) in enumerate(zip(axes, known, strict=True)):
                draw_accuracy(each, rows, data)
                if number:
                    each.set_yticklabels([])
        return as_file(figure, f"private-{scheme}", colours)

    return {
        folder / f"private-{scheme}.svg": lambda scheme=scheme, colours=colours: drawn(scheme, colours)  # type: ignore[misc]
        for scheme, colours in (("light", LIGHT), ("dark", DARK))
    }
