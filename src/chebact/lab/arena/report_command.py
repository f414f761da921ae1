"""The command that shows the records of the comparison on tables."""

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
from chebact.lab.arena.record import TableRecord
from chebact.lab.arena.rows import Row, rows_of
from chebact.lab.arena.sheets import blocks, sheets_of

__all__ = ["report"]


def report(
    *,
    results: Records = Path("results/tables"),
    pictures: Annotated[
        Path | None, about("Folder to draw the coverage of the intervals into, as coverage-light.svg and -dark.svg.")
    ] = None,
    files: FileOptions = NO_FILES,
    page: PageOptions = USUAL_PAGE,
) -> None:
    """Show the scores of all models on all data sets, and write the page."""
    if pictures is not None:
        check_folder(pictures, "--pictures")

    def view(records: Sequence[TableRecord]) -> View:
        rows = rows_of(records)
        folders = () if pictures is None else (pictures,)
        return View(
            [row.values for row in rows],
            lambda console: show(rows, console),
            blocks(rows),
            drawings={} if pictures is None else drawings(rows, pictures),
            width=160,
            folders=folders,
        )

    report_records("tables", results, files, page, lambda record: True, view)


def show(rows: Sequence[Row], console: Console) -> None:
    """Print the tables."""
    for sheet in sheets_of(rows):
        console.print(as_rich(sheet, sheet.caption))


def drawings(rows: Sequence[Row], folder: Path) -> Mapping[Path, Callable[[], bytes]]:
    """The coverage of our intervals and of the Gaussian process's, in both schemes."""
    from chebact.lab.page.theme import DARK, LIGHT, as_file, grid
    from chebact.lab.arena.figures import draw_coverage

    def drawn(scheme: str, colours: dict[str, str]) -> bytes:
        models = [model for model in ("cl", "gaussian-process") if any(row.model == model for row in rows)]
        with grid(360 * len(models), 320, 1, len(models)) as (figure, ((*axes,),)):
            for each, model in zip(axes, models, strict=True):
                draw_coverage(each, rows, model)
        return as_file(figure, f"coverage-{scheme}", colours)

    return {
        folder / f"coverage-{scheme}.svg": lambda scheme=scheme, colours=colours: drawn(scheme, colours)  # type: ignore[misc]
        for scheme, colours in (("light", LIGHT), ("dark", DARK))
    }
