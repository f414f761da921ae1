"""What an activation costs in training: against the degree, and beside others, as multiples of ReLU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chebact.lab.bench.ops import Row
from chebact.lab.bench.page import label, places
from chebact.lab.page.axes import limit_log, plain_log
from chebact.lab.page.colours import LOOKS, look_of
from chebact.lab.page.document import Key, Panel
from chebact.lab.page.theme import LIGHT, as_image, as_panel, canvas, grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COST_KEYS", "CURVE", "activation_panel", "degree_panel", "draw_costs", "has_degrees", "lowest_degree"]

CURVE = "cl-extrapolate"
SIZE = (258, 224)
WIDE = 330
COST_KEYS = (Key("line", "learned", "CL-extrapolate, with quartiles"), Key("dash", "other", "ReLU"))


def own_rows(rows: Sequence[Row], case: str, layout: str) -> list[Row]:
    return [row for row in rows if (row.case, row.layout) == (case, layout)]


def curve_of(rows: Sequence[Row], case: str, layout: str) -> list[Row]:
    """The learned polynomial at one size, by degree."""
    return sorted((row for row in own_rows(rows, case, layout) if row.name == CURVE), key=lambda row: row.degree or 0)


def lowest_degree(rows: Sequence[Row]) -> int | None:
    """The lowest degree of the learned polynomial."""
    return min((row.degree for row in rows if row.name == CURVE and row.degree), default=None)


def has_degrees(rows: Sequence[Row], case: str, layout: str) -> bool:
    """Whether it was measured at more than one degree there."""
    return len({row.degree for row in curve_of(rows, case, layout)}) > 1


def beside_of(rows: Sequence[Row], case: str, layout: str) -> list[Row]:
    """Every activation at one size, the fastest first; of the learned polynomial its lowest degree."""
    own = [row for row in own_rows(rows, case, layout) if row.name != CURVE or row.degree == lowest_degree(rows)]
    return sorted(own, key=lambda row: row.training)


def title_of(case: str, layout: str) -> str:
    return f"{case}{', channels last' if layout == 'channels_last' else ''}"


def draw_degrees(axes: Axes, own: Sequence[Row]) -> None:
    """Time against the degree, with quartiles."""
    degrees, times = [row.degree or 0 for row in own], [row.training for row in own]
    spread = [
        [max(0.0, row.training - row.training_spread[0]) for row in own],
        [max(0.0, row.training_spread[1] - row.training) for row in own],
    ]
    axes.axhline(1, color=LIGHT["other"], lw=1.4, ls=(0, (4, 2)))
    axes.errorbar(degrees, times, spread, color=LIGHT["learned"], marker="o", ms=4, capsize=2, lw=1.6)
    axes.set(xscale="log", yscale="log", xlabel="degree of the polynomial")
    axes.set_xticks(degrees, [str(degree) for degree in degrees])
    axes.minorticks_off()
    axes.grid(axis="y")
    plain_log(axes)


def draw_beside(axes: Axes, own: Sequence[Row]) -> None:
    """Time of every activation, one row each; bars start at ReLU's cost."""
    colours = [LIGHT[look_of(row.name)[0] if row.name in LOOKS else "faint"] for row in own]
    axes.barh(range(len(own)), [row.training - 1 for row in own], 0.62, 1, color=colours)
    axes.set_xscale("log")
    axes.axvline(1, color=LIGHT["other"], lw=1.4, ls=(0, (4, 2)))
    axes.set_yticks(range(len(own)), [label(row) for row in own])
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0, labelcolor=LIGHT["ink"])
    axes.set_xlabel("time of forward and backward, ReLU = 1")
    limit_log(axes, [row.training for row in own])
    axes.grid(axis="x")


def degree_panel(rows: Sequence[Row], case: str, layout: str, name: str) -> Panel:
    """Forward and backward of the learned polynomial at one size, against its degree."""
    own = curve_of(rows, case, layout)
    with canvas(*SIZE, margins=(40, 10, 34, 26)) as axes:
        draw_degrees(axes, own)
        axes.set_title(title_of(case, layout))
    said = ", ".join(f"degree {row.degree} {row.training:.2f}" for row in own)
    return as_panel(axes, name, f"Forward and backward at {case} as a multiple of ReLU: {said}")


def activation_panel(rows: Sequence[Row], case: str, layout: str, name: str) -> Panel:
    """Forward and backward of every activation at one size, a row each."""
    own = beside_of(rows, case, layout)
    with canvas(WIDE, 60 + 20 * len(own), margins=(140, 14, 32, 26)) as axes:
        draw_beside(axes, own)
        axes.set_title(title_of(case, layout))
    said = ", ".join(f"{label(row)} {row.training:.2f}" for row in own)
    return as_panel(axes, name, f"Forward and backward at {case} as a multiple of ReLU: {said}")


def draw_costs(rows: Sequence[Row], kind: str) -> bytes:
    """Both kinds of panels of every size as the content of a file: by activation on the left, by degree on the right.
    Of a size that was measured in two layouts the first is drawn.
    """
    shown = list({case: (case, layout) for case, layout in reversed(places(rows))}.values())[::-1]
    most = max(len(beside_of(rows, *place)) for place in shown)
    with grid(980, (90 + 20 * most) * len(shown), len(shown), 2) as (figure, axes):
        figure.subplots_adjust(left=0.17)
        for place, (left, right) in zip(shown, axes, strict=True):
            draw_beside(left, beside_of(rows, *place))
            left.set_title(f"{title_of(*place)}: by activation")
            draw_degrees(right, curve_of(rows, *place))
            right.set_title(f"{title_of(*place)}: by degree")
        return as_image(figure, kind)
