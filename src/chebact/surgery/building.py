"""The activation that takes the place of a function: its channels, its start, and how far it is from what was there."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from chebact.activations import ChebyshevLagrange
from chebact.checks import Interval, check_choice, check_interval
from chebact.compiled import in_plain_torch
from chebact.initial import INITIAL_SHAPES
from chebact.node_positions import nodes
from chebact.surgery.report import Replaced
from chebact.surgery.sites import Site
from chebact.table import ACTIVATIONS, Factory, make_activation, takes

__all__ = ["build", "describe", "find_interval"]

INSIDE = 0.05  # with interval="fit", the share of the example's inputs left of the interval, and right of it


def find_interval(site: Site, interval: Any) -> Interval:
    """The interval that was asked for, or with "fit" that of the example's inputs."""
    if interval != "fit":
        return check_interval(interval)
    inputs = torch.empty(0) if site.inputs is None else site.inputs
    if not inputs.numel() or not bool(inputs.isfinite().all()):
        what = "numbers that are not finite" if inputs.numel() else "none"
        raise ValueError(f"example must give {site.name} finite inputs for interval='fit', got {what}")
    low, high = (float(torch.quantile(inputs, share)) for share in (INSIDE, 1 - INSIDE))
    margin = max(0.0, 1e-3 - (high - low))  # an activation whose inputs are all alike
    return check_interval((low - margin, high + margin))


def build(site: Site, with_: str | Factory, degree: int, init: Any, interval: Interval) -> nn.Module:
    """The new activation of a site."""
    start = _start(site, degree, interval) if isinstance(init, str) and init == "same" else init
    options = {"degree": degree, "channel_dim": site.layout.channel_dim, "init": start, "interval": interval}
    if isinstance(with_, str):
        module = make_activation(
            check_choice("with_", with_, _learned(len(ACTIVATIONS))), site.layout.channels, **options
        )
    elif isinstance(with_, nn.Module):
        kind = type(with_).__name__
        raise TypeError(f"with_ must be a class or a function that makes a module, got a {kind}; pass {kind} itself")
    elif callable(with_):
        module = _call_maker(with_, site.layout.channels, {n: v for n, v in options.items() if takes(with_, n)})
    else:
        raise TypeError(f"with_ must be a name of ACTIVATIONS or a function, got {with_!r} ({type(with_).__name__})")
    if not isinstance(module, nn.Module):
        raise TypeError(f"with_ must return a torch.nn.Module, got {type(module).__name__}")
    return module


@cache
def _learned(count: int) -> list[str]:
    """The names of the activations that learn heights, of so many in the table."""
    return [name for name, row in ACTIVATIONS.items() if takes(row.build, "init")]


def _call_maker(maker: Factory, channels: int, options: dict[str, Any]) -> nn.Module:
    try:
        return maker(channels, **options)
    except TypeError as error:
        name = getattr(maker, "__name__", type(maker).__name__)
        raise TypeError(
            f"with_ must be a function of the number of channels, got {name}, which raised TypeError: {error}; "
            "write for example with_=lambda channels: ..."
        ) from error


def _start(site: Site, degree: int, interval: Interval) -> Any:
    """The function of a site by its name where it has one, else its heights at the nodes."""
    grid = torch.linspace(-3, 3, 101, dtype=torch.float64)
    with torch.no_grad():
        same = [name for name, shape in INITIAL_SHAPES.items() if torch.equal(shape(grid), site.function(grid))]
        return same[0] if same else site.function(nodes(degree, interval=interval, device="cpu"))


def describe(site: Site, activation: nn.Module) -> Replaced:
    """The row of the report."""
    own = isinstance(activation, ChebyshevLagrange) and not activation.heights.is_meta
    grid = torch.linspace(-1, 1, 2001, dtype=torch.float64)
    return Replaced(
        site.name,
        site.kind,
        site.layout.channels,
        site.layout.channel_dim,
        site.layout.evidence,
        activation.basis.interval if isinstance(activation, ChebyshevLagrange) else None,
        len(site.seen) or 1,
        _distance(site, activation, grid) if own else None,  # type: ignore[arg-type]
        _distance(site, activation, site.inputs, site.input_channels)  # type: ignore[arg-type]
        if own and site.inputs is not None and len(site.inputs)
        else None,
    )


@torch.no_grad()
def _distance(site: Site, activation: ChebyshevLagrange, points: Tensor, channels: Tensor | None = None) -> float:
    """The largest difference between the new function and the old one at some points, over all channels, or each
    point in its own of `channels`.
    """
    wanted, heights = site.function(points), activation.heights.detach().double().cpu()
    if wanted.dim() == 1:
        wanted, heights = wanted.unsqueeze(0), heights[:1]
    x = points.unsqueeze(1).expand(-1, heights.shape[0])
    apart = (in_plain_torch(x, heights, activation.basis, 1, False).T - wanted).abs()
    if channels is not None and len(apart) > 1:
        apart = apart.gather(0, channels.unsqueeze(0))
    return float(apart.max())
