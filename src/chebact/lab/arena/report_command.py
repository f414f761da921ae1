"""The command that shows the records of the arena."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from rich.console import Console

from chebact.lab import LabError
from chebact.lab.arena.entrants import ENTRANTS
from chebact.lab.arena.fields import FIELDS, in_order
from chebact.lab.arena.ranks import standing_of
from chebact.lab.arena.record import ArenaRecord
from chebact.lab.arena.rows import Row, rows_of
from chebact.lab.arena.sheets import blocks, sheets_of
from chebact.lab.commands.report import NO_FILES, USUAL_PAGE, FileOptions, PageOptions, View
from chebact.lab.commands.report import report as report_records
from chebact.lab.options import Records, about
from chebact.lab.output import check_folder
from chebact.lab.page.sheet import as_rich
from chebact.lab.page.theme import DARK, LIGHT, as_file, grid

__all__ = ["report"]

SCHEMES = {"light": LIGHT, "dark": DARK}


def report(
    *,
    results: Records = Path("results/arena"),
    pictures: Annotated[
        Path | None, about("Folder to draw into: arena-light.svg, coverage-light.svg, and the same in dark.")
    ] = None,
    files: FileOptions = NO_FILES,
    page: PageOptions = USUAL_PAGE,
) -> None:
    """Show the scores of all models on all data sets, and write the page."""
    if pictures is not None:
        check_folder(pictures, "--pictures")

    def view(records: Sequence[ArenaRecord]) -> View:
        rows = rows_of(records)
        folders = () if pictures is None else (pictures,)
        return View(
            [row.values for row in rows],
            lambda console: show(rows, console),
            blocks(rows),
            drawings={} if pictures is None else drawings(rows, pictures),
            width=200,
            folders=folders,
        )

    report_records("arena", results, files, page, lambda record: True, view)


def show(rows: Sequence[Row], console: Console) -> None:
    """Print the tables, and the models that have no record."""
    for sheet in sheets_of(rows):
        console.print(as_rich(sheet, sheet.caption))
    absent = [name for name in ENTRANTS if name not in {row.model for row in rows}]
    if absent:
        console.print(f"without a record: {', '.join(absent)}", highlight=False)


def drawings(rows: Sequence[Row], folder: Path) -> Mapping[Path, Callable[[], bytes]]:
    """The story of the arena and the coverage of intervals, in both schemes."""
    found: dict[Path, Callable[[], bytes]] = {}
    for scheme, colours in SCHEMES.items():
        found[folder / f"arena-{scheme}.svg"] = partial(draw_story, rows, scheme, colours)
        found[folder / f"coverage-{scheme}.svg"] = partial(draw_intervals, rows, scheme, colours)
    return found


def draw_story(rows: Sequence[Row], scheme: str, colours: dict[str, str]) -> bytes:
    """Ranks above, errors over ours below: as wide as a phone."""
    from chebact.lab.arena.figures import LABELS, draw_ranks, draw_ratios, story_height

    own = FIELDS["regression"].rows(rows)
    standing = standing_of(own)
    if standing is None:
        raise LabError("the picture of the arena needs two models with records of the same two sets or more")
    height = 2 * story_height(standing)
    gap = 66 / (height / 2 - 66)  # room for the words between the two, in heights of one
    with grid(390, height, 2, 1) as (figure, ((above,), (below,))):
        figure.subplots_adjust(LABELS / 390, 40 / height, 1 - 12 / 390, 1 - 26 / height, hspace=gap)
        draw_ranks(above, standing, "Mean rank, all sets of regression")
        draw_ratios(below, own, list(standing.ranks))
    return as_file(figure, f"arena-{scheme}", colours)


def draw_intervals(rows: Sequence[Row], scheme: str, colours: dict[str, str]) -> bytes:
    """The coverage of our intervals and of the Gaussian process's."""
    from chebact.lab.arena.figures import draw_coverage

    models = [model for model in in_order(rows) if model in ("cl", "gaussian-process")]
    with grid(360 * max(1, len(models)), 320, 1, max(1, len(models))) as (figure, ((*axes,),)):
        for each, model in zip(axes, models, strict=False):
            draw_coverage(each, rows, model)
    return as_file(figure, f"coverage-{scheme}", colours)
