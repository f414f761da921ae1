"""What an activation costs in training: against the degree, and beside others, as multiples of ReLU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chebact.lab.bench.page import CURVE, lowest_degree
from chebact.lab.bench.rows import Row, cases_and_layouts
from chebact.lab.page.axes import limit_log, plain_log
from chebact.lab.page.colours import LOOKS, look_of
from chebact.lab.page.document import Key, Panel
from chebact.lab.page.theme import LIGHT, as_image, as_panel, canvas, grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COST_KEYS", "activation_panel", "degree_panel", "draw_costs", "has_degrees"]

SIZE = (258, 224)
WIDE = 330
COST_KEYS = (Key("line", "learned", "CL-extrapolate, with quartiles"), Key("dash", "other", "ReLU"))


def rows_at(rows: Sequence[Row], case: str, layout: str) -> list[Row]:
    return [row for row in rows if (row.case, row.layout) == (case, layout)]


def rows_by_degree(rows: Sequence[Row], case: str, layout: str) -> list[Row]:
    """The learned polynomial at one size, by degree."""
    return sorted((row for row in rows_at(rows, case, layout) if row.name == CURVE), key=lambda row: row.degree or 0)


def has_degrees(rows: Sequence[Row], case: str, layout: str) -> bool:
    """Whether the learned polynomial was measured at more than one degree there."""
    return len({row.degree for row in rows_by_degree(rows, case, layout)}) > 1


def rows_by_time(rows: Sequence[Row], case: str, layout: str) -> list[Row]:
    """Every activation at one size, the fastest first; of the learned polynomial its lowest degree."""
    lowest = lowest_degree(rows)
    shown = [row for row in rows_at(rows, case, layout) if row.name != CURVE or row.degree == lowest]
    return sorted(shown, key=lambda row: row.training)


def size_title(case: str, layout: str) -> str:
    return f"{case}{', channels last' if layout == 'channels_last' else ''}"


def draw_degrees(axes: Axes, shown: Sequence[Row]) -> None:
    """Time against the degree, with quartiles."""
    degrees, times = [row.degree or 0 for row in shown], [row.training for row in shown]
    spread = [
        [max(0.0, row.training - row.training_spread[0]) for row in shown],
        [max(0.0, row.training_spread[1] - row.training) for row in shown],
    ]
    axes.axhline(1, color=LIGHT["other"], lw=1.4, ls=(0, (4, 2)))
    axes.errorbar(degrees, times, spread, color=LIGHT["learned"], marker="o", ms=4, capsize=2, lw=1.6)
    axes.set(xscale="log", yscale="log", xlabel="degree of the polynomial")
    axes.set_xticks(degrees, [str(degree) for degree in degrees])
    axes.minorticks_off()
    axes.grid(axis="y")
    plain_log(axes)


def draw_beside(axes: Axes, shown: Sequence[Row]) -> None:
    """Time of every activation, one row each; bars start at ReLU's cost."""
    colours = [LIGHT[look_of(row.name)[0] if row.name in LOOKS else "faint"] for row in shown]
    axes.barh(range(len(shown)), [row.training - 1 for row in shown], 0.62, 1, color=colours)
    axes.set_xscale("log")
    axes.axvline(1, color=LIGHT["other"], lw=1.4, ls=(0, (4, 2)))
    axes.set_yticks(range(len(shown)), [row.label for row in shown])
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0, labelcolor=LIGHT["ink"])
    axes.set_xlabel("time of forward and backward, ReLU = 1")
    limit_log(axes, [row.training for row in shown])
    axes.grid(axis="x")


def degree_panel(rows: Sequence[Row], case: str, layout: str, name: str) -> Panel:
    """Forward and backward of the learned polynomial at one size, against its degree."""
    shown = rows_by_degree(rows, case, layout)
    with canvas(*SIZE, margins=(40, 10, 34, 26)) as axes:
        draw_degrees(axes, shown)
        axes.set_title(size_title(case, layout))
    words = ", ".join(f"degree {row.degree} {row.training:.2f}" for row in shown)
    return as_panel(axes, name, f"Forward and backward at {case} as a multiple of ReLU: {words}")


def activation_panel(rows: Sequence[Row], case: str, layout: str, name: str) -> Panel:
    """Forward and backward of every activation at one size, a row each."""
    shown = rows_by_time(rows, case, layout)
    with canvas(WIDE, 60 + 20 * len(shown), margins=(140, 14, 32, 26)) as axes:
        draw_beside(axes, shown)
        axes.set_title(size_title(case, layout))
    words = ", ".join(f"{row.label} {row.training:.2f}" for row in shown)
    return as_panel(axes, name, f"Forward and backward at {case} as a multiple of ReLU: {words}")


def draw_costs(rows: Sequence[Row], kind: str) -> bytes:
    """Both kinds of panels of every size as the content of a file: by activation on the left, by degree on the right.
    Of a size that was measured in two layouts the first is drawn.
    """
    sizes = list({case: (case, layout) for case, layout in reversed(cases_and_layouts(rows))}.values())[::-1]
    most = max(len(rows_by_time(rows, *size)) for size in sizes)
    with grid(980, (90 + 20 * most) * len(sizes), len(sizes), 2) as (figure, axes):
        figure.subplots_adjust(left=0.17)
        for size, (left, right) in zip(sizes, axes, strict=True):
            draw_beside(left, rows_by_time(rows, *size))
            left.set_title(f"{size_title(*size)}: by activation")
            draw_degrees(right, rows_by_degree(rows, *size))
            right.set_title(f"{size_title(*size)}: by degree")
        return as_image(figure, kind)
