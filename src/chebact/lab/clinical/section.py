"""The clinical experiment on the page: scores as intervals, its tables, and the tests between models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chebact.lab.clinical.figures import colour_of, score_panel
from chebact.lab.clinical.paper_sheets import paper_sheets
from chebact.lab.clinical.record import ClinicalRecord
from chebact.lab.clinical.rerun import clinical_commands
from chebact.lab.clinical.rows import FEWEST, REFERENCE, Row, is_dementiabank, rows_of, tables_of
from chebact.lab.clinical.sheets import caption, format_signed, score_metrics, sheets_of, title_of
from chebact.lab.page.axes import interval_keys
from chebact.lab.page.document import Block, Commands, Finding, Fold, Missing, Picture, Section, Words
from chebact.lab.page.networks import network_picture
from chebact.lab.page.results import Results
from chebact.lab.starts import HE_UNIFORM

__all__ = ["sections"]

SUBJECT = "cl-extrapolate"
SURE = 0.01  # p-values below it are called a difference
BELOW = "below it, and the difference in published standard deviations"
NETWORK = "The network. σ is the activation that is compared; ½ takes the mean of a shortcut and what it goes around."
DEMENTIABANK = (
    "DementiaBank itself is access-restricted and not here. With its two tables at hand, this makes the paper's "
    "figures:"
)
COMMAND = "chebact run clinical --data db-34-am.csv --preset dementiabank --select fp-34-am.csv"


def sections(results: Results) -> list[Section]:
    """What the clinical records show."""
    rows = rows_of(results.typed(ClinicalRecord))
    everything = tables_of(rows)
    tables = [table for table in everything if not any(row.start == HE_UNIFORM for row in table)] or everything
    blocks: list[Block] = []
    for index, table in enumerate(tables):
        blocks += table_blocks(table, f"clinical-{index}", folded=index > 0)
    if not rows:
        blocks.append(Missing("Not run yet.", "chebact run clinical"))
    if not any(is_dementiabank(row.spec) for row in rows):
        blocks.append(Missing(DEMENTIABANK, COMMAND))
    published, *checks = (replace(sheet, caption=f"{sheet.caption}.") for sheet in paper_sheets(everything).values())
    blocks += [published, Fold("Whether the seeds are normal, and what the start of the weights changes", (*checks,))]
    blocks.append(Fold("The network", (network_picture("clinical", NETWORK),)))
    if rows:
        lines = (*clinical_commands(row.spec for row in rows), "chebact report clinical")
        blocks.append(Fold("How to run it again", (Words(("Finished parts are skipped.",)), Commands(lines))))
    lead = (
        "Two classes of voice recordings, tested on people whom no network has met: every seed splits the people "
        "into other folds. Networks of two widths with ReLU, tanh and CL-extrapolate, beside common classifiers."
    )
    found = [each for table in tables if (each := find_difference(table)) is not None]
    others = [each for table in everything if table not in tables and (each := find_difference(table)) is not None]
    return [
        Section(
            "clinical",
            "Voice recordings",
            tuple(blocks),
            lead,
            finding=make_finding(found),
            shows=conclude(found, others, rows),
        )
    ]


def find_difference(table: Sequence[Row]) -> tuple[Row, float] | None:
    """CL-extrapolate at the smallest width, and how far its accuracy is above that of tanh; None where one lacks."""
    own = [row for row in table if row.model == SUBJECT and row.against == REFERENCE and "accuracy" in row.above]
    row = min(own, key=lambda row: row.width or 0, default=None)
    return None if row is None else (row, row.above["accuracy"])


def make_finding(found: Sequence[tuple[Row, float]]) -> Finding | None:
    """The first table's difference in a number, all of them in a sentence."""
    if not found:
        return None
    (first, difference), others = found[0], found[1:]
    more = "; ".join(f"{format_signed(other)} on {row.data}" for row, other in others)
    sentence = (
        f"accuracy of CL-extrapolate against {title_of(REFERENCE)}, width {first.width}, on {first.data} data"
        + (f"; {more}" if more else "")
        + "."
    )
    return Finding(f"{format_signed(difference)} points", sentence)


def conclude(found: Sequence[tuple[Row, float]], others: Sequence[tuple[Row, float]], rows: Sequence[Row]) -> str:
    """What the experiment comes to; `others` have another start of the weights."""
    if not found:
        return ""
    each, with_start = (
        "; ".join(f"{verdict(row, difference)} on {row.data}" for row, difference in some) for some in (found, others)
    )
    start = f" With He uniform weights: {with_start}." if others else ""
    best = max((row for row in rows if row.data == found[0][0].data and row.accuracy is not None), key=accuracy_of)
    paper = (
        ""
        if any(is_dementiabank(row.spec) for row in rows)
        else (" The paper's own data are not here, so its clinical result is neither confirmed nor refuted.")
    )
    return (
        f"{title_of(SUBJECT)} against {title_of(REFERENCE)}, width {found[0][0].width}: {each}.{start} On "
        f"{found[0][0].data} data the best model is {title_of(best.model)} with {best.accuracy:.1f} %.{paper}"
    )


def verdict(row: Row, difference: float) -> str:
    """Better or worse where the test says so."""
    if row.p_welch is None or row.p_welch >= SURE or row.seeds < FEWEST:
        return f"no clear difference ({format_signed(difference)} points)"
    return f"{'better' if difference > 0 else 'worse'} ({format_signed(difference)} points)"


def accuracy_of(row: Row) -> float:
    return float(row.accuracy)


def table_blocks(rows: Sequence[Row], name: str, *, folded: bool) -> list[Block]:
    """The scores of one table as intervals and as a sheet; the other sheets are folded."""
    panels = tuple(score_panel(rows, metric, f"{name}-{metric}") for metric in score_metrics(rows))
    paper = is_dementiabank(rows[0].spec)
    drawn = [row for row in rows if row.accuracy is not None]
    keys = interval_keys(colour_of(drawn[-1].model) if drawn else "muted", published=paper)
    picture = Picture(f"{name}-scores", f"{rows[0].data}: scores in percent. Right is better.", panels, keys)
    first, *others = [replace(sheet, caption=f"{sheet.caption}.") for sheet in sheets_of(rows, BELOW, name)]
    first = replace(first, notes=()) if folded else first  # the first table has them
    return [
        Words((f"{caption(rows)}.",)),
        Fold(f"{rows[0].data}: the scores as intervals", (picture,)) if folded else picture,
        first,
        Fold(f"{rows[0].data}: comparison with other systems, and the p-values", tuple(others)),
    ]
