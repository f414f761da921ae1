"""The command that shows the studies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

from rich.console import Console

from chebact.lab import LabError
from chebact.lab.commands.report import NO_FILES, USUAL_PAGE, FileOptions, PageOptions, View
from chebact.lab.commands.report import report as report_records
from chebact.lab.options import Records, about
from chebact.lab.output import check_folder
from chebact.lab.page.sheet import as_rich
from chebact.lab.spec import check_choice
from chebact.lab.studies.markdown import document_blocks
from chebact.lab.studies.paragraphs import paragraph_of
from chebact.lab.studies.record import StudyRecord
from chebact.lab.studies.rows import Reading, readings_of, rows_of
from chebact.lab.studies.sheets import sheets_of
from chebact.lab.studies.table import STUDIES

__all__ = ["report"]


def report(
    *names: Annotated[str, about("Names of studies; all by default.")],
    results: Records = Path("results/studies"),
    pictures: Annotated[
        Path | None, about("Folder to draw the pictures into, as study-NAME-light.svg and -dark.svg.")
    ] = None,
    files: FileOptions = NO_FILES,
    page: PageOptions = USUAL_PAGE,
) -> None:
    """Show the table and the paragraph of every study, and write the page with the pictures."""
    for name in names:
        check_choice("study", name, STUDIES)
    if names and files.update:
        raise LabError("--update must be of all studies, since a document has one block for all; leave the names out")
    if pictures is not None:
        check_folder(pictures, "--pictures")

    def view(records: Sequence[StudyRecord]) -> View:
        readings = readings_of(records)
        return View(
            [asdict(row) for row in rows_of(readings)],
            partial(show, readings),
            document_blocks(readings),
            drawings={} if pictures is None else drawings(readings, pictures),
            width=200,
            folders=() if pictures is None else (pictures,),
        )

    report_records("studies", results, files, page, lambda record: not names or record.spec.study in names, view)


def show(readings: Sequence[Reading], console: Console) -> None:
    """Print the tables, and under those of a study what it says."""
    for reading in readings:
        for sheet in sheets_of(reading):
            console.print(as_rich(sheet, sheet.caption))
        console.print(f"{paragraph_of(reading)}\n", highlight=False, markup=False, soft_wrap=True)


def drawings(readings: Sequence[Reading], folder: Path) -> Mapping[Path, Callable[[], bytes]]:
    """The picture of every study, in both schemes."""
    from chebact.lab.page.theme import DARK, LIGHT, as_file
    from chebact.lab.studies.pictures import file_figure

    def drawn(reading: Reading, name: str, colours: dict[str, str]) -> bytes:
        return as_file(file_figure(reading)[0], name, colours)

    schemes = {"light": LIGHT, "dark": DARK}
    names = {(f"study-{reading.study.name}-{scheme}", scheme): reading for reading in readings for scheme in schemes}
    return {
        folder / f"{name}.svg": partial(drawn, reading, name, schemes[scheme])
        for (name, scheme), reading in names.items()
    }
