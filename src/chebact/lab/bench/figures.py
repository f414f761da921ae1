"""What an activation costs in training: against the degree, and beside others, as multiples of ReLU."""

from __future__ import annotations

from collections.abc import Sequence

from chebact.lab.bench.ops import Row
from chebact.lab.bench.page import label
from chebact.lab.page.document import Key, Panel
from chebact.lab.page.theme import LIGHT, as_panel, canvas
from chebact.lab.synthetic.figures import limit_log, plain_log

__all__ = ["COST_KEYS", "activation_panel", "degree_panel"]

CURVE = "cl-extrapolate"
SIZE = (258, 224)
COST_KEYS = (Key("line", "learned", "CL-extrapolate, with quartiles"), Key("dash", "ink", "ReLU"))


def degree_panel(rows: Sequence[Row], case: str, layout: str, name: str) -> Panel:
    """Forward and backward of the learned polynomial at one size, against its degree."""
    own = sorted(
        (row for row in rows if row.name == CURVE and (row.case, row.layout) == (case, layout)),
        key=lambda row: row.degree or 0,
    )
    degrees, times = [row.degree or 0 for row in own], [row.training for row in own]
    spread = [
        [max(0.0, row.training - row.training_spread[0]) for row in own],
        [max(0.0, row.training_spread[1] - row.training) for row in own],
    ]
    with canvas(*SIZE, margins=(40, 10, 34, 26)) as axes:
        axes.axhline(1, color=LIGHT["ink"], lw=1, ls=(0, (4, 2)))
        axes.errorbar(degrees, times, spread, color=LIGHT["learned"], marker="o", ms=4, capsize=2, lw=1.6)
        axes.set(xscale="log", yscale="log", xlabel="degree of the polynomial")
        axes.set_title(f"{case}{', channels last' if layout == 'channels_last' else ''}")
        axes.set_xticks(degrees, [str(degree) for degree in degrees])
        axes.minorticks_off()
        axes.grid(axis="y")
        plain_log(axes)
    alt = f"Forward and backward at {case} as a multiple of ReLU: " + ", ".join(
        f"degree {degree} {time:.2f}" for degree, time in zip(degrees, times, strict=True)
    )
    return as_panel(axes, name, alt)


def activation_panel(rows: Sequence[Row], case: str, layout: str, name: str) -> Panel:
    """Forward and backward of every activation at one size, a row each."""
    lowest = min((row.degree for row in rows if row.name == CURVE and row.degree), default=None)
    own = [
        row for row in rows if (row.case, row.layout) == (case, layout) and (row.name != CURVE or row.degree == lowest)
    ]
    own.sort(key=lambda row: row.training)
    height = 60 + 20 * len(own)
    with canvas(346, height, margins=(150, 16, 32, 26)) as axes:
        colours = [LIGHT["learned"] if row.name.startswith("cl") else LIGHT["faint"] for row in own]
        axes.barh(range(len(own)), [row.training - 1 for row in own], 0.62, 1, color=colours)  # from ReLU's cost on
        axes.set_xscale("log")
        axes.axvline(1, color=LIGHT["ink"], lw=1, ls=(0, (4, 2)))
        axes.set_yticks(range(len(own)), [label(row) for row in own])
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0, labelcolor=LIGHT["ink"])
        axes.set_xlabel("time of forward and backward, ReLU = 1")
        limit_log(axes, [row.training for row in own])
        axes.set_title(f"{case}{', channels last' if layout == 'channels_last' else ''}")
        axes.grid(axis="x")
    alt = f"Forward and backward at {case} as a multiple of ReLU: " + ", ".join(
        f"{label(row)} {row.training:.2f}" for row in own
    )
    return as_panel(axes, name, alt)
