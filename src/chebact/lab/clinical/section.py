"""The clinical experiment on the page: its tables, the tests between models, and the seeds of every model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chebact.lab.clinical.classification import metrics_in
from chebact.lab.clinical.figures import score_panel
from chebact.lab.clinical.rerun import clinical_commands
from chebact.lab.clinical.rows import Row, is_dementiabank, rows_of, tables_of
from chebact.lab.clinical.sheets import caption, sheets_of
from chebact.lab.page.axes import INTERVAL_KEYS
from chebact.lab.page.document import Block, Commands, Missing, Picture, Section, Words
from chebact.lab.page.networks import network_picture
from chebact.lab.page.results import Results

__all__ = ["sections"]

BELOW = "below it, and the distance in its deviations"
NETWORK = "The network. σ is the activation that is compared; ½ takes the mean of a shortcut and what it goes around."
DEMENTIABANK = (
    "DementiaBank itself: the recordings are their owners' and are not here. With the two tables at hand, this makes "
    "the paper's figures:"
)
COMMAND = "chebact run clinical --data db-34-am.csv --preset dementiabank --select fp-34-am.csv"


def sections(results: Results) -> list[Section]:
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
    blocks.append(network_picture("clinical", NETWORK))
    if rows:
        blocks.append(Words(("To run it again:",)))
        blocks.append(Commands((*clinical_commands(row.spec for row in rows), "chebact report clinical")))
    lead = (
        "Two classes of recordings, tested on people whom no network has met: every seed splits the subjects anew "
        "into folds. Networks of two widths with ReLU, tanh and CL-extrapolate, beside common classifiers."
    )
    return [Section("clinical", title, tuple(blocks), lead)]


def table_blocks(rows: Sequence[Row], name: str) -> list[Block]:
    """The sheets of one table, then its scores as intervals."""
    blocks: list[Block] = [Words((f"{caption(rows)}.",))]
    blocks += [replace(sheet, caption=f"{sheet.caption}.") for sheet in sheets_of(rows, BELOW, name)]
    panels = tuple(score_panel(rows, metric, f"{name}-{metric}") for metric in metrics_in("scores"))
    known = " The published figures are orange." if is_dementiabank(rows[0].spec) else ""
    told = (
        f"The same as intervals, in percent: dots are seeds, blue is their mean and deviation. Right is better.{known}"
    )
    blocks.append(Picture(f"{name}-scores", told, panels, INTERVAL_KEYS if known else INTERVAL_KEYS[:2]))
    return blocks
