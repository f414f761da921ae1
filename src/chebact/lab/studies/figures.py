"""The pictures of the studies: errors over an axis, one line per network and recipe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from chebact.lab.page.axes import plain_log
from chebact.lab.page.document import Key
from chebact.lab.page.theme import LIGHT
from chebact.lab.studies.plan import Axis, Line, Panel, label_of
from chebact.lab.studies.rows import Reading, Row
from chebact.lab.studies.sheets import format_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["describe_lines", "draw_lines", "line_keys"]

BAND = 0.13  # opacity of the spread over the seeds
SMALL = 0.001  # a tick up to here has an exponent
ROW = 0.06  # height of a number on top of a panel
ENDS = ("low", "high")
DASHES: dict[str, Any] = {"--": (0, (4, 2)), "-": "-"}


def positions(axis: Axis) -> dict[str, float]:
    """Where the values stand: words side by side, and zero on a log axis one step left of the least other value."""
    if axis.scale == "words":
        return {label_of(value): float(index) for index, value in enumerate(axis.values)}
    numbers = [float(value) for value in axis.values]
    above = sorted(number for number in numbers if number > 0)
    step = above[1] / above[0] if len(above) > 1 else 2.0
    zero = above[0] / step if above and axis.scale == "log" else 0.0
    return {label_of(value): float(value) or zero for value in axis.values}


def draw_lines(axes: Axes, reading: Reading, panel: Panel) -> str:
    """Draw the lines of a panel with their spread; in words, where each is least."""
    where = positions(panel.axis)
    for line in panel.lines:
        points = [(where[label_of(value)], row) for value, row in reading.line_rows(panel, line)]
        draw_line(axes, [(x, row) for x, row in points if row.error is not None], line)
    set_axes(axes, panel, where)
    draw_diverged(axes, reading, panel, where)
    return describe_lines(reading, panel)


def draw_line(axes: Axes, points: Sequence[tuple[float, Row]], line: Line) -> None:
    """One line: the median of the seeds, the spread as a band; a reference is a level line."""
    x, errors = [x for x, _ in points], [row.error or 0.0 for _, row in points]
    colour, dash = LIGHT[line.colour], DASHES[line.dash]
    if line.level:
        axes.plot(x, errors, color=colour, ls=dash, lw=1.2, zorder=2)
        return
    low, high = ([getattr(row, end) or error for (_, row), error in zip(points, errors, strict=True)] for end in ENDS)
    axes.fill_between(x, low, high, color=colour, alpha=BAND, lw=0, zorder=1)
    axes.plot(x, errors, "o", ls=dash, color=colour, ms=3.6, lw=1.8, zorder=3)


def draw_diverged(axes: Axes, reading: Reading, panel: Panel, where: dict[str, float]) -> None:
    """How many trainings diverged, on top of the panel, in the colour of their line, bold for a solid one."""
    stacked: dict[float, int] = {}
    for line in panel.lines:
        for value, row in reading.line_rows(panel, line):
            if row.diverged and not line.level:
                x = where[label_of(value)]
                height = 1 - ROW * stacked.setdefault(x, 0)
                stacked[x] += 1
                axes.text(
                    x, height, f"×{row.diverged}", transform=axes.get_xaxis_transform(), ha="center", va="top",
                    fontsize=9, color=LIGHT[line.colour], fontweight="bold" if line.dash == "-" else "normal",
                )  # fmt: skip
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** (ROW * max(stacked.values(), default=0)))


def set_axes(axes: Axes, panel: Panel, where: dict[str, float]) -> None:
    """Scales, ticks at the values, labels."""
    from matplotlib.ticker import NullFormatter, NullLocator

    axes.set_yscale("log")
    plain_log(axes)
    axes.margins(y=0.12)
    if panel.axis.scale == "log":
        axes.set_xscale("log")
    axes.set_xticks(list(where.values()), [short_tick(value) for value in where])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_title(panel.title)
    axes.set_xlabel(panel.axis.label)
    axes.set_ylabel("test RMSE")
    axes.grid(axis="y")


def short_tick(label: str) -> str:
    """A tick that needs little room.

    >>> short_tick("20000"), short_tick("0.0003"), short_tick("0.01"), short_tick("none")
    ('20k', '3e-4', '0.01', 'none')
    """
    if label.endswith("000"):
        return f"{label[:-3]}k"
    if label.startswith("0.00") or "e-" in label:
        return f"{float(label):g}" if float(label) > SMALL else f"{float(label):.0e}".replace("e-0", "e-")
    return label


def describe_lines(reading: Reading, panel: Panel) -> str:
    """A panel in words: where the error of each line is least, and that of the references."""
    words = []
    for line in panel.lines:
        rows = [row for _, row in reading.line_rows(panel, line) if row.error is not None]
        if rows:
            best = min(rows, key=lambda row: row.error or 0.0)
            where = f" at {best.value}" if best.value else ""
            words.append(f"{line.title} {'' if line.level else 'least '}{format_error(best.error or 0.0)}{where}")
    head = f"{reading.study.title}{f', {panel.title}' if panel.title else ''}: test RMSE over {panel.axis.label}"
    return f"{head}. {'; '.join(words)}"


def line_keys(panels: Sequence[Panel]) -> tuple[Key, ...]:
    """The legend of all lines of some panels, each once."""
    lines = {line.name: line for panel in panels for line in panel.lines}
    return tuple(Key("line" if line.dash == "-" else "dash", line.colour, line.title) for line in lines.values())
