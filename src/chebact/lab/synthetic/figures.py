"""The figures of the synthetic experiment: slices, RMSE as intervals, training curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from chebact.lab.functions import DATASETS, RecipeForm, plotted_slice
from chebact.lab.page.axes import draw_interval, few_ticks, limit_log, name_rows, plain_log
from chebact.lab.page.colours import look_of
from chebact.lab.page.document import Key, Panel
from chebact.lab.page.learned import Shape
from chebact.lab.page.theme import LIGHT, as_panel, canvas
from chebact.lab.spec import stream
from chebact.lab.stats import summarize
from chebact.lab.synthetic.published import SEEDS, Published, published_cell
from chebact.lab.synthetic.record import Activations, Curve, SyntheticRecord
from chebact.networks.residual_mlp import ARCHITECTURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["NOISE_KEYS", "curve_panel", "interval_panel", "layer_shapes", "slice_panel"]

SLICE_SIZE = (258, 178)
INTERVAL_SIZE = (300, 300)
CURVE_SIZE = (300, 220)

NOISE_KEYS = (
    Key("dot", "faint", "training noise, drawn around the true function"),
    Key("dash", "ink", "true function"),
)


def format_number(value: float) -> str:
    """Two or three digits, as the tables have them."""
    return f"{value:.4f}" if value < 0.02 else f"{value:.3f}"


def slice_panel(record: SyntheticRecord, name: str) -> Panel:
    """What seed 0 predicts along x0 with the other inputs at 0.5, the truth, and points with that much noise."""
    spec = record.spec
    recipe, model = DATASETS[spec.dataset], ARCHITECTURES[spec.model].title
    colour, _ = look_of(spec.model)
    predicted = [math.nan if height is None else height for height in record.results.slice]
    rmse = record.results.rmse[0]
    with canvas(*SLICE_SIZE, margins=(38, 12, 26, 26)) as axes:
        x, truth, noisy = noisy_slice(spec.dataset, spec.recipes, spec.noise, len(predicted))
        axes.plot(x, noisy, ".", ms=3.2, color=LIGHT["faint"])
        axes.plot(x, truth, color=LIGHT["ink"], lw=1, ls=(0, (4, 2)), zorder=4)
        if rmse is not None:
            axes.plot(x, predicted, color=LIGHT[colour], lw=2, zorder=3)
        said = "seed 0 diverged" if rmse is None else f"RMSE {format_number(rmse)}"
        axes.set_title(f"{recipe.title}, {model}")
        axes.set_title(said.removeprefix("RMSE "), loc="right", fontweight="normal", fontsize=10, color=LIGHT["muted"])
        axes.set_xlim(-1, 1)
        axes.grid(axis="y")
        axes.set_xticks([-1, -0.5, 0, 0.5, 1], ["−1", "−0.5", "0", "0.5", "1"])
        few_ticks(axes, 4)
    alt = (
        f"{recipe.title} along x0 from -1 to 1: the prediction of {model} over the true function and points with noise "
        f"of {spec.noise:g}; {said} on the test points."
    )
    return as_panel(axes, name, alt)


def noisy_slice(
    dataset: str, recipes: RecipeForm, noise: float, points: int
) -> tuple[list[float], list[float], list[float]]:
    """x0, the truth there, and the truth with noise drawn for the picture."""
    x, y = plotted_slice(dataset, points, recipes, torch.float64)
    drawn = torch.randn(points, generator=stream("figure", "slice", dataset, noise), dtype=torch.float64)
    return x[:, 0].tolist(), y[:, 0].tolist(), (y[:, 0] + noise * drawn).tolist()


def interval_panel(records: Sequence[SyntheticRecord], dataset: str, noise: float, name: str) -> Panel:
    """A row per model: its seeds, mean and deviation, and the published mean and deviation below."""
    rows = {record.spec.model: record for record in records}
    models = [model for model in ARCHITECTURES if model in rows]
    with canvas(*INTERVAL_SIZE, margins=(98, 50, 32, 26)) as axes:
        axes.set_xscale("log")
        limit_log(axes, [value for model in models for value in axis_values(rows[model])])
        for position, model in enumerate(models):
            values, published = finite_errors(rows[model]), paper_interval(rows[model])
            ours = summarize(values)
            own = None if ours.mean is None else (ours.mean, ours.std or 0.0)
            draw_interval(axes, position, values, own, published, look_of(model)[0])
            label_nan(axes, rows[model], position)
        name_rows(axes, [ARCHITECTURES[model].title for model in models])
        axes.set_title(DATASETS[dataset].title)
        axes.set_xlabel("RMSE on test points without noise")
    alt = f"RMSE on {DATASETS[dataset].title} at noise {noise:g}: " + "; ".join(
        describe_interval(rows[model]) for model in models
    )
    return as_panel(axes, name, alt)


def finite_errors(record: SyntheticRecord) -> list[float]:
    """The errors of the seeds that did not diverge."""
    return [rmse for rmse in record.results.rmse if rmse is not None]


def paper_cell(record: SyntheticRecord) -> Published | None:
    """The paper's cell of a record."""
    return published_cell(record.spec.model, record.spec.dataset, record.spec.noise)


