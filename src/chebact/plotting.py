"""Pictures of learned activations: the curve, its nodes, the straight tails, and the inputs that reach it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from chebact.activations import ChebyshevLagrange
from chebact.channels import find_axis
from chebact.checks import check_integer
from chebact.functional import apply_basis
from chebact.learned import LearnedActivation
from chebact.node_positions import nodes
from chebact.recording import InputSample, record_inputs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["plot_activation", "plot_activations"]

POINTS = 401
BINS = 40
KEPT = 2**15  # inputs of a channel behind a histogram: up to 2,048 of each of 16 batches
MARGIN = 0.5  # of the interval's half width, shown on either side of it where no inputs say otherwise
PANEL = (2.6, 2.1)  # inches of one panel of plot_activations


def plot_activation(
    module: nn.Module,
    channels: int | Sequence[int] = 0,
    inputs: Tensor | InputSample | None = None,
    ax: Axes | None = None,
    *,
    replica: int = 0,
    bins: int = BINS,
) -> Axes:
    """Draw learned curves with their nodes, the tails shaded; given inputs, also their histogram and share outside.

    Args:
        module: a `ChebyshevLagrange` or `WeightedChebyshev`, or an elementwise module such as `nn.ReLU`.
        channels: one or several; each gets a colour of the axes' own cycle.
        inputs: (points, channel), or x as the module takes it, or what `record_inputs` kept of this module.
        ax: where to draw. Without it a new figure is made by pyplot; with it nothing outside the axes changes.
        replica: which one to draw of a module with replicas.
        bins: of the histogram, which stands on the lower edge and takes a third of the height.

    Returns the axes.

    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> activation = ChebyshevLagrange(4, init="gelu")
    >>> plot_activation(activation, channels=[0, 2], inputs=torch.randn(1000, 4), ax=ax) is ax
    True
    """
    count, wanted = _channels_of(module, channels)
    sample = None if inputs is None else _sample(module, inputs, replica, count)
    if wanted and sample is not None and max(wanted) >= sample.shape[1]:
        raise ValueError(f"channel {max(wanted)} is asked for, but the inputs have {sample.shape[1]} channels")
    if ax is None:
        ax = _pyplot().subplots(layout="constrained")[1]
    shown = None if sample is None else sample[:, wanted]
    low, high = _range(module, shown)
    x = torch.linspace(low, high, POINTS, dtype=torch.float64)
    curves = _curves(module, x, wanted, replica)
    for column, channel in enumerate(wanted):
        (line,) = ax.plot(x.numpy(), curves[:, column].numpy(), label=f"channel {channel}", zorder=3)
        _draw_nodes(ax, module, channel, replica, line.get_color())
        if shown is not None:
            _draw_histogram(ax, shown[:, column], (low, high), bins, line.get_color())
    _finish(ax, module, shown, (low, high), len(wanted))
    return ax


def plot_activations(
    model: nn.Module,
    data: Tensor | Iterable[Any],
    *,
    channels: int = 4,
    modules: tuple[type[nn.Module], ...] = (),
    figure: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Run a model on data and draw the first channels of each of its learned activations: a row a layer.

    Args:
        model: run in evaluation mode without gradients; its own mode is put back.
        data: what the model takes, or batches of it; of a batch that is a tuple or a list, the first part is taken.
        channels: how many of each layer.
        modules: other kinds of modules to draw, such as `(nn.ReLU,)`.
        figure: where to draw; without it a new figure is made by pyplot.

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
    grid = figure.subplots(len(parts), max(widths.values()), squeeze=False)
    for row, (name, part) in zip(grid, parts.items(), strict=True):
        for channel, ax in enumerate(row):
            if channel >= widths[name]:
                ax.remove()
                continue
            plot_activation(part, channel, samples[name], ax)
            ax.set_title(f"{name or type(part).__name__}, channel {channel}", fontsize="small")
    return figure


def _run(model: nn.Module, data: Any, kinds: tuple[type[nn.Module], ...]) -> dict[str, InputSample]:
    """Sample the inputs of a model's activations on data; a module that no data reached is left out."""
    was_training = model.training
    try:
        with record_inputs(model, modules=kinds, points=KEPT) as samples, torch.no_grad():
            model.eval()
            for batch in [data] if isinstance(data, Tensor) else data:
                model(batch[0] if isinstance(batch, (tuple, list)) else batch)
    finally:
        model.train(was_training)
    reached = {name: sample for name, sample in samples.items() if sample.calls}
    if not reached:
        raise ValueError("no data reached the model's activations: data must hold one batch at least")
    return reached


def _channels_of(module: Any, channels: Any) -> tuple[int | None, list[int]]:
    """How many channels a module has (None: any number), and those asked for."""
    if not isinstance(module, nn.Module):
        raise TypeError(f"module must be a torch.nn.Module, got {type(module).__name__}")
    count = None
    if isinstance(module, LearnedActivation):
        if not module.is_materialized:
            raise ValueError("the number of channels is not known yet: call the module once, or give channels")
        count = module.channels or int(module.learned.shape[-2])
    asked = list(channels) if isinstance(channels, Iterable) else [channels]
    if not asked:
        raise ValueError("channels must name one channel at least, got an empty list")
    most = None if count is None else count - 1
    return count, [check_integer("channel", channel, least=0, most=most) for channel in asked]


