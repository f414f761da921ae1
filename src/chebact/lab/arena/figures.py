"""The figures of the comparison on tables: errors beside ours, and how much the predicted intervals cover."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chebact.lab.page.document import Key, Panel
from chebact.lab.page.theme import LIGHT, as_panel, canvas
from chebact.lab.arena.rows import Row
from chebact.lab.arena.sheets import OURS, TITLES
from chebact.lab.arena.spec import LEVELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COVERAGE_KEYS", "coverage_panel", "draw_coverage"]

SIZE = (346, 300)
WANTED = (0.8, 0.97)  # of the 90 % interval
COVERAGE_KEYS = (
    Key("line", "learned", "mean of all data sets"),
    Key("dot", "faint", "one data set"),
    Key("dash", "muted", "as it should be"),
)


def coverage_panel(rows: Sequence[Row], model: str, name: str) -> Panel:
    """The coverage of one model's intervals against what they should cover, a point per data set."""
    with canvas(*SIZE, margins=(46, 12, 40, 26)) as axes:
        said = draw_coverage(axes, rows, model)
    return as_panel(axes, name, f"{TITLES[model]}: {said}")


def draw_coverage(axes: Axes, rows: Sequence[Row], model: str = OURS) -> str:
    """Draw the coverage of intervals in percent; in words, the mean of each."""
    own = [row.coverage for row in rows if row.model == model and row.coverage]
    levels = [100 * level for level in LEVELS]
    axes.plot([45, 100], [45, 100], "--", color=LIGHT["muted"], lw=1)
    axes.plot([90, 90], [100 * each for each in WANTED], color=LIGHT["line"], lw=7, solid_capstyle="butt", zorder=0)
    for coverage in own:
        axes.plot(levels, [100 * each for each in coverage], ".", ms=4, color=LIGHT["faint"], alpha=0.8)
    means = [100 * sum(each) / len(own) for each in zip(*own, strict=True)]
    axes.plot(levels, means, "o-", ms=4, lw=1.6, color=LIGHT["learned"])
    axes.set(xlim=(45, 100), ylim=(30, 101), title=TITLES[model])
    axes.set_xlabel("interval, %")
    axes.set_ylabel("of new rows inside, %")
    axes.grid(axis="y")
    return "mean coverage " + ", ".join(f"{m:.1f} % of {level:g} %" for m, level in zip(means, levels, strict=True))
