"""The picture of the learned shapes: the centres of the clusters, and how large each is on every function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy

from chebact.lab.functions import DATASETS
from chebact.lab.page.document import Key
from chebact.lab.page.theme import LIGHT
from chebact.lab.studies.clusters import GRID, kinds_of, normalised
from chebact.lab.studies.rows import Reading
from chebact.lab.studies.shapes import Shapes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COLOURS", "name_centres", "shapes_keys", "shapes_parts"]

COLOURS = ("learned", "other", "second", "third", "fifth", "fourth", "ink", "faint")
ACROSS, DOWN = 4, 8.0  # centres in a row, and the distance of rows
DRAWN = 60  # curves of a cluster that are drawn behind its centre


def shapes_parts(reading: Reading) -> list[Callable[[Axes], str]]:
    """Two drawings: the centres, and the shares by function."""
    return [lambda axes: draw_centres(axes, reading.shapes), lambda axes: draw_shares(axes, reading.shapes)]


def shapes_keys(reading: Reading) -> tuple[Key, ...]:
    """The clusters by number."""
    return tuple(
        Key("area", colour, f"{index + 1}: {name}")
        for index, (name, colour) in enumerate(zip(name_centres(reading.shapes), COLOURS, strict=False))
    )


def name_centres(shapes: Shapes) -> list[str]:
    """Every centre in words, by how often it turns."""
    named = []
    for centre, kind in zip(shapes.clusters.centres, kinds_of(normalised(shapes.clusters.centres)), strict=True):
        rising = numpy.sign(numpy.diff(centre))
        turns = int((rising[1:] != rising[:-1]).sum())
        wave = f"a wave with {'rising' if rising[0] > 0 else 'falling'} ends"
        straight = "straight, nearly" if kind == "linear" else "bent, without a turn"
        named.append({0: straight, 1: "a bowl", 2: wave}.get(turns, f"a wave with {turns} turns"))
    return named


def draw_centres(axes: Axes, shapes: Shapes) -> str:
    """The centres side by side, some of the curves of each behind it."""
    clusters, alive = shapes.clusters, shapes.channels.curves[~shapes.channels.dead]
    count = len(clusters.centres)
    across = min(count, ACROSS)
    words = []
    for index, (share, name) in enumerate(zip(clusters.shares, name_centres(shapes), strict=True)):
        x, y = 2.4 * (index % across), -DOWN * (index // across)
        own, colour = alive[clusters.labels == index], LIGHT[COLOURS[index]]
        for curve in own[:: -(-len(own) // DRAWN)]:
            axes.plot(x + GRID, y + curve, color=colour, lw=0.5, alpha=0.16)
        axes.plot(x + GRID, y + clusters.centres[index], color=colour, lw=2.4)
        axes.text(x - 1, y + 3.2, f"{index + 1}: {share:.0%}", va="bottom", fontweight="bold", fontsize=11)
        words.append(f"{index + 1} {name}, {share:.0%}")
    axes.set(xlim=(-1.1, 2.4 * across - 1.3), ylim=(-DOWN * (-(-count // across) - 1) - 2.8, 4.4))
    axes.set_axis_off()
    axes.set_title("clusters of learned shapes", color=LIGHT["ink"])
    return "Centres of the clusters of learned shapes: " + "; ".join(words)


def draw_shares(axes: Axes, shapes: Shapes) -> str:
    """A stacked bar per function, the published recipe above the recommended one."""
    words, functions = [], shapes.channels.functions
    for row, function in enumerate(functions):
        for line, shift in zip(shapes.channels.lines, (-0.2, 0.2), strict=False):
            left, shares = 0.0, shapes.shares(line, function)
            for share, colour in zip(shares, COLOURS, strict=False):
                axes.barh([row + shift], [100 * share], 0.34, left=100 * left, color=LIGHT[colour], lw=0)
                left += share
            words.append(f"{function}, {line}: {', '.join(f'{share:.0%}' for share in shares)}")
    axes.set_yticks(range(len(functions)), [DATASETS[name].title for name in functions])
    axes.set_ylim(len(functions) - 0.5, -0.6)
    axes.set_xlim(0, 100)
    axes.tick_params(axis="y", length=0, labelcolor=LIGHT["ink"])
    axes.set_xlabel("channels, %")
    axes.set_title("by function: published recipe above, recommended below")
    return "Shares of the clusters by function and recipe: " + "; ".join(words)
