"""The figure of private inference: what remains of each network once it is a polynomial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chebact.lab.page.document import Key, Panel
from chebact.lab.page.theme import LIGHT, as_panel, canvas
from chebact.lab.private.rows import Row
from chebact.lab.private.sheets import NAMES, TITLES, ordered

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["KEYS", "accuracy_panel", "draw_accuracy"]

SIZE = (360, 360)
KEYS = (
    Key("dot", "learned", "CL with the range penalty, encrypted"),
    Key("dot", "muted", "fixed polynomials, encrypted"),
    Key("dot", "other", "CL without the penalty: from as trained to tails cut off"),
    Key("dash", "ink", "ReLU, in the clear"),
)
SHORT = {"cl-tails": "CL, no penalty", "cl": "CL, penalty", "relu-fit": "fit of ReLU", "silu-fit": "fit of SiLU"}


def accuracy_panel(rows: Sequence[Row], data: str) -> Panel:
    """One data set."""
    with canvas(*SIZE, margins=(116, 16, 40, 26)) as axes:
        said = draw_accuracy(axes, rows, data)
    return as_panel(axes, f"private-{data}", f"{NAMES.get(data, data)}: {said}")


def draw_accuracy(axes: Axes, rows: Sequence[Row], data: str) -> str:
    """Draw the accuracy of every polynomial of a data set on a line of its own; in words, all of them."""
    own = ordered([row for row in rows if row.data == data])
    lines = [row for row in own if row.model != "relu"]
    words = []
    for place, row in enumerate(lines):
        if row.used_accuracy is None:
            axes.text(0.02, place, "all lost", transform=axes.get_yaxis_transform(), va="center", color=LIGHT["muted"])
            continue
        draw_line(axes, place, row)
        words.append(f"{TITLES[row.model]}, degree {row.degree}: {row.used_accuracy:.1f} %")
    for row in own:
        if row.model == "relu" and row.accuracy is not None:
            axes.axvline(row.accuracy, ls="--", lw=1, color=LIGHT["ink"])
            words.append(f"ReLU {row.accuracy:.1f} %")
    names = [f"{SHORT.get(row.model, row.model)}, {row.degree}" for row in lines]
    axes.set_yticks(range(len(lines)), names)
    axes.invert_yaxis()
    axes.set(title=NAMES.get(data, data))
    axes.set_xlabel("test accuracy, %")
    axes.grid(axis="x")
    return "; ".join(words)


def draw_line(axes: Axes, place: int, row: Row) -> None:
    """One model: a dot, and for tails that are cut off a line to what remains."""
    assert row.accuracy is not None
    if row.model == "cl-tails":
        after = row.cut_accuracy if row.cut_accuracy is not None else row.accuracy
        axes.plot([row.accuracy, after], [place, place], "-", lw=1.6, color=LIGHT["other"])
        axes.plot(row.accuracy, place, "o", ms=6, mfc=LIGHT["paper"], color=LIGHT["other"])
        axes.plot(after, place, "o", ms=6, color=LIGHT["other"])
        return
    colour = LIGHT["learned" if row.model == "cl" else "muted"]
    assert row.used_accuracy is not None
    ends = [row.used_accuracy - row.used_error, row.used_accuracy + row.used_error]
    axes.plot(ends, [place, place], "-", lw=1, color=colour)
    axes.plot(row.used_accuracy, place, "o", ms=6, color=colour)
