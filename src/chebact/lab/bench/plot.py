"""The rows of `chebact bench ops` as a figure: the cost of training relative to ReLU, by activation and by degree."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chebact.lab import LabError
from chebact.lab.bench.ops import Row
from chebact.lab.bench.page import label, places

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw", "image_kind"]

CURVE = "cl-extrapolate"  # its degrees are the right-hand panel; the left-hand one has the smallest of them
# Okabe and Ito's colours, which differ to all kinds of colour vision, and with markers also in print.
COLOURS = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#0072B2", "#D55E00", "#000000")
MARKERS = "osD^vPX"
DPI = 120


def image_kind(path: Path) -> str:
    """`png` or `svg`, by the ending of the name; a LabError for any other."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg"):
        raise LabError(f"the name {path.name} came for the plot: one that ends in .png or .svg is wanted")
    return kind


def draw(rows: Sequence[Row], kind: str) -> bytes:
    """The figure as the content of a `png` or `svg` file."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 5.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    draw_activations(left, rows)
    draw_degrees(right, rows)
    content = io.BytesIO()
    with rc_context({"svg.hashsalt": "chebact"}):  # the same rows give the same file
        figure.savefig(content, format=kind, dpi=DPI, metadata={"Date": None} if kind == "svg" else None)
    return content.getvalue()


def draw_activations(axes: Axes, rows: Sequence[Row]) -> None:
    """A group of bars an activation, a bar a case (the first layout of each), the quartiles as whiskers.

    Bars start at ReLU's cost: what is dearer stands on the line, what is cheaper hangs from it.
    """
    cases = first_layouts(rows)
    shown = [row for row in rows if row.name != "relu" and (row.name != CURVE or row.degree == lowest(rows))]
    names = list(dict.fromkeys(label(row) for row in shown))
    width = 0.8 / max(1, len(cases))
    for index, (case, layout) in enumerate(cases.items()):
        own = [row for row in shown if (row.case, row.layout) == (case, layout)]
        positions = [names.index(label(row)) + (index + 0.5) * width - 0.4 for row in own]
        heights = [row.training - 1 for row in own]
        axes.bar(
            positions, heights, width, 1, color=colour(index), yerr=whiskers(own), error_kw={"lw": 0.8}, label=case
        )
    axes.set_xticks(range(len(names)), names, rotation=35, ha="right")
    axes.set(yscale="log", title="Forward and backward, by activation (NCHW)", ylabel="time, as a multiple of ReLU")
    axes.set_axisbelow(True)
    finish(axes)
    axes.legend(title="size of x", fontsize="small", loc="upper left", handlelength=3.5)


def draw_degrees(axes: Axes, rows: Sequence[Row]) -> None:
    """A line a case and layout: the cost of the learned polynomial against its degree."""
    cases = list(first_layouts(rows))
    for case, layout in places(rows):
        own = sorted((row for row in rows if curve_of(row) == (case, layout)), key=lambda row: row.degree or 0)
        index, other = cases.index(case), layout == "channels_last"
        axes.errorbar(
            [row.degree or 0 for row in own],
            [row.training for row in own],
            whiskers(own),
            color=colour(index),
            marker=MARKERS[index % len(MARKERS)],
            ls="--" if other else "-",
            capsize=2,
            label=f"{case}, channels last" if other else case,
        )
    degrees = sorted({row.degree for row in rows if row.name == CURVE and row.degree is not None})
    axes.set(xscale="log", yscale="log", title="Forward and backward, by degree", xlabel="degree of the polynomial")
    axes.set_ylabel("time, as a multiple of ReLU")
    axes.set_xticks(degrees, [str(degree) for degree in degrees])
    axes.minorticks_off()
    finish(axes)
    # Below the axes: lines may go anywhere in them, and the names of activations leave room there on the left.
    below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.13), "ncols": 2}
    axes.legend(title="size of x", fontsize="small", handlelength=3.5, **below)


def curve_of(row: Row) -> tuple[str, str] | None:
    return (row.case, row.layout) if row.name == CURVE else None


def first_layouts(rows: Sequence[Row]) -> dict[str, str]:
    """The cases, each with the first of its layouts."""
    found: dict[str, str] = {}
    for case, layout in places(rows):
        found.setdefault(case, layout)
    return found


def lowest(rows: Sequence[Row]) -> int | None:
    """The lowest degree of the learned polynomial."""
    return min((row.degree for row in rows if row.name == CURVE and row.degree is not None), default=None)


def whiskers(rows: Sequence[Row]) -> list[list[float]]:
    """Distances from the median down and up to the quartiles."""
    down = [max(0.0, row.training - row.training_spread[0]) for row in rows]
    up = [max(0.0, row.training_spread[1] - row.training) for row in rows]
    return [down, up]


def colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def finish(axes: Axes) -> None:
    """What both panels have: the line of ReLU, costs as they are said (0.5, 1, 20), a grid."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axes.axhline(1, color="black", lw=1, ls=":")
    axes.text(1, 1, " ReLU", transform=axes.get_yaxis_transform(), va="center", fontsize="small")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.grid(axis="y", alpha=0.3)
