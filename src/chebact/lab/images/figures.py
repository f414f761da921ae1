"""The figures of the image experiments: curves over the epochs, and single units with their inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chebact.lab import LabError
from chebact.lab.captures import inputs_of, tails_of
from chebact.lab.images.rows import settings
from chebact.lab.images.sets import IMAGE_DATASETS
from chebact.lab.images.tables import title_of
from chebact.lab.page.colours import look_of
from chebact.lab.page.document import Panel
from chebact.lab.page.learned import Shape, draw_shape
from chebact.lab.page.theme import LIGHT, as_image, as_panel, canvas, grid
from chebact.lab.store import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["curve_panel", "draw_captures", "draw_curves", "groups", "shape_of", "unit_shapes"]

SIZE = (346, 220)
UNIT = (244, 160)
NAMES = {"test_accuracy": "test accuracy, %", "train_loss": "training loss", "test_loss": "test loss"}


def groups(records: Sequence[Record]) -> list[list[Record]]:
    """Records that differ in the activation and the seeds alone."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(settings(record), []).append(record)
    return list(found.values())


def curve_panel(records: Sequence[Record], what: str, place: str, name: str) -> Panel:
    """One curve of every seed of these records, over the epochs."""
    with canvas(*SIZE, margins=(46, 12, 32, 26)) as axes:
        last = draw_curve(axes, records, what)
        axes.set_title(place)
        axes.set_title(NAMES[what], loc="right", fontweight="normal", color=LIGHT["muted"])
    return as_panel(axes, name, f"{place}: {NAMES[what]} over the epochs; at the end " + ", ".join(last))


def draw_curve(axes: Axes, records: Sequence[Record], what: str) -> list[str]:
    """Draw one curve per seed; in words, where each ends."""
    from matplotlib.ticker import MaxNLocator

    scale, last = 100 if "accuracy" in what else 1, []
    for record in records:
        colour, _ = look_of(record.spec["activation"])
        for seed in record.results["seeds"]:
            pairs = [(i + 1, scale * y) for i, y in enumerate(seed["curves"][what]) if y is not None]
            if pairs:
                marker = "o" if len(pairs) < 8 else ""
                axes.plot(*zip(*pairs, strict=True), color=LIGHT[colour], lw=1.4, marker=marker, ms=3)
                last.append(f"{title_of(record.spec['activation'])} seed {seed['seed']} {pairs[-1][1]:.4g}")
    axes.set_title(NAMES[what])
    axes.set_xlabel("epoch")
    axes.set_xlim(0, 1.03 * max(record.spec["epochs"] for record in records))
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.grid(axis="y")
    return last


def draw_curves(records: Sequence[Record], kind: str) -> bytes:
    """Losses and accuracy by epoch as the content of a file: a row per group of records that are comparable."""
    rows = groups(records)
    with grid(360 * len(NAMES), 250 * len(rows), len(rows), len(NAMES)) as (figure, axes):
        for own, line in zip(rows, axes, strict=True):
            for place, what in zip(line, reversed(NAMES), strict=True):
                draw_curve(place, own, what)
            for record in own:
                colour, _ = look_of(record.spec["activation"])
                line[0].plot([], [], color=LIGHT[colour], label=title_of(record.spec["activation"]))
            line[0].legend(frameon=False)
            line[0].set_title(IMAGE_DATASETS[own[0].spec["dataset"]].title, loc="right", fontweight="normal")
        return as_image(figure, kind)


def draw_captures(record: Record) -> bytes:
    """The captured units as a PNG file: a row per convolution, before and after training; a column per unit."""
    captures = record.results["captures"]
    rows = [
        (when, number, [entry for entry in captures[when] if entry["convolution"] == number])
        for number in sorted({entry["convolution"] for entry in captures["before"]})
        for when in ("before", "after")
        if captures[when]
    ]
    if not rows:
        raise LabError("this record has no captures to draw")
    columns = max(len(units) for _, _, units in rows)
    with grid(UNIT[0] * columns + 60, UNIT[1] * len(rows) + 64, len(rows), columns) as (figure, axes):
        for line, (when, number, units) in zip(axes, rows, strict=True):
            for place, entry in zip(line, units, strict=False):
                draw_shape(place, shape_of(entry, record.spec, f"{when}: conv {number}, unit {entry['unit'] + 1}"))
        return as_image(figure, "png")


def unit_shapes(record: Record, when: str = "after") -> list[Shape]:
    """The captured units of a record, convolution by convolution."""
    return [shape_of(entry, record.spec) for entry in record.results["captures"][when]]


def shape_of(entry: Mapping[str, Any], spec: Mapping[str, Any], title: str | None = None) -> Shape:
    """A captured unit: its values where the activation is learned by heights at nodes, its drawn curve otherwise."""
    tails = tails_of(spec["activation"])
    learned = entry["values"] is not None and tails is not None
    return Shape(
        title or f"conv {entry['convolution']}, unit {entry['unit'] + 1}",
        entry["values"] if learned else None,
        degree=spec["degree"],
        tails=tails or "none",
        inputs=inputs_of(entry),
        curve=None if learned else entry["shape"],
        colour=look_of(spec["activation"])[0],
    )
