"""The figures of the image experiment: curves over the epochs, and single units with their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chebact.lab import LabError
from chebact.lab.captures import tails_of
from chebact.lab.images.record import ImageRecord, Unit
from chebact.lab.images.sets import IMAGE_DATASETS
from chebact.lab.images.spec import ImageSpec
from chebact.lab.images.tables import activation_title
from chebact.lab.page.colours import look_of
from chebact.lab.page.document import Panel
from chebact.lab.page.learned import Shape, draw_shape
from chebact.lab.page.theme import LIGHT, as_image, as_panel, canvas, grid
from chebact.lab.starts import PAPER, weight_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["comparable_groups", "curve_panel", "draw_captures", "draw_curves", "shape_of"]

SIZE = (346, 220)
UNIT = (244, 160)
NAMES = {"test_accuracy": "test accuracy, %", "train_loss": "training loss", "test_loss": "test loss"}


def comparable_groups(records: Sequence[ImageRecord]) -> list[list[ImageRecord]]:
    """Records that differ in the activation and the seeds only."""
    groups: dict[ImageSpec, list[ImageRecord]] = {}
    for record in records:
        groups.setdefault(record.spec.for_control(), []).append(record)
    return list(groups.values())


def curve_panel(records: Sequence[ImageRecord], curve: str, title: str, name: str) -> Panel:
    """One curve of every seed of these records, over the epochs."""
    with canvas(*SIZE, margins=(46, 12, 32, 26)) as axes:
        ends = draw_curve(axes, records, curve)
        axes.set_title(title)
        axes.set_xlabel(f"by epoch: {NAMES[curve]}")
    return as_panel(axes, name, f"{title}: {NAMES[curve]} over the epochs; at the end " + ", ".join(ends))


def draw_curve(axes: Axes, records: Sequence[ImageRecord], curve: str) -> list[str]:
    """Draw one curve per seed; returns where each ends, in words."""
    from matplotlib.ticker import MaxNLocator

    scale, ends = 100 if "accuracy" in curve else 1, []
    for record in records:
        colour, _ = look_of(record.spec.activation)
        dash = dash_of(record.spec)
        for seed in record.results.seeds:
            pairs = [(i + 1, scale * y) for i, y in enumerate(getattr(seed.curves, curve)) if y is not None]
            if pairs:
                marker = "o" if len(pairs) < 8 else ""
                axes.plot(*zip(*pairs, strict=True), color=LIGHT[colour], lw=1.4, ls=dash, marker=marker, ms=3)
                ends.append(
                    f"{activation_title(record.spec.activation, record.spec.init)} seed {seed.seed} {pairs[-1][1]:.4g}"
                )
    axes.set_title(NAMES[curve])
    axes.set_xlabel("epoch")
    axes.set_xlim(0, 1.03 * max(record.spec.epochs for record in records))
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.grid(axis="y")
    return ends


def dash_of(spec: ImageSpec) -> str:
    """Solid for the paper's start, dashed for another."""
    return "-" if spec.init == PAPER else "--"


def draw_curves(records: Sequence[ImageRecord], kind: str) -> bytes:
    """Losses and accuracy by epoch as the content of a file: a row per group of records that are comparable."""
    groups = comparable_groups(records)
    with grid(360 * len(NAMES), 250 * len(groups), len(groups), len(NAMES)) as (figure, axes):
        for group, line in zip(groups, axes, strict=True):
            for part, curve in zip(line, reversed(NAMES), strict=True):
                draw_curve(part, group, curve)
            for record in group:
                colour, _ = look_of(record.spec.activation)
                line[0].plot(
                    [],
                    [],
                    color=LIGHT[colour],
                    ls=dash_of(record.spec),
                    label=activation_title(record.spec.activation, record.spec.init),
                )
            line[0].legend(frameon=False)
            spec = group[0].spec
            title = IMAGE_DATASETS[spec.dataset].title + weight_words(spec.start)
            line[0].set_title(title, loc="right", fontweight="normal")
        return as_image(figure, kind)


def draw_captures(record: ImageRecord) -> bytes:
    """The captured units as a PNG file: a row per convolution, before and after training; a column per unit."""
    captures = record.results.captures
    rows = [
        (when, number, [unit for unit in units if unit.convolution == number])
        for number in sorted({unit.convolution for unit in captures.before})
        for when, units in (("before", captures.before), ("after", captures.after))
        if units
    ]
    if not rows:
        raise LabError("this record has no captures to draw")
    columns = max(len(units) for _, _, units in rows)
    with grid(UNIT[0] * columns + 60, UNIT[1] * len(rows) + 64, len(rows), columns) as (figure, axes):
        for line, (when, number, units) in zip(axes, rows, strict=True):
            for part, unit in zip(line, units, strict=False):
                draw_shape(part, shape_of(unit, record.spec, f"{when}: conv {number}, unit {unit.unit + 1}"))
        return as_image(figure, "png")


def shape_of(unit: Unit, spec: ImageSpec, title: str | None = None) -> Shape:
    """A captured unit: its values if the activation is learned by heights at nodes, its drawn curve otherwise."""
    tails = tails_of(spec.activation)
    learned = unit.values is not None and tails is not None
    return Shape(
        title or f"conv {unit.convolution}, unit {unit.unit + 1}",
        unit.values if learned else None,
        degree=spec.degree,
        tails=tails or "none",
        inputs=unit.inputs,
        curve=None if learned else unit.shape,
        colour=look_of(spec.activation)[0],
    )
