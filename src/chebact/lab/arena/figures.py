"""The figures of the arena: mean ranks with the critical difference, errors beside ours, coverage of intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from chebact.lab.arena.entrants import OURS
from chebact.lab.arena.fields import title_of
from chebact.lab.arena.ranks import Standing, by_data, middle
from chebact.lab.arena.rows import Row
from chebact.lab.arena.spec import LEVELS
from chebact.lab.page.document import Key, Panel
from chebact.lab.page.theme import LIGHT, as_panel, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "COVERAGE_KEYS",
    "STORY_KEYS",
    "coverage_panel",
    "draw_coverage",
    "draw_ranks",
    "draw_ratios",
    "rank_panel",
    "ratio_panel",
    "story_height",
]

WIDTH, LINE, LABELS = 346, 19, 142  # pixels: of a panel, of a model in it, and of the names
SIZE = (346, 300)
WANTED = (0.8, 0.97)  # of the 90 % interval
COVERAGE_KEYS = (
    Key("line", "learned", "mean of all data sets"),
    Key("dot", "faint", "one data set"),
    Key("dash", "muted", "as it should be"),
)
STORY_KEYS = (
    Key("dot", "learned", "chebact"),
    Key("area", "shade", "cannot be told from chebact"),
    Key("dot", "second", "a set on which chebact is ahead"),
    Key("dot", "other", "a set on which it is behind"),
)


def story_height(standing: Standing) -> int:
    """The height of a panel in pixels."""
    return 64 + LINE * len(standing.ranks)


def rank_panel(standing: Standing, name: str, title: str) -> Panel:
    """The mean ranks as a panel of the page."""
    with canvas(WIDTH, story_height(standing), margins=(LABELS, 12, 38, 26)) as axes:
        said = draw_ranks(axes, standing, title)
    return as_panel(axes, name, said)


def ratio_panel(rows: Sequence[Row], standing: Standing, name: str) -> Panel:
    """The ratios of errors as a panel of the page."""
    with canvas(WIDTH, story_height(standing), margins=(LABELS, 12, 38, 26)) as axes:
        said = draw_ratios(axes, rows, list(standing.ranks))
    return as_panel(axes, name, said)


def name_rows(axes: Axes, models: Sequence[str]) -> None:
    """A line per model, the first at the top, ours in its colour."""
    axes.set_yticks(range(len(models)), [title_of(model) for model in models])
    axes.set_ylim(len(models) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    for label, model in zip(axes.get_yticklabels(), models, strict=True):
        label.set_color(LIGHT["learned"] if model.startswith(OURS) else LIGHT["ink"])


def draw_ranks(axes: Axes, standing: Standing, title: str) -> str:
    """Draw the mean rank of each model; the shade is what is within the critical difference of chebact."""
    models = list(standing.ranks)
    centre = standing.ranks.get(OURS, next(iter(standing.ranks.values())))
    axes.axvspan(centre - standing.difference, centre + standing.difference, color=LIGHT["shade"], lw=0)
    for place, (model, rank) in enumerate(standing.ranks.items()):
        axes.plot([1, rank], [place, place], color=LIGHT["grid"], lw=1, zorder=1)
        colour = LIGHT["learned"] if model.startswith(OURS) else LIGHT["muted"]
        axes.plot(rank, place, "o", ms=6, color=colour, zorder=3)
    name_rows(axes, models)
    axes.set(xlim=(0.5, len(models) + 0.5), title=title)
    axes.set_xlabel("mean rank, 1 is the best")
    ranks = ", ".join(f"{title_of(model)} {rank:.1f}" for model, rank in standing.ranks.items())
    return f"{title}, mean ranks: {ranks}; critical difference {standing.difference:.1f}"


def draw_ratios(axes: Axes, rows: Sequence[Row], models: Sequence[str]) -> str:
    """Draw the error of each model in units of ours, a point per set; in words, the medians."""
    sets = by_data(rows)
    said = []
    for place, model in enumerate(models):
        ratios = ratios_of(sets, model)
        if model == OURS or not ratios:
            continue
        colours = [LIGHT["second"] if ratio >= 1 else LIGHT["other"] for ratio in ratios]
        places = [place + 0.5 * (turn / len(ratios) - 0.5) for turn in range(len(ratios))]
        axes.scatter([max(0.1, ratio) for ratio in ratios], places, s=7, c=colours, alpha=0.75, lw=0, zorder=2)
        centre = middle(ratios)
        assert centre is not None
        axes.plot([centre, centre], [place - 0.36, place + 0.36], color=LIGHT["ink"], lw=1.6, zorder=3)
        said.append(f"{title_of(model)} {centre:.2f}")
    axes.axvline(1, color=LIGHT["learned"], lw=1.4)
    name_rows(axes, models)
    axes.set_xscale("log")
    axes.set(title="Error over chebact's, set by set")
    ticks = [tick for tick in (0.1, 0.3, 1, 3, 10, 30, 100, 300) if tick <= axes.get_xlim()[1] or tick <= 10]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(axis="x")
    axes.set_xlabel("left of 1 chebact is behind; | is the median")
    return f"Error over chebact's, medians: {', '.join(said)}"


def ratios_of(sets: dict[str, dict[str, Row]], model: str) -> list[float]:
    """The error of a model over ours on the sets and splits that both have, in the order of the sets."""
    found = []
    for rows in sets.values():
        if OURS in rows and model in rows:
            splits = min(len(rows[OURS].scores), len(rows[model].scores))
            own, other = (fmean(rows[name].scores[:splits]) for name in (OURS, model))
            if own > 0 and math.isfinite(other / own):
                found.append(other / own)
    return found


def coverage_panel(rows: Sequence[Row], model: str, name: str) -> Panel:
    """The coverage of one model's intervals against what they should cover, a point per data set."""
    with canvas(*SIZE, margins=(46, 12, 40, 26)) as axes:
        said = draw_coverage(axes, rows, model)
    return as_panel(axes, name, f"{title_of(model)}: {said}")


def draw_coverage(axes: Axes, rows: Sequence[Row], model: str = OURS) -> str:
    """Draw the coverage of intervals in percent; in words, the mean of each."""
    own = [row.coverage for row in rows if row.model == model and row.coverage]
    levels = [100 * level for level in LEVELS]
    axes.plot([45, 100], [45, 100], "--", color=LIGHT["muted"], lw=1)
    axes.plot([90, 90], [100 * each for each in WANTED], color=LIGHT["line"], lw=7, solid_capstyle="butt", zorder=0)
    for coverage in own:
        axes.plot(levels, [100 * each for each in coverage], ".", ms=4, color=LIGHT["faint"], alpha=0.8)
    means = [100 * fmean(each) for each in zip(*own, strict=True)]
    axes.plot(levels, means, "o-", ms=4, lw=1.6, color=LIGHT["learned"])
    axes.set(xlim=(45, 100), ylim=(30, 101), title=title_of(model))
    axes.set_xlabel("interval, %")
    axes.set_ylabel("of new rows inside, %")
    axes.grid(axis="y")
    return "mean coverage " + ", ".join(f"{m:.1f} % of {level:g} %" for m, level in zip(means, levels, strict=True))