def _sample(module: nn.Module, inputs: Tensor | InputSample, replica: int, count: int | None) -> Tensor:
    """The inputs as (points, channel) in float64, those that are not finite left to the histogram to skip."""
    replicated = getattr(module, "replicas", None) is not None
    if isinstance(inputs, InputSample):
        points = inputs.points
        return (points[replica] if inputs.replicated else points).double()
    if not isinstance(inputs, Tensor):
        raise TypeError(f"inputs must be a tensor or what record_inputs kept, got {type(inputs).__name__}")
    x = inputs.detach().cpu().double()
    x = x[replica] if replicated and x.dim() > 2 else x
    if x.dim() < 2:
        x = x.reshape(-1, 1) if count in (None, 1) else x.reshape(1, -1)
    elif x.dim() > 2:
        axis = find_axis(x.dim(), getattr(module, "channel_dim", 1), False)
        x = x.movedim(-1 if axis is None else axis, -1).flatten(0, -2)
    if count is not None and x.shape[1] != count:
        raise ValueError(f"inputs must have {count} channels like the module, got {x.shape[1]}")
    return x


def _range(module: nn.Module, sample: Tensor | None) -> tuple[float, float]:
    """From where to where to draw: the inputs, and the interval with some of its tails."""
    ends = []
    if sample is not None and sample.isfinite().any():
        finite = sample[sample.isfinite()]
        ends += [float(finite.min()), float(finite.max())]
    left, right = module.basis.interval if isinstance(module, LearnedActivation) else (-1.0, 1.0)
    margin = MARGIN * (right - left) / 2
    return min([left - margin, *ends]), max([right + margin, *ends])


def _row(module: LearnedActivation, channel: int, replica: int) -> Tensor:
    """The parameters of one channel, in float64 on the CPU: (degree + 1,)."""
    rows = module.learned.detach().cpu().double()
    rows = rows if module.replicas is None else rows[replica]
    return rows[channel * rows.shape[0] // (module.channels or rows.shape[0])]


@torch.no_grad()
def _curves(module: nn.Module, x: Tensor, channels: list[int], replica: int) -> Tensor:
    """The curves of the channels at x: (points, channel)."""
    if isinstance(module, LearnedActivation):
        values = torch.stack([_row(module, channel, replica) for channel in channels])
        return apply_basis(x.unsqueeze(1).repeat(1, len(channels)), values, module.basis, 1, "heights")
    y = module(x.float().unsqueeze(1))
    if not isinstance(y, Tensor) or y.shape != (POINTS, 1):
        raise ValueError(f"{type(module).__name__} does not work element by element, so it has no curve to draw")
    return y.double().expand(-1, len(channels))


def _draw_nodes(ax: Axes, module: nn.Module, channel: int, replica: int, colour: Any) -> None:
    if isinstance(module, ChebyshevLagrange):
        places = nodes(module.degree, interval=module.basis.interval)
        ax.plot(places.numpy(), _row(module, channel, replica).numpy(), "o", ms=4, color=colour, zorder=4)


def _draw_histogram(ax: Axes, x: Tensor, ends: tuple[float, float], bins: int, colour: Any) -> None:
    """Bars on the lower edge of the axes, the highest a third of its height, behind the curve."""
    finite = x[x.isfinite()]
    counts = torch.histc(finite, bins, *ends)
    edges = torch.linspace(*ends, bins + 1, dtype=torch.float64)
    heights = counts / counts.max().clamp(min=1) / 3
    place: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "color": colour, "alpha": 0.3, "lw": 0, "zorder": 1}
    ax.bar(edges[:-1].numpy(), heights.numpy(), float(edges[1] - edges[0]), align="edge", **place)


def _finish(ax: Axes, module: nn.Module, sample: Tensor | None, ends: tuple[float, float], curves: int) -> None:
    """Shade the tails, say how many inputs fall into them, and name the curves where there are several."""
    ax.set_xlim(*ends)
    ax.margins(y=0.15)
    if isinstance(module, ChebyshevLagrange):
        left, right = module.basis.interval
        shade: dict[str, Any] = {"color": "0.5", "alpha": 0.12, "lw": 0, "zorder": 0}
        ax.axvspan(ends[0], left, **shade)
        ax.axvspan(right, ends[1], **shade)
        if sample is not None and len(sample):
            share = float(((sample < left) | (sample > right)).double().mean())
            ax.annotate(
                f"{share:.1%} outside", (0.98, 0.97), xycoords="axes fraction", ha="right", va="top", fontsize="small"
            )
    if curves > 1:
        ax.legend(fontsize="small", loc="upper left")


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("drawing needs matplotlib: pip install matplotlib") from error
    return pyplot
