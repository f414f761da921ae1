"""Drawing shared by the figures of several subjects: plain numbers on log axes, and seeds as intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chebact.lab.page.document import Key
from chebact.lab.page.theme import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_interval", "few_ticks", "interval_keys", "limit_log", "name_rows", "plain_log"]

ABOVE, BELOW = -0.16, 0.2  # of a row's middle: ours, and the published numbers
SEED = Key("dot", "faint", "one seed")
PUBLISHED = Key("diamond", "ink", "published mean ± standard deviation")


def interval_keys(colour: str, *, published: bool) -> tuple[Key, ...]:
    """The legend of intervals, with one colour per model."""
    ours = Key("line", colour, "our mean ± standard deviation, one colour per model")
    return (SEED, ours, PUBLISHED) if published else (SEED, ours)


def draw_interval(
    axes: Axes,
    row: int,
    seeds: Sequence[float],
    ours: tuple[float, float] | None,
    published: tuple[float, float] | None,
    colour: str,
) -> None:
    """One row: the seeds, their mean and deviation, and below them the published mean and deviation.

    On a log axis, whose limits must be set before, a whisker that leaves the axis ends in an arrowhead.
    """
    axes.plot(seeds, [row + ABOVE] * len(seeds), ".", ms=4, color=LIGHT["faint"], alpha=0.8)
    for pair, y, look, width, marker, size in (
        (ours, row + ABOVE, LIGHT[colour], 2.4, "o", 5.0),
        (published, row + BELOW, LIGHT["ink"], 1.0, "D", 3.6),
    ):
        if pair is not None:
            draw_whisker(axes, pair, y, look, width)
            axes.plot([pair[0]], [y], marker, ms=size, color=look)


def draw_whisker(axes: Axes, pair: tuple[float, float], y: float, colour: str, width: float) -> None:
    low, high = pair[0] - pair[1], pair[0] + pair[1]
    if axes.get_xscale() == "log":
        left, right = axes.get_xlim()
        for end, marker, outside in ((left, "<", low < left), (right, ">", high > right)):
            if outside:
                axes.plot([end], [y], marker, ms=5, color=colour, clip_on=False, zorder=5)
        low, high = max(low, left), min(high, right)
    axes.plot([low, high], [y] * 2, color=colour, lw=width, solid_capstyle="butt")


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """The rows of intervals named on the left, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0, labelcolor=LIGHT["ink"])
    axes.grid(axis="x")


def limit_log(axes: Axes, values: Sequence[float]) -> None:
    """A log axis around the numbers, with ticks at 1, 2 and 5 as plain numbers."""
    from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

    low, high = (min(values) / 1.5, max(values) * 1.4) if values else (0.001, 1.0)
    axes.set_xlim(low, high)
    ticks = [m * 10.0**e for e in range(-6, 7) for m in (1, 2, 5) if low <= m * 10.0**e <= high]
    ticks = ticks if len(ticks) <= 6 else [tick for tick in ticks if f"{tick:e}"[0] == "1"]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())


def plain_log(axes: Axes) -> None:
    """Ticks of a log axis as plain numbers: 0.01, 0.02, 0.05."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def few_ticks(axes: Axes, count: int) -> None:
    """At most `count` ticks on the vertical axis."""
    from matplotlib.ticker import MaxNLocator

    axes.yaxis.set_major_locator(MaxNLocator(count))
