"""Plots of learned activations: the curve, its nodes, the tails and a histogram of the inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from chebact.activations import ChebyshevLagrange
from chebact.channels import find_axis
from chebact.checks import check_integer, check_module, must_be
from chebact.functional import apply_basis
from chebact.learned import LearnedActivation
from chebact.node_positions import nodes
from chebact.recording import InputSample, evaluation_mode, record_inputs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["plot_activation", "plot_activations"]

POINTS = 401
BINS = 40
MAX_INPUTS = 2**15  # per channel in a histogram: up to 2,048 of each of 16 batches
MARGIN = 0.5  # drawn on either side of the interval, as a share of half its length
PANEL = (2.6, 2.1)  # inches, one panel of plot_activations


def plot_activation(
    module: nn.Module,
    channels: int | Sequence[int] = 0,
    inputs: Tensor | InputSample | None = None,
    ax: Axes | None = None,
    *,
    replica: int = 0,
    bins: int = BINS,
) -> Axes:
    """Draw learned curves with their nodes and shaded tails; with inputs also their histogram and share outside.

    Args:
        module: a `ChebyshevLagrange` or `WeightedChebyshev`, or an elementwise module such as `nn.ReLU`.
        channels: one or several; each gets a colour of the colour cycle of the axes.
        inputs: (points, channel), or x as the module takes it, or the sample of `record_inputs` for this module.
        ax: the axes to draw on; by default pyplot makes a new figure. Nothing outside the axes changes.
        replica: the replica to draw, for a module with replicas.
        bins: number of bins of the histogram, which takes the lower third of the axes.

    Returns the axes.

    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> activation = ChebyshevLagrange(4, init="gelu")
    >>> plot_activation(activation, channels=[0, 2], inputs=torch.randn(1000, 4), ax=ax) is ax
    True
    """
    count, numbers = _check_channels(module, channels)
    sample = None if inputs is None else _sample(module, inputs, replica, count)
    if sample is not None:
        check_integer("channel", max(numbers), least=0, most=sample.shape[1] - 1)
        sample = sample[:, numbers]
    if ax is None:
        ax = _pyplot().subplots(layout="constrained")[1]
    low, high = _range(module, sample)
    x = torch.linspace(low, high, POINTS, dtype=torch.float64)
    curves = _curves(module, x, numbers, replica)
    for column, channel in enumerate(numbers):
        (line,) = ax.plot(x.numpy(), curves[:, column].numpy(), label=f"channel {channel}", zorder=3)
        _draw_nodes(ax, module, channel, replica, line.get_color())
        if sample is not None:
            _draw_histogram(ax, sample[:, column], (low, high), bins, line.get_color())
    _finish(ax, module, sample, (low, high), len(numbers))
    return ax


def plot_activations(
    model: nn.Module,
    data: Tensor | Iterable[Any],
    *,
    channels: int = 4,
    modules: tuple[type[nn.Module], ...] = (),
    figure: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Run a model on data and draw the first channels of each of its learned activations, one row per layer.

    Args:
        model: runs in evaluation mode without gradients; its mode is restored.
        data: an input of the model, or batches of inputs; of a batch that is a tuple or a list, the first item is used.
        channels: number of channels per layer.
        modules: other classes of modules to draw, such as `(nn.ReLU,)`.
        figure: the figure to draw on; by default pyplot makes a new one.

    Returns the figure.

    >>> from matplotlib.figure import Figure
    >>> model = nn.Sequential(nn.Linear(8, 6), ChebyshevLagrange(6, init="gelu"), nn.Linear(6, 1))
    >>> len(plot_activations(model, torch.randn(500, 8), channels=3, figure=Figure()).axes)
    3
    """
    check_integer("channels", channels, least=1)
    samples = _run(model, data, modules)
    parts = {name: part for name, part in model.named_modules() if name in samples}
    widths = {name: min(channels, samples[name].points.shape[-1]) for name in parts}
    if figure is None:
        size = (PANEL[0] * max(widths.values()), PANEL[1] * len(parts))
        figure = _pyplot().figure(figsize=size, layout="constrained")
    last = list(parts.values())[-1]
    grid = figure.subplots(len(parts), max(widths.values()), squeeze=False)
    for row, (name, part) in zip(grid, parts.items(), strict=True):
        for channel, ax in enumerate(row):
            if channel >= widths[name]:
                ax.remove()
                continue
            plot_activation(part, channel, samples[name], ax)
            ax.set_title(f"{f'module {name}' if name else type(part).__name__}, channel {channel}", fontsize="small")
            ax.set(xlabel="input" if part is last else "", ylabel="" if channel else "output")
    return figure


def _run(model: nn.Module, data: Any, kinds: tuple[type[nn.Module], ...]) -> dict[str, InputSample]:
    """Sample the inputs of the activations of a model; modules that no data reached are omitted."""
    with record_inputs(model, modules=kinds, points=MAX_INPUTS) as samples, evaluation_mode(model):
        for batch in [data] if isinstance(data, Tensor) else data:
            model(batch[0] if isinstance(batch, (tuple, list)) else batch)
    reached = {name: sample for name, sample in samples.items() if sample.calls}
    if not reached:
        raise ValueError("data must be one or more batches that reach an activation of the model, got none")
    return reached


