"""The image records as figures: learning curves, and what chosen units receive and make of it."""

from __future__ import annotations

import io
import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from chebact.lab import LabError
from chebact.lab.images.sets import IMAGE_DATASETS
from chebact.lab.store import Record
from chebact.table import ACTIVATIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_captures", "draw_curves"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito
DPI = 120
PANELS = {"train_loss": "training loss", "test_loss": "test loss", "test_accuracy": "test error, %"}


def label(record: Record) -> str:
    name = record.spec["activation"]
    return ACTIVATIONS[name].label if name in ACTIVATIONS else name


def place(record: Record) -> tuple[int, int, int, str]:
    """Where a record stands among others: by set, epochs and activation, ReLU first."""
    spec, names = record.spec, list(ACTIVATIONS)
    known = names.index(spec["activation"]) if spec["activation"] in names else len(names)
    return list(IMAGE_DATASETS).index(spec["dataset"]), spec["epochs"], known, spec["activation"]


WITHIN_A_DECADE = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)  # marks of a logarithmic axis on which 1, 2 and 5 are too few


def draw_curves(records: Sequence[Record], kind: str) -> bytes:
    """Training loss, test loss and test error by epoch, a row of panels a set and number of epochs, all seeds."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in sorted(records, key=place):
        spec = record.spec
        groups.setdefault((spec["dataset"], spec["epochs"], spec["subset"]), []).append(record)
    figure = Figure(figsize=(13, 3.6 * len(groups)), layout="constrained")
    panels = figure.subplots(len(groups), len(PANELS), squeeze=False)
    for row, ((dataset, epochs, subset), own) in zip(panels, groups.items(), strict=True):
        part = "" if subset is None else f", first {subset}"
        for axes, (name, title) in zip(row, PANELS.items(), strict=True):
            for index, record in enumerate(own):
                draw_curve(axes, record, name, COLOURS[index % len(COLOURS)])
            axes.set(title=f"{IMAGE_DATASETS[dataset].title}{part}, epochs: {epochs}", xlabel="epoch", ylabel=title)
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            low, high = axes.get_ylim()
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high > 6 * low else WITHIN_A_DECADE))
            axes.yaxis.set_minor_formatter(NullFormatter())
            axes.tick_params(labelsize="x-small", which="both")
            axes.grid(alpha=0.3, which="both")
            axes.xaxis.get_major_locator().set_params(integer=True)
        row[0].legend()
    return as_bytes(figure, kind)


def draw_curve(axes: Axes, record: Record, name: str, colour: str) -> None:
    """The mean over the seeds that stayed finite as a line, each of them as a thin one."""
    kept = [seed["curves"][name] for seed in record.results["seeds"] if not seed["nan"]]
    curves = [[math.nan if value is None else value for value in curve] for curve in kept]
    if name == "test_accuracy":
        curves = [[100 * (1 - value) for value in curve] for curve in curves]
    if not curves:
        return
    epochs = range(1, len(curves[0]) + 1)
    for curve in curves if len(curves) > 1 else ():
        axes.plot(epochs, curve, color=colour, lw=0.6, alpha=0.4)
    mean = [statistics.fmean(values) for values in zip(*curves, strict=True)]
    axes.plot(epochs, mean, color=colour, lw=1.8, marker="o", markersize=3, label=label(record))


def draw_captures(record: Record, kind: str) -> bytes:
    """The captured units: a row a convolution and moment, a column a unit; bars for inputs, lines for shapes."""
    from matplotlib.figure import Figure

    captures = record.results["captures"]
    rows = [
        (moment, number, [each for each in captures[moment] if each["convolution"] == number])
        for number in sorted({each["convolution"] for each in captures["before"]})
        for moment in ("before", "after")
        if captures[moment]
    ]
    if not rows:
        raise LabError("this record has no captures to draw")
    columns = max(len(units) for _, _, units in rows)
    figure = Figure(figsize=(2.7 * columns, 2.3 * len(rows) + 0.5), layout="constrained")
    spec = record.spec
    figure.suptitle(f"{label(record)} on {IMAGE_DATASETS[spec['dataset']].title}, epochs: {spec['epochs']}")
    panels = figure.subplots(len(rows), columns, squeeze=False)
    for row, (moment, number, units) in zip(panels, rows, strict=True):
        for axes, unit in zip(row, units, strict=False):
            draw_unit(axes, unit)
        row[0].set_ylabel(f"convolution {number}\n{moment} training")
    return as_bytes(figure, kind)


def draw_unit(axes: Axes, unit: dict[str, Any]) -> None:
    """A unit's inputs as bars and its shape as a line over them."""
    low, high, counts, shape = unit["low"], unit["high"], unit["counts"], unit["shape"]
    width = (high - low) / len(counts) or 1.0
    bars = axes.twinx()
    bars.bar([low + (index + 0.5) * width for index in range(len(counts))], counts, width, color="#56B4E9", alpha=0.5)
    bars.set_yticks([])
    step = (high - low) / (len(shape) - 1)
    axes.plot([low + index * step for index in range(len(shape))], shape, color="#D55E00", lw=1.8)
    axes.set_zorder(bars.get_zorder() + 1)
    axes.patch.set_visible(False)
    axes.set_title(f"unit {unit['unit'] + 1}", fontsize="small")
    axes.tick_params(labelsize="x-small")


def as_bytes(figure: Figure, kind: str) -> bytes:
    from matplotlib import rc_context

    content = io.BytesIO()
    with rc_context({"svg.hashsalt": "chebact"}):  # the same records give the same file
        figure.savefig(content, format=kind, dpi=DPI, metadata={"Date": None} if kind == "svg" else None)
    return content.getvalue()
