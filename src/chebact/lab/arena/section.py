"""The comparison on tables on the page: scores, who is ahead how often, and the coverage of intervals."""

from __future__ import annotations

from collections.abc import Sequence

from chebact.lab.page.document import Block, Commands, Finding, Fold, Missing, Picture, Section, Words
from chebact.lab.page.networks import network_picture
from chebact.lab.page.results import Results
from chebact.lab.arena.figures import COVERAGE_KEYS, coverage_panel
from chebact.lab.arena.record import TableRecord
from chebact.lab.arena.rows import Row, rows_of
from chebact.lab.arena.sheets import NINETY, OURS, TITLES, counts, sheets_of, smooth

__all__ = ["sections"]

LEAD = (
    "The estimators with their defaults beside scikit-learn's on its own data sets, on Friedman's functions and on "
    "twenty formulas of the Feynman lectures, by cross-validation."
)
NETWORK = "One network of the ensemble. σ is the activation; here it is always CL-extrapolate."
COVERED = "How much of new rows lies in the predicted intervals; the bar is what is asked of the 90 % interval."


def sections(results: Results) -> list[Section]:
    """What the records of the tables show."""
    rows = rows_of(results.typed(TableRecord))
    blocks: list[Block] = list(sheets_of(rows))
    models = [model for model in TITLES if any(row.model == model and row.coverage for row in rows)]
    if models:
        panels = tuple(coverage_panel(rows, model, f"coverage-{model}") for model in models)
        blocks.append(Picture("tables-covered", COVERED, panels, COVERAGE_KEYS))
    if not rows:
        blocks.append(Missing("Not run yet.", "chebact run tables"))
    blocks.append(Fold("The network", (network_picture("tables", NETWORK, drawing="synthetic"),)))
    if rows:
        lines = ("chebact run tables", "chebact report tables")
        blocks.append(Fold("How to run it again", (Words(("Finished parts are skipped.",)), Commands(lines))))
    return [Section("tables", "Tables", tuple(blocks), LEAD, finding=finding_of(rows), shows=shown_by(rows))]


def finding_of(rows: Sequence[Row]) -> Finding | None:
    """How often ours is ahead of every model but the Gaussian process."""
    others = [model for model in TITLES if model not in (OURS, "gaussian-process")]
    wins = [counts(smooth(rows), model) for model in others]
    fewest = min((ahead for ahead, of in wins if of), default=None)
    if fewest is None:
        return None
    most = max(of for _, of in wins)
    return Finding(f"{fewest} of {most}", "smooth tables on which chebact is ahead of the next best common model.")


def shown_by(rows: Sequence[Row]) -> str:
    """The count against the Gaussian process, and the coverage."""
    ahead, of = counts(smooth(rows), "gaussian-process")
    covered = [row.coverage[NINETY] for row in smooth(rows) if row.model == OURS and row.coverage]
    parts = [f"Against the Gaussian process chebact is ahead on {ahead} of {of} smooth tables."] if of else []
    if covered:
        parts.append(
            f"Its 90 % intervals hold {100 * min(covered):.0f} to {100 * max(covered):.0f} % of new rows there."
        )
    return " ".join(parts)
