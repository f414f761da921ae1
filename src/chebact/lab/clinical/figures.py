"""The clinical scores as intervals."""

from __future__ import annotations

from collections.abc import Sequence

from chebact.lab.clinical.baselines import MAJORITY
from chebact.lab.clinical.classification import METRICS
from chebact.lab.clinical.rows import Row
from chebact.lab.clinical.sheets import title_of
from chebact.lab.page.document import Key, Panel
from chebact.lab.page.theme import LIGHT, as_panel, canvas

__all__ = ["SCORE_KEYS", "score_panel"]

WIDTH, ROW = 346, 22
SCORE_KEYS = (
    Key("dot", "faint", "one seed"),
    Key("line", "learned", "our mean ± deviation"),
    Key("diamond", "other", "published mean ± deviation"),
)


def score_panel(rows: Sequence[Row], metric: str, name: str) -> Panel:
    """A row a model: its seeds, their mean and deviation, and the published figure where there is one."""
    shown = [row for row in rows if row.values[metric] is not None and row.model != MAJORITY]  # it is in the table
    labels = [title_of(row.model) + ("" if row.width is None else f", {row.width}") for row in shown]
    said = []
    with canvas(WIDTH, 66 + ROW * max(1, len(shown)), margins=(132, 12, 32, 26)) as axes:
        for place, row in enumerate(shown):
            mean, spread = row.values[metric], row.values[f"{metric}_std"] or 0.0
            seeds = [value for value in row.by_seed[metric] if value is not None]
            axes.plot(seeds, [place - 0.12] * len(seeds), ".", ms=4, color=LIGHT["faint"], alpha=0.8)
            axes.plot([mean - spread, mean + spread], [place - 0.12] * 2, color=LIGHT["learned"], lw=2.4)
            axes.plot([mean], [place - 0.12], "o", ms=5, color=LIGHT["learned"])
            said.append(f"{labels[place]} {mean:.1f}")
            paper, wide = row.values.get(f"paper_{metric}"), row.values.get(f"paper_{metric}_std")
            if paper is not None and wide is not None:
                axes.plot([paper - wide, paper + wide], [place + 0.22] * 2, color=LIGHT["other"], lw=1)
                axes.plot([paper], [place + 0.22], "D", ms=3.6, color=LIGHT["other"])
                said[-1] += f", published {paper:g}"
        axes.set_yticks(range(len(shown)), labels)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0, labelcolor=LIGHT["ink"])
        axes.set_title(METRICS[metric])
        axes.set_xlabel("%")
        axes.grid(axis="x")
    return as_panel(axes, name, f"{METRICS[metric]} in percent: " + "; ".join(said))
