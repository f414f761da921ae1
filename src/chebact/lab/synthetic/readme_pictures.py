"""The pictures of the README, as files: one for light pages and one for dark ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from chebact.lab import LabError
from chebact.lab.commands.report import RESULTS, check_packages, tell
from chebact.lab.options import Records, about
from chebact.lab.output import check_folder, make_folder, save
from chebact.lab.page.learned import draw_shape
from chebact.lab.page.results import Results, read_results
from chebact.lab.page.theme import DARK, LIGHT, as_file, grid
from chebact.lab.synthetic.figures import layer_shapes
from chebact.lab.synthetic.record import Activations, SyntheticRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["pictures", "readme_pictures"]

MODEL, NOISE = "cl-extrapolate", 0.01
SIZE = (920, 400)
SHOWN = "gravity"  # if there is a record of it, else the first data set that has one
COMMAND = f"chebact run synthetic --recipe released --models {MODEL} --noise {NOISE:g}"


def pictures(
    *,
    results: Records = RESULTS,
    output: Annotated[Path, about("Folder to write the SVG files into.")] = Path("docs/images"),
) -> None:
    """Draw the pictures of the README from the records."""
    check_packages("matplotlib")
    check_folder(output, "--output")
    drawn = readme_pictures(read_results(results))
    make_folder(output, "--output")
    for name, content in drawn.items():
        save(output / name, content)
        tell(f"{output / name}")


def readme_pictures(results: Results) -> dict[str, bytes]:
    """File names and contents of the learned activations, in both schemes; a LabError where no record has them."""
    kept = activations_to_draw(results)
    drawn = {}
    for scheme, colours in (("light", LIGHT), ("dark", DARK)):
        drawn[f"learned-{scheme}.svg"] = as_file(draw_layers(kept), f"learned-{scheme}", colours)
    return drawn


def activations_to_draw(results: Results) -> Activations:
    """Those of the released recipes if there are any, and of the data set `SHOWN`."""
    found = {
        (spec.recipes != "released", spec.dataset != SHOWN, spec.dataset): record.results.activations
        for record in results.typed(SyntheticRecord)
        if ((spec := record.spec).model, spec.noise) == (MODEL, NOISE) and record.results.activations
    }
    if not found:
        raise LabError(f"no record below {results.folder} keeps learned activations: `{COMMAND}` makes some")
    return found[min(found)]


def draw_layers(kept: Activations) -> Figure:
    """Every layer across, the kept channels down."""
    layers = layer_shapes(kept)
    with grid(*SIZE, len(layers[0]), len(layers)) as (figure, axes):
        for column, shapes in enumerate(layers):
            for row, shape in enumerate(shapes):
                name = f"layer {column + 1}" if column < len(layers) - 1 else "last layer"
                draw_shape(axes[row][column], replace(shape, title=f"{name}, unit {row + 1}"))
    return figure
