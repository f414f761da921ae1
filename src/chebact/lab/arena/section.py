"""The arena on the page: ranks and errors in one picture, ours against each model, all scores, times."""

from __future__ import annotations

from collections.abc import Sequence

from chebact.lab.arena.entrants import ENTRANTS, OURS, SINGLE
from chebact.lab.arena.fields import FIELDS, in_order, title_of
from chebact.lab.arena.figures import COVERAGE_KEYS, STORY_KEYS, coverage_panel, rank_panel, ratio_panel
from chebact.lab.arena.ranks import duel, standing_of
from chebact.lab.arena.record import ArenaRecord
from chebact.lab.arena.rows import Row, rows_of
from chebact.lab.arena.sheets import sheets_of
from chebact.lab.page.document import Block, Commands, Finding, Fold, Missing, Picture, Section, Words
from chebact.lab.page.networks import network_picture
from chebact.lab.page.results import Results
from chebact.lab.page.sheet import Sheet

__all__ = ["sections"]

LEAD = (
    "The estimators with their defaults beside the same network with other activations, other libraries and "
    "scikit-learn, on functions, formulas and measured tables, all with the same splits."
)
NETWORK = "One network of the ensemble. σ is the activation: CL-extrapolate, or the one of the row."
STORY = (
    "Mean ranks with what Nemenyi's critical difference cannot tell from chebact, and the error of each model over "
    "chebact's on every set of regression. Points left of 1 are losses."
)
COVERED = "How much of new rows lies in the predicted intervals; the bar is what is asked of the 90 % interval."
OPEN = ("arena-duels-cl", "arena-core", "arena-costs")  # the sheets that are not behind a line


def sections(results: Results) -> list[Section]:
    """What the records of the arena show."""
    rows = rows_of(results.typed(ArenaRecord))
    blocks: list[Block] = [*story_of(rows), *tables_of(sheets_of(rows)), *coverage_of(rows), *absent_of(rows)]
    if not rows:
        blocks.append(Missing("Not run yet.", "chebact run arena"))
    blocks.append(Fold("The network", (network_picture("arena", NETWORK, drawing="synthetic"),)))
    if rows:
        lines = ("chebact run arena", "python3 dev.py arena", "chebact report arena")
        words = "Finished parts are skipped. The second line has the other libraries too, in their own environment."
        blocks.append(Fold("How to run it again", (Words((words,)), Commands(lines))))
    return [Section("arena", "Arena", tuple(blocks), LEAD, finding=finding_of(rows), shows=shown_by(rows))]


def story_of(rows: Sequence[Row]) -> list[Block]:
    """The picture: ranks and ratios on all sets of regression, and the ranks on the core sets."""
    panels = []
    own = FIELDS["regression"].rows(rows)
    standing = standing_of(own)
    if standing is not None:
        panels.append(rank_panel(standing, "arena-ranks", "All sets of regression"))
        if OURS in standing.ranks:
            panels.append(ratio_panel(own, standing, "arena-ratios"))
    core = standing_of(FIELDS["core"].rows(rows))
    if core is not None:
        panels.append(rank_panel(core, "arena-core-ranks", "Core sets, all models"))
    return [Picture("arena-story", STORY, tuple(panels), STORY_KEYS)] if panels else []


def tables_of(sheets: Sequence[Sheet]) -> list[Block]:
    """The main sheets, and a fold with each of the others."""
    shown: list[Block] = [sheet for sheet in sheets if sheet.name in OPEN]
    return shown + [Fold(sheet.caption.partition(";")[0], (sheet,)) for sheet in sheets if sheet.name not in OPEN]


def coverage_of(rows: Sequence[Row]) -> list[Block]:
    """The coverage of the intervals of ours and of the Gaussian process."""
    models = [model for model in in_order(rows) if any(row.model == model and row.coverage for row in rows)]
    shown = [model for model in models if model in (OURS, "gaussian-process")]
    panels = tuple(coverage_panel(rows, model, f"coverage-{model}") for model in shown)
    return [Picture("arena-covered", COVERED, panels, COVERAGE_KEYS)] if panels else []


def absent_of(rows: Sequence[Row]) -> list[Block]:
    """The models of the table that have no record."""
    absent = [row.title for name, row in ENTRANTS.items() if rows and name not in {row.model for row in rows}]
    return [Missing(f"Without a record: {'; '.join(absent)}.", "python3 dev.py arena")] if absent else []


def finding_of(rows: Sequence[Row]) -> Finding | None:
    """The mean rank of ours, and who comes next or before."""
    standing = standing_of(FIELDS["regression"].rows(rows))
    if standing is None or OURS not in standing.ranks:
        return None
    rank = standing.ranks[OURS]
    other, best = next((model, each) for model, each in standing.ranks.items() if model not in (OURS, SINGLE))
    place = "next" if best > rank else "first"
    sentence = (
        f"is the mean rank of chebact among {len(standing.ranks)} models on {standing.families} functions and tables; "
        f"the {place} is {title_of(other)} with {best:.1f}."
    )
    return Finding(f"{rank:.1f}", sentence)


def shown_by(rows: Sequence[Row]) -> str:
    """Wins and losses against the models that come nearest."""
    parts = []
    for model in in_order(rows):
        found = duel(rows, OURS, model) if model not in (OURS, SINGLE) else None
        if found is not None and found.losses:
            parts.append((found.losses / (found.wins + found.losses), found))
    parts.sort(key=lambda pair: -pair[0])
    texts = [f"{title_of(each.model)} ({each.losses} of {each.wins + each.ties + each.losses})" for _, each in parts]
    return f"chebact has the greater error than: {'; '.join(texts[:6])}." if texts else ""
