"""The pictures of the guide and of the README, made from the records, for light and for dark pages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter
from outcomes import Outcome, Outcomes, cells_of, choose_default, chosen, standings
from settings import Model, chebact
from tasks import regression, ripple

from chebact.functional import chebyshev_lagrange
from chebact.lab.page.theme import DARK, LIGHT, as_file, grid

GRID = torch.linspace(-1.2, 1.2, 241)


def init_picture(outcomes: Outcomes) -> Figure:
    """Error against depth, plain and residual, with Adam."""
    default = choose_default(standings(outcomes)).model
    lines = {
        chebact("zeros"): ("fifth", "chebact from zeros", "o"),
        default: ("learned", f"chebact from {default.init}", "o"),
        Model("relu"): ("other", "ReLU", "s"),
        Model("gelu"): ("second", "GELU", "s"),
    }
    with grid(760, 300, 1, 2) as (figure, ((plain, residual),)):
        figure.subplots_adjust(0.075, 0.17, 0.985, 0.88, wspace=0.14)
        for axes, network in ((plain, "plain"), (residual, "residual")):
            cells = cells_of(outcomes, "init", network=network, optimizer="adam")
            for model, (colour, label, marker) in lines.items():
                errors = [100 * chosen(outcomes[cell][model]).error for cell in cells]
                axes.plot([c.depth for c in cells], errors, color=LIGHT[colour], label=label, marker=marker, ms=5)
            finish(axes, f"{network.capitalize()} stacks, Adam", "hidden layers", [c.depth for c in cells])
        bottom = min(plain.get_ylim()[0], residual.get_ylim()[0])
        for axes in (plain, residual):
            axes.set_ylim(bottom, 140)
        plain.set_ylabel("test error, % of a constant's")
        residual.legend(frameon=False, fontsize=10)
    return figure


def finish(axes: Axes, title: str, label: str, ticks: list[float]) -> None:
    axes.set_title(title)
    axes.set_xlabel(label)
    axes.set_yscale("log")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y")


def choices_picture(outcomes: Outcomes) -> Figure:
    """Error against the degree, and against the multiple of the heights' step size."""
    with grid(760, 300, 1, 2) as (figure, ((left, right),)):
        figure.subplots_adjust(0.075, 0.17, 0.985, 0.88, wspace=0.16)
        for cell, colour in zip(cells_of(outcomes, "degree"), ("learned", "other", "second"), strict=True):
            rows = outcomes[cell]
            label = f"{cell.network}, {cell.depth} layers, {f'noise {cell.noise:g}' if cell.noise else 'clean'}"
            errors = [100 * chosen(of).error for of in rows.values()]
            left.plot([m.degree for m in rows], errors, color=LIGHT[colour], label=label, marker="o", ms=5)
        finish(left, "Degree", "degree", list(range(1, 10)))
        left.set_ylabel("test error, % of a constant's")
        left.legend(frameon=False, fontsize=10)
        scales = sorted({model.heights_step for cell in cells_of(outcomes, "step") for model in outcomes[cell]})
        for cell, colour in zip(cells_of(outcomes, "step"), ("learned", "third", "second", "fifth"), strict=True):
            errors = [100 * chosen(outcomes[cell][chebact(heights_step=scale)]).error for scale in scales]
            label = f"{cell.network}, {cell.depth} layers, {'Adam' if cell.optimizer == 'adam' else 'SGD'}"
            right.plot(range(len(scales)), errors, color=LIGHT[colour], label=label, marker="o", ms=5)
        finish(right, "Step size of the heights", "multiple of the weights' step size", list(range(len(scales))))
        right.set_xticks(range(len(scales)), [f"{scale:g}" for scale in scales])
        right.legend(frameon=False, fontsize=10)
    return figure


def beside_picture(outcomes: Outcomes) -> Figure:
    """ReLU and tanh beside CL-extrapolate: the fit of the median seed, and the shapes of the activations below."""
    (cell,) = cells_of(outcomes, "beside")
    x, y = regression(cell).train
    titles = {"relu": "ReLU", "tanh": "tanh", "chebact": "CL-extrapolate"}
    with grid(920, 440, 2, 3) as (figure, panels):
        figure.subplots_adjust(0.04, 0.07, 0.985, 0.93, wspace=0.14, hspace=0.42)
        for column, (model, of) in enumerate(outcomes[cell].items()):
            colour = LIGHT["learned" if model.learned else "other"]
            one = chosen(of)
            seed = sorted(range(len(one.test)), key=lambda seed: one.test[seed] or 9)[len(one.test) // 2]
            fit, shapes = panels[0][column], panels[1][column]
            fit.plot(x.flatten(), y.flatten(), "o", color=LIGHT["faint"], ms=3, mew=0, label="100 noisy points")
            fit.plot(GRID, ripple(GRID), color=LIGHT["ink"], lw=1, ls=(0, (4, 3)), label="the function")
            fit.plot(GRID, one.result["curve"][seed], color=colour, label="the network")
            fit.legend(frameon=False, fontsize=10, loc="upper right")
            fit.set_title(f"{titles[model.activation]}: test RMSE {one.constant * one.test[seed]:.3f}")
            fit.set(xlim=(-1.02, 1.02), ylim=(-1.7, 2.7))
            draw_shapes(shapes, model, one, seed, colour)
    return figure


def draw_shapes(axes: Axes, model: Model, one: Outcome, seed: int, colour: str) -> None:
    """The one fixed function, or all that were learned in both layers."""
    x = torch.linspace(-2, 2, 201)
    if model.learned:
        for layer in one.result["heights"]:
            curves = chebyshev_lagrange(x.unsqueeze(1).expand(-1, len(layer[seed])), torch.tensor(layer[seed]))
            axes.plot(x, curves, color=colour, lw=1, alpha=0.8)
        axes.axvspan(-2, -1, color=LIGHT["shade"], lw=0, zorder=0)
        axes.axvspan(1, 2, color=LIGHT["shade"], lw=0, zorder=0)
        axes.set_title("its 16 learned shapes")
    else:
        axes.plot(x, {"relu": torch.relu, "tanh": torch.tanh}[model.activation](x), color=colour)
        axes.set_title("its fixed shape")
    axes.set(xlim=(-1.6, 1.6), ylim=(-1.8, 1.8))


PICTURES = {"guide-init": init_picture, "guide-choices": choices_picture, "beside": beside_picture}


def write_pictures(outcomes: Outcomes, folder: Path) -> None:
    schemes: Mapping[str, dict[str, str]] = {"light": LIGHT, "dark": DARK}
    for name, make in PICTURES.items():
        for scheme, colours in schemes.items():
            file = f"{name}-{scheme}"
            (folder / f"{file}.svg").write_bytes(as_file(make(outcomes), file, colours))
