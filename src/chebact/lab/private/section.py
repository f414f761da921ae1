"""Private inference on the page: what is lost on the way to ciphertexts, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence

from chebact.lab.page.document import Block, Commands, Finding, Fold, Missing, Picture, Section, Words
from chebact.lab.page.results import Results
from chebact.lab.private.figures import KEYS, accuracy_panel
from chebact.lab.private.record import PrivateRecord
from chebact.lab.private.rows import Row, rows_of
from chebact.lab.private.sheets import NAMES, served, sheets_of

__all__ = ["sections"]

LEAD = (
    "Under homomorphic encryption a server can only add and multiply. Networks of two hidden layers of 32 are trained "
    "in the clear and evaluated on encrypted test rows (CKKS, 128-bit security). All have the same splits, initial "
    "weights and settings."
)
CAPTION = (
    "Test accuracy per activation and degree, mean of the splits; a line is the standard error. The hollow dot is CL "
    "as trained, with straight tails: without the penalty, what is left when they are cut off is the filled one."
)


def sections(results: Results) -> list[Section]:
    """What the records of private inference show."""
    rows = rows_of(results.typed(PrivateRecord))
    blocks: list[Block] = []
    known = [data for data in NAMES if any(row.data == data for row in rows)]
    if known:
        panels = tuple(accuracy_panel(rows, data) for data in known)
        blocks.append(Picture("private-accuracy", CAPTION, panels, KEYS))
    blocks += sheets_of(rows)
    if rows:
        lines = ("chebact run private --voice parkinson_replicated_acoustic.csv", "chebact report private")
        blocks.append(Fold("How to run it again", (Words(("Finished parts are skipped.",)), Commands(lines))))
    else:
        blocks.append(Missing("Not run yet.", "chebact run private"))
    return [
        Section("private", "Private inference", tuple(blocks), LEAD, finding=finding_of(rows), shows=shown_by(rows))
    ]


def finding_of(rows: Sequence[Row]) -> Finding | None:
    """The decisions that are the same on ciphertexts, of CL with the penalty."""
    own = [row for row in served(rows) if row.model == "cl" and row.same_decisions is not None]
    if not own:
        return None
    same = sum(row.same_decisions or 0 for row in own)
    return Finding(
        f"{same:,} of {sum(row.test_rows for row in own):,}",
        "decisions of CL networks on encrypted rows are those in the clear.",
    )


def shown_by(rows: Sequence[Row]) -> str:
    """The least time of a row, and how far CL is from ReLU."""
    relu = {row.data: row.accuracy for row in rows if row.model == "relu"}
    gaps = [
        row.accuracy - (relu[row.data] or 0.0)
        for row in rows
        if row.model == "cl" and row.degree == 2 and row.accuracy is not None and relu.get(row.data) is not None
    ]
    times = [row.row_seconds for row in rows if row.model == "cl" and row.degree == 2 and row.row_seconds is not None]
    if not gaps or not times:
        return ""
    return (
        f"CL of degree 2 with the range penalty is {min(gaps):+.1f} to {max(gaps):+.1f} points from ReLU, on "
        f"ciphertexts; a row takes {max(times):.2f} s of one core."
    )