def paper_interval(record: SyntheticRecord) -> tuple[float, float] | None:
    """The published mean and deviation, where the paper has them."""
    cell = paper_cell(record)
    return None if cell is None or cell.mean is None or cell.std is None else (cell.mean, cell.std)


def axis_values(record: SyntheticRecord) -> list[float]:
    """The values that the axis must cover."""
    theirs = paper_interval(record)
    return finite_errors(record) + ([] if theirs is None else [theirs[0], sum(theirs)])


def label_nan(axes: Axes, record: SyntheticRecord, position: int) -> None:
    """How many seeds turned NaN, ours above the published, where there are any."""
    ours, theirs = summarize(record.results.rmse), paper_cell(record)
    words = [(f"{ours.nan}/{ours.seeds} NaN", look_of(record.spec.model)[0], -0.16)] if ours.nan else []
    words += [(f"{theirs.nan}/{SEEDS} NaN", "ink", 0.22)] if theirs is not None and theirs.nan else []
    for text, colour, shift in words:
        axes.text(
            1.02, position + shift, text, transform=axes.get_yaxis_transform(), va="center",
            fontsize=8, color=LIGHT[colour],
        )  # fmt: skip


def describe_interval(record: SyntheticRecord) -> str:
    ours, theirs = summarize(record.results.rmse), paper_cell(record)
    own = f"{ours.nan} of {ours.seeds} NaN" if ours.nan or ours.mean is None else format_number(ours.mean)
    paper = "" if theirs is None else f", published {theirs.nan} of {SEEDS} NaN"
    if theirs is not None and theirs.mean is not None:
        paper = f", published {theirs.mean:g}"
    return f"{ARCHITECTURES[record.spec.model].title} {own}{paper}"


def curve_panel(records: Sequence[SyntheticRecord], dataset: str, name: str) -> Panel:
    """The mean training loss of each model over the epochs, without the seeds that diverged."""
    last: dict[str, float] = {}
    with canvas(*CURVE_SIZE, margins=(46, 10, 32, 26)) as axes:
        for record in records:
            model, curve = record.spec.model, finite_points(record.results.curve)
            colour, dash = look_of(model)
            if curve:
                axes.plot(*zip(*curve, strict=True), color=LIGHT[colour], ls=dash, lw=1.6 if colour != "faint" else 1.1)
                last[ARCHITECTURES[model].title] = curve[-1][1]
        axes.set_yscale("log")
        axes.set_title(DATASETS[dataset].title)
        axes.set_xlabel("epoch")
        axes.set_ylabel("mean training loss (L1)")
        axes.set_xlim(left=0)
        axes.grid(axis="y")
        plain_log(axes)
    alt = f"Training loss on {DATASETS[dataset].title}; at the end " + ", ".join(
        f"{title} {format_number(value)}" for title, value in last.items()
    )
    return as_panel(axes, name, alt)


def finite_points(curve: Curve) -> list[tuple[int, float]]:
    return [(epoch, loss) for epoch, loss in zip(curve.epoch, curve.loss, strict=True) if loss is not None]


def layer_shapes(kept: Activations, *, before: bool = False) -> list[list[Shape]]:
    """The kept channels of a record, one list per layer; `before` training without inputs."""
    found = []
    for index, layer in enumerate(kept.layers):
        title = "last σ" if layer.layer == "last_activation" else f"σ {index + 1}"
        found.append(
            [
                Shape(
                    f"{title}, channel {channel + 1}",
                    values,
                    kept.degree,
                    kept.tails,
                    kept.regression_nodes,
                    kept.interval,
                    None if before else layer.inputs[channel],
                )
                for channel, values in enumerate(layer.start if before else layer.values)
            ]
        )
    return found
