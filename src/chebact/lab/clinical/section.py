"""The clinical experiment on the page: its tables, the tests between models, and the seeds of every model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chebact.lab.clinical.figures import SCORE_KEYS, score_panel
from chebact.lab.clinical.rows import Row, is_dementiabank, rows_of, tables_of
from chebact.lab.clinical.sheets import Sheet, caption, sheets_of
from chebact.lab.page.comparison import tone_of
from chebact.lab.page.document import Block, Cell, Commands, Missing, Picture, Section, Table, Words
from chebact.lab.page.rerun import clinical_commands
from chebact.lab.page.results import Results

__all__ = ["clinical_section"]

METRICS = ("accuracy", "sensitivity", "specificity", "micro_f1")
DEMENTIABANK = (
    "DementiaBank itself: the recordings are their owners' and are not here. With the two tables at hand, this makes "
    "the paper's "
    "figures:"
)
COMMAND = "chebact run clinical --data db-34-am.csv --preset dementiabank --select fp-34-am.csv"


def clinical_section(results: Results) -> Section:
    """What the clinical records show."""
    rows = rows_of(results.of("clinical"))
    title = "Voice recordings"
    blocks: list[Block] = []
    for index, table in enumerate(tables_of(rows)):
        blocks += table_blocks(table, f"clinical-{index}")
    if not rows:
        blocks.append(Missing("Not run yet.", "chebact run clinical"))
    if not any(is_dementiabank(row.spec) for row in rows):
        blocks.append(Missing(DEMENTIABANK, COMMAND))
    if rows:
        blocks.append(Words(("To run it again:",)))
        blocks.append(Commands((*clinical_commands(row.spec for row in rows), "chebact report clinical")))
    lead = (
        "Two classes of recordings, tested on people whom no network has met: every seed splits the subjects anew "
        "into folds. "
        "Networks of two widths with ReLU, tanh and CL-extrapolate, beside common classifiers."
    )
    return Section("clinical", title, tuple(blocks), lead)


def table_blocks(rows: Sequence[Row], name: str) -> list[Block]:
    """The sheets of one table, then its scores as intervals."""
    blocks: list[Block] = [Words((f"{caption(rows)}.",))]
    blocks += [as_table(sheet, f"{name}-sheet-{index}") for index, sheet in enumerate(sheets_of(rows))]
    if is_dementiabank(rows[0].spec):
        blocks[1] = beside(rows, sheets_of(rows)[0], f"{name}-sheet-0")
    panels = tuple(score_panel(rows, metric, f"{name}-{metric}") for metric in METRICS)
    known = " The published figures are orange." if is_dementiabank(rows[0].spec) else ""
    told = (
        f"The same as intervals, in percent: dots are seeds, blue is their mean and deviation. Right is better.{known}"
    )
    blocks.append(Picture(f"{name}-scores", told, panels, SCORE_KEYS if known else SCORE_KEYS[:2]))
    return blocks


def as_table(sheet: Sheet, name: str) -> Table:
    """A sheet of texts as a table that sorts by the first number of a cell."""
    body = tuple(
        tuple(Cell(text, sort=sort_key(text) if index else None) for index, text in enumerate(line))
        for line in sheet.lines
    )
    return Table(name, f"{sheet.title}.", sheet.head, body)


def beside(rows: Sequence[Row], sheet: Sheet, name: str) -> Table:
    """The scores with the published ones below them, coloured by the distance."""
    body = []
    for row, line in zip(rows, sheet.lines, strict=True):
        cells = [Cell(line[0]), *(Cell(text, sort=sort_key(text)) for text in line[1:3])]
        for metric, text in zip(METRICS, line[3:], strict=True):
            ours, _, theirs = text.partition("\n")
            mean, paper, spread = (row.values[part] for part in (metric, f"paper_{metric}", f"paper_{metric}_std"))
            comparable = not row.nan and mean is not None and paper is not None and spread
            away, tone = tone_of(mean, paper, spread, higher_is_better=True) if comparable else ("", "")
            cells.append(Cell(ours, theirs.strip("()"), sort_key(ours), tone, away=away))
        body.append(tuple(cells))
    caption = f"{sheet.title.replace('in brackets', 'below it, and the distance in its deviations')}."
    return Table(name, caption, sheet.head, tuple(body), toned=True)


def sort_key(text: str) -> float | None:
    """The first number in a text: a p-value below a bound sorts before the bound.

    >>> sort_key("84.7 ± 0.8***"), sort_key("< 0.001"), sort_key("-")
    (84.7, 0.0, None)
    """
    if text.startswith("<"):
        return 0.0
    found = re.match(r"[\d.,]+", text)
    return float(found[0].replace(",", "")) if found else None