def _check_channels(module: Any, channels: Any) -> tuple[int | None, list[int]]:
    """The number of channels of a module (None: any number), and the indices of those to draw."""
    check_module("module", module)
    count = None
    if isinstance(module, LearnedActivation):
        if not module.is_materialized:
            raise ValueError(must_be("channels", "known", None, "call the module once, or build it with channels"))
        count = module.channels or int(module.learned.shape[-2])
    indices = list(channels) if isinstance(channels, Iterable) else [channels]
    if not indices:
        raise ValueError(must_be("channels", "one or more channels", channels))
    most = None if count is None else count - 1
    return count, [check_integer("channel", channel, least=0, most=most) for channel in indices]


def _sample(module: nn.Module, inputs: Tensor | InputSample, replica: int, count: int | None) -> Tensor:
    """The inputs as (points, channel) in float64; the histogram skips those that are not finite."""
    replicated = getattr(module, "replicas", None) is not None
    if isinstance(inputs, InputSample):
        points = inputs.points
        return (points[replica] if inputs.replicated else points).double()
    if not isinstance(inputs, Tensor):
        raise TypeError(must_be("inputs", "a tensor or an InputSample of record_inputs", inputs))
    x = inputs.detach().cpu().double()
    x = x[replica] if replicated and x.dim() > 2 else x
    if x.dim() < 2:
        x = x.reshape(-1, 1) if count in (None, 1) else x.reshape(1, -1)
    elif x.dim() > 2:
        axis = find_axis(x.dim(), getattr(module, "channel_dim", 1), False)
        x = x.movedim(-1 if axis is None else axis, -1).flatten(0, -2)
    if count is not None and x.shape[1] != count:
        raise ValueError(must_be("inputs", f"a tensor with {count} channels like the module", inputs.shape))
    return x


def _range(module: nn.Module, sample: Tensor | None) -> tuple[float, float]:
    """The range to draw: all inputs, and the interval with a margin."""
    ends = []
    if sample is not None and sample.isfinite().any():
        finite = sample[sample.isfinite()]
        ends += [float(finite.min()), float(finite.max())]
    left, right = module.basis.interval if isinstance(module, LearnedActivation) else (-1.0, 1.0)
    margin = MARGIN * (right - left) / 2
    return min([left - margin, *ends]), max([right + margin, *ends])


def _row(module: LearnedActivation, channel: int, replica: int) -> Tensor:
    """The parameters of one channel, in float64 on the CPU: (degree + 1,)."""
    return module.channel_row(channel, replica).detach().cpu().double()


@torch.no_grad()
def _curves(module: nn.Module, x: Tensor, channels: list[int], replica: int) -> Tensor:
    """The curves of the channels at x: (points, channel)."""
    if isinstance(module, LearnedActivation):
        values = torch.stack([_row(module, channel, replica) for channel in channels])
        return apply_basis(x.unsqueeze(1).repeat(1, len(channels)), values, module.basis, 1, "heights")
    y = module(x.float().unsqueeze(1))
    if not isinstance(y, Tensor) or y.shape != (POINTS, 1):
        raise ValueError(must_be("module", "elementwise, to have a curve", module))
    return y.double().expand(-1, len(channels))


def _draw_nodes(ax: Axes, module: nn.Module, channel: int, replica: int, colour: Any) -> None:
    if isinstance(module, ChebyshevLagrange):
        positions = nodes(module.degree, interval=module.basis.interval)
        ax.plot(positions.numpy(), _row(module, channel, replica).numpy(), "o", ms=4, color=colour, zorder=4)


def _draw_histogram(ax: Axes, x: Tensor, ends: tuple[float, float], bins: int, colour: Any) -> None:
    """Bars behind the curve, in the lower third of the axes."""
    finite = x[x.isfinite()]
    counts = torch.histc(finite, bins, *ends)
    edges = torch.linspace(*ends, bins + 1, dtype=torch.float64)
    heights = counts / counts.max().clamp(min=1) / 3
    style: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "color": colour, "alpha": 0.3, "lw": 0, "zorder": 1}
    ax.bar(edges[:-1].numpy(), heights.numpy(), float(edges[1] - edges[0]), align="edge", **style)


def _finish(ax: Axes, module: nn.Module, sample: Tensor | None, ends: tuple[float, float], curves: int) -> None:
    """Name the axes, shade the tails, print the share of inputs in them, and add a legend for several curves."""
    ax.set_xlim(*ends)
    ax.margins(y=0.15)
    ax.set(xlabel=ax.get_xlabel() or "input", ylabel=ax.get_ylabel() or "output")
    if isinstance(module, ChebyshevLagrange):
        left, right = module.basis.interval
        shade: dict[str, Any] = {"color": "0.5", "alpha": 0.12, "lw": 0, "zorder": 0}
        ax.axvspan(ends[0], left, **shade)
        ax.axvspan(right, ends[1], **shade)
        if sample is not None and len(sample):
            share = float(((sample < left) | (sample > right)).double().mean())
            text = f"{share:.1%} of inputs\noutside the interval"
            x, side = (0.98, "right") if curves > 1 else (0.02, "left")  # the legend, or most curves, are opposite
            ax.annotate(text, (x, 0.97), xycoords="axes fraction", ha=side, va="top", fontsize="small")
    if curves > 1:
        ax.legend(fontsize="small", loc="upper left")


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("matplotlib must be installed to draw; run pip install matplotlib") from error
    return pyplot
