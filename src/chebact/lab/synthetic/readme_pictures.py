"""The pictures of the README, as files: one for light pages and one for dark ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from chebact.lab import LabError
from chebact.lab.commands.report import RESULTS, must_have, tell
from chebact.lab.output import check_folder, make_folder, save
from chebact.lab.page.learned import Shape, draw_shape
from chebact.lab.page.results import Results, read_results
from chebact.lab.page.theme import DARK, LIGHT, as_file, grid
from chebact.lab.store import Record
from chebact.lab.synthetic.figures import shapes_in

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["pictures", "readme_pictures"]

MODEL, NOISE = "cl-extrapolate", 0.01
SIZE = (920, 400)
SHOWN = "gravity"  # if there is a record of it, else the first data set that has one
COMMAND = f"chebact run synthetic --recipe released --models {MODEL} --noise {NOISE:g}"


def pictures(*, results: Path = RESULTS, output: Path = Path("docs/images")) -> None:
    """Draw the pictures of the README from the records.

    Parameters
    ----------
    results
        Folder of the records.
    output
        Folder to write the SVG files into.
    """
    must_have("matplotlib")
    check_folder(output, "--output")
    drawn = readme_pictures(read_results(results))
    make_folder(output, "--output")
    for name, content in drawn.items():
        save(output / name, content)
        tell(f"{output / name}")


def readme_pictures(results: Results) -> dict[str, bytes]:
    """File names and contents of the learned activations, in both schemes; a LabError where no record has them."""
    record = chosen(results)
    drawn = {}
    for scheme, colours in (("light", LIGHT), ("dark", DARK)):
        drawn[f"learned-{scheme}.svg"] = as_file(learned(record), f"learned-{scheme}", colours)
    return drawn


def chosen(results: Results) -> Record:
    """The record whose activations are shown: released recipes if there are any, the first data set of the list."""
    there = [
        record
        for record in results.of("synthetic")
        if (record.spec["model"], record.spec["noise"]) == (MODEL, NOISE) and record.results.get("activations")
    ]
    if not there:
        raise LabError(f"no record below {results.folder} keeps learned activations: `{COMMAND}` makes some")
    there.sort(key=lambda record: (record.spec["recipes"] != "released", record.spec["dataset"] != SHOWN))
    return there[0]


def learned(record: Record) -> Figure:
    """Every layer across, the kept channels down."""
    layers = shapes_in(record.results["activations"])
    rows = len(layers[0])
    with grid(*SIZE, rows, len(layers)) as (figure, axes):
        for column, shapes in enumerate(layers):
            for row, shape in enumerate(shapes):
                draw_shape(axes[row][column], titled(shape, column, row, len(layers)))
    return figure


def titled(shape: Shape, layer: int, channel: int, layers: int) -> Shape:
    place = f"layer {layer + 1}" if layer < layers - 1 else "last layer"
    return replace(shape, title=f"{place}, unit {channel + 1}")
