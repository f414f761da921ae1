"""The clinical scores as intervals."""

from __future__ import annotations

from collections.abc import Sequence

from chebact.lab.clinical.baselines import MAJORITY
from chebact.lab.clinical.classification import METRICS
from chebact.lab.clinical.rows import Row
from chebact.lab.clinical.sheets import title_of
from chebact.lab.page.axes import draw_interval, name_rows
from chebact.lab.page.colours import look_of
from chebact.lab.page.document import Panel
from chebact.lab.page.theme import as_panel, canvas
from chebact.table import ACTIVATIONS

__all__ = ["colour_of", "score_panel"]

WIDTH, ROW = 300, 22


def colour_of(model: str) -> str:
    """The colour of an activation; other classifiers are grey."""
    return look_of(model)[0] if model in ACTIVATIONS else "muted"


def score_panel(rows: Sequence[Row], metric: str, name: str) -> Panel:
    """A row per model: its seeds, their mean and deviation, and the published figure where there is one."""
    shown = [row for row in rows if row.values[metric] is not None and row.model != MAJORITY]  # it is in the table
    labels = [title_of(row.model) + ("" if row.width is None else f", {row.width}") for row in shown]
    title, said = METRICS[metric].title, []
    with canvas(WIDTH, 66 + ROW * max(1, len(shown)), margins=(122, 12, 32, 26)) as axes:
        for position, row in enumerate(shown):
            mean, spread = row.values[metric], row.values[f"{metric}_std"] or 0.0
            seeds = [value for value in row.by_seed[metric] if value is not None]
            paper, wide = row.values.get(f"paper_{metric}"), row.values.get(f"paper_{metric}_std")
            printed = None if paper is None or wide is None else (paper, wide)
            draw_interval(axes, position, seeds, (mean, spread), printed, colour_of(row.model))
            said.append(f"{labels[position]} {mean:.1f}" + ("" if printed is None else f", published {paper:g}"))
        name_rows(axes, labels)
        axes.set_title(title)
        axes.set_xlabel("%")
    return as_panel(axes, name, f"{title} in percent: " + "; ".join(said))
