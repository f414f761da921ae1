"""The picture of a study: on the page as panels under one legend, and as a file with its legend inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from chebact.lab.page.document import Key, Picture
from chebact.lab.page.theme import LIGHT, as_panel, canvas, grid
from chebact.lab.studies.figures import draw_lines, line_keys
from chebact.lab.studies.rows import Reading
from chebact.lab.studies.shapes_figure import shapes_keys, shapes_parts
from chebact.lab.studies.tails_figure import TAILS_KEYS, tails_parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["DRAWINGS", "Drawing", "file_figure", "page_picture"]

WIDTH, HEIGHT = 470, 330  # of a drawing with its margins; a file of that width is legible on a telephone
MARGINS = (78, 14, 44, 30)  # left, right, bottom, top
KEY_HEIGHT = 15.5
SPREAD = "The band is the spread over the seeds; × counts trainings that diverged, bold for solid lines."
TAILS_NOTE = (
    "First the errors in the range of the data and beyond it, then the share of inputs outside the interval per layer."
)
SHAPES_NOTE = "First the clusters, each with its centre and some members, then their shares on every function."


@dataclass(frozen=True)
class Drawing:
    """A kind of picture: functions of a reading that give the drawings, each onto axes and then in words, and the
    legend; a sentence for the caption, and the heights of the drawings where they are not the usual one.
    """

    parts: Callable[[Reading], list[Callable[[Axes], str]]]
    keys: Callable[[Reading], tuple[Key, ...]]
    note: str
    heights: tuple[int, ...] = ()

    def sized_parts(self, reading: Reading) -> list[tuple[Callable[[Axes], str], int]]:
        """The drawings with their heights."""
        parts = self.parts(reading)
        return list(zip(parts, self.heights or [HEIGHT] * len(parts), strict=True))


def line_parts(reading: Reading) -> list[Callable[[Axes], str]]:
    """A drawing for each panel."""
    return [partial(draw_lines, reading=reading, panel=panel) for panel in reading.study.panels]


DRAWINGS: dict[str, Drawing] = {
    "lines": Drawing(line_parts, lambda reading: line_keys(reading.study.panels), SPREAD),
    "tails": Drawing(tails_parts, lambda reading: TAILS_KEYS, TAILS_NOTE),
    "shapes": Drawing(shapes_parts, shapes_keys, SHAPES_NOTE, heights=(230, 330)),
}


def page_picture(reading: Reading) -> Picture:
    """The picture for the page."""
    study, drawing = reading.study, DRAWINGS[reading.study.drawing]
    panels = []
    for index, (draw, height) in enumerate(drawing.sized_parts(reading)):
        with canvas(WIDTH, height, margins=MARGINS) as axes:
            said = draw(axes)
        panels.append(as_panel(axes, f"study-{study.name}-{index}", said))
    return Picture(f"study-{study.name}-picture", drawing.note, tuple(panels), drawing.keys(reading))


def file_figure(reading: Reading) -> tuple[Figure, str]:
    """The picture for a file, its panels one below the other and the legend under them; and what it shows in words."""
    drawing = DRAWINGS[reading.study.drawing]
    parts, keys = drawing.sized_parts(reading), drawing.keys(reading)
    left, right, bottom, top = MARGINS
    height = round(10 + KEY_HEIGHT * len(keys)) + sum(own for _, own in parts)
    said, above = [], height
    with grid(WIDTH, height, len(parts), 1) as (figure, axes):
        for (draw, own), (place,) in zip(parts, axes, strict=True):
            above -= own
            box = (left, above + bottom, WIDTH - left - right, own - bottom - top)
            place.set_position((box[0] / WIDTH, box[1] / height, box[2] / WIDTH, box[3] / height))
            said.append(draw(place))
        draw_legend(figure, keys)
    return figure, ". ".join(said)


def draw_legend(figure: Figure, keys: tuple[Key, ...]) -> None:
    """The legend at the foot of a figure."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def handle(key: Key) -> Line2D | Patch:
        colour = LIGHT[key.colour]
        if key.look in ("area", "bar"):
            return Patch(color=colour)
        dash = {"dash": (0, (3, 2)), "line": "-"}.get(key.look, "")
        return Line2D([], [], color=colour, ls=dash, marker={"dot": "o", "diamond": "D"}.get(key.look, ""), ms=5)

    handles = [handle(key) for key in keys]
    labels = [key.label for key in keys]
    figure.legend(
        handles, labels, loc="lower left", bbox_to_anchor=(0.02, 0.0), frameon=False, fontsize=10, labelspacing=0.35
    )
