"""Learned activations from records: curve, nodes, shaded tails, and the histogram of the inputs that reach them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from chebact.functional import chebyshev_lagrange
from chebact.lab.captures import Histogram
from chebact.lab.page.document import Key, Panel
from chebact.lab.page.theme import LIGHT, as_panel, canvas
from chebact.node_positions import nodes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SHAPE_KEYS", "Shape", "draw_shape", "shape_panel"]

SIZE = (258, 178)
MARGINS = (38, 8, 24, 26)
POINTS = 201
MARGIN = 0.5

SHAPE_KEYS = (
    Key("line", "learned", "the activation"),
    Key("dot", "learned", "its nodes"),
    Key("bar", "second", "inputs on the test points"),
    Key("area", "shade", "straight tails, outside the interval"),
)


@dataclass(frozen=True)
class Shape:
    """One channel: how it is built, its values at the nodes, and the histogram of its inputs where it was kept. One
    that is not built on nodes has no values but a `curve`, its heights at equal steps from the least to the greatest
    input.
    """

    title: str
    values: Sequence[float] | None
    degree: int = 3
    tails: str = "extrapolate"
    regression_nodes: int = 2
    interval: tuple[float, float] = (-1.0, 1.0)
    inputs: Histogram | None = None
    curve: Sequence[float] | None = None
    colour: str = "learned"

    def curve_points(self) -> tuple[torch.Tensor, torch.Tensor]:
        """x and y of the line to draw."""
        if self.values is None:
            assert self.curve is not None
            assert self.inputs is not None
            x = torch.linspace(self.inputs.low, self.inputs.high, len(self.curve), dtype=torch.float64)
            return x, torch.tensor(self.curve, dtype=torch.float64)
        x = torch.linspace(*x_range(self), POINTS, dtype=torch.float64)
        row = torch.tensor([list(self.values)], dtype=torch.float64)
        choices = {"tails": self.tails, "regression_nodes": self.regression_nodes, "interval": self.interval}
        return x, chebyshev_lagrange(x.unsqueeze(1), row, **choices).squeeze(1)  # type: ignore[arg-type]


def shape_panel(shape: Shape, name: str, *, size: tuple[int, int] = SIZE) -> Panel:
    """One activation as a separate drawing."""
    with canvas(*size, margins=MARGINS) as axes:
        draw_shape(axes, shape)
    return as_panel(axes, name, describe_shape(shape))


def draw_shape(axes: Axes, shape: Shape) -> None:
    """Draw one activation onto axes in the theme's colours."""
    low, high = x_range(shape)
    x, y = shape.curve_points()
    if shape.values is not None:
        left, right = shape.interval
        axes.axvspan(low, left, color=LIGHT["shade"], lw=0, zorder=0)
        axes.axvspan(right, high, color=LIGHT["shade"], lw=0, zorder=0)
        positions = nodes(shape.degree, interval=shape.interval)
        axes.plot(positions.numpy(), list(shape.values), "o", ms=4.4, color=LIGHT[shape.colour], zorder=4)
    axes.plot(x.numpy(), y.numpy(), color=LIGHT[shape.colour], lw=2, zorder=3)
    set_limits(axes, float(y.min()), float(y.max()), (low, high))
    if shape.inputs is not None:
        draw_inputs(axes, shape.inputs)
    axes.set_title(shape.title)
    if shape.inputs is not None and shape.values is not None:
        words = f"{shape.inputs.outside:.0%} outside"
        axes.set_title(words, loc="right", fontweight="normal", fontsize=9.5, color=LIGHT["muted"])


def x_range(shape: Shape) -> tuple[float, float]:
    """The ends of the drawn part of the x axis."""
    left, right = shape.interval
    margin = MARGIN * (right - left) / 2
    low, high = left - margin, right + margin
    if shape.inputs is not None:
        low, high = min(low, shape.inputs.low), max(high, shape.inputs.high)
    return low, high


def set_limits(axes: Axes, low: float, high: float, ends: tuple[float, float]) -> None:
    """Limits that leave the lowest third to the histogram; a flat line gets some height."""
    from matplotlib.ticker import MaxNLocator

    height = max(high - low, 0.2)
    middle = (high + low) / 2
    axes.set_ylim(min(low, middle - 0.1) - 0.42 * height, max(high, middle + 0.1) + 0.1 * height)
    axes.set_xlim(*ends)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.grid(axis="y")


def draw_inputs(axes: Axes, inputs: Histogram) -> None:
    """The histogram on the lower edge, its highest bar a quarter of the height."""
    counts = inputs.counts
    width = (inputs.high - inputs.low) / len(counts)
    edges = [inputs.low + index * width for index in range(len(counts))]
    heights = [count / max(1, *counts) / 4 for count in counts]
    axes.bar(
        edges, heights, width, align="edge", transform=axes.get_xaxis_transform(), color=LIGHT["second"], alpha=0.55,
        lw=0, zorder=1,
    )  # fmt: skip


def describe_shape(shape: Shape) -> str:
    """The activation in words."""
    if shape.values is None:
        words = shape.title
    else:
        heights = ", ".join(f"{value:.3g}" for value in reversed(shape.values))
        words = f"{shape.title}: heights {heights} at the nodes from left to right"
    if shape.inputs is None:
        return words
    seen = f"inputs from {shape.inputs.low:.3g} to {shape.inputs.high:.3g}"
    share = f", {shape.inputs.outside:.0%} of them outside the interval" if shape.values is not None else ""
    return f"{words}; {seen}{share}"
