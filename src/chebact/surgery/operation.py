"""`replace_activations`: learned activations in place of fixed ones, in any model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, Literal

import torch
from torch import Tensor, nn

from chebact.activations import ChebyshevLagrange
from chebact.checks import Interval, check_choice, check_degree, check_interval
from chebact.compiled import in_plain_torch
from chebact.initial import INITIAL_SHAPES, Init
from chebact.node_positions import nodes
from chebact.surgery.checking import check_arguments, check_channel_dim, say_nothing_found
from chebact.surgery.choosing import Where, choose
from chebact.surgery.graphs.rewriting import call_instead, rewrite_forward
from chebact.surgery.graphs.tracing import Traced
from chebact.surgery.kinds import DEFAULT_KINDS, is_activation
from chebact.surgery.places.finder import Finder, Site
from chebact.surgery.places.observing import Observation, observe
from chebact.surgery.places.other_methods import old_functions_in_methods
from chebact.surgery.report import Replaced, Report
from chebact.surgery.trials.comparing import difference_between, has_numbers
from chebact.surgery.trials.kept_state import is_lazy_layer, state_kept
from chebact.surgery.trials.running import run_trial
from chebact.surgery.trials.sharing import copy_structure, keep_activation_when_copied_
from chebact.surgery.verifying import Original, put, run_original, verify
from chebact.table import ACTIVATIONS, Factory, make_activation, takes
from chebact.torch_modes import share_hooks

__all__ = ["Replacement", "replace_activations"]

INSIDE = 0.05  # with interval="fit", the share of the example's inputs left of the interval, and right of it


@dataclass(frozen=True)
class Replacement:
    """A model with learned activations, and the report of what was done; prints as the report.

    >>> replacement = replace_activations(nn.Sequential(nn.Linear(4, 8), nn.ReLU()))
    >>> len(replacement.report.replaced), replacement.report.left
    (1, ())
    """

    model: nn.Module
    report: Report

    def __str__(self) -> str:
        return str(self.report)

    def __getattr__(self, name: str) -> Any:
        hint = f"; use replacement.model.{name}" if hasattr(nn.Module, name) else ""
        raise AttributeError(f"a Replacement has the attributes model and report, got {name!r}{hint}")

    def __call__(self, *_: Any, **__: Any) -> Any:
        """A TypeError: the model is called, not this."""
        raise TypeError("model must be called, got a call of its Replacement; call replacement.model")

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


def replace_activations(
    model: nn.Module,
    example: Any = None,
    *,
    kinds: tuple[type[nn.Module], ...] = DEFAULT_KINDS,
    with_: str | Factory = "cl-extrapolate",
    degree: int = 3,
    init: Init | Literal["same"] = "same",
    interval: Interval | Literal["fit"] = (-1.0, 1.0),
    channel_dim: int | None = None,
    where: Where = None,
    functional: bool = True,
    copy: bool = False,
    dry_run: bool = False,
) -> Replacement:
    """A model with learned activations in place of its fixed ones; the model that was given stays as it was.

    Args:
        model: any module. The new one shares its weights, under the same names, unless `copy=True`.
        example: an input, a tuple of inputs or a dict of them by name. One run on it tells the channels of every
            activation; without it the layers beside an activation have to.
        kinds: the modules to replace, and with them the functions that do the same (`F.relu`, `x.relu()`).
        with_: a name of `ACTIVATIONS` with heights, or a function that is called with the number of channels and with
            those of degree, channel_dim, init and interval that it takes.
        degree: of the polynomials.
        init: "same" starts as the function that is replaced; or as `ChebyshevLagrange` takes it.
        interval: of all; "fit" puts 90 % of the inputs that the example gives each activation into its interval.
        channel_dim: the channel axis of those activations of which neither the run nor the layers tell it.
        where: which ones: a name or names with * and ?, a slice of all in their order, with an example that of calls
            (`slice(-8, None)` is the last 8), or a function of each one found, which has a `name`, a `kind` and
            `channels`.
        functional: False leaves functions in forward methods alone.
        copy: the new model gets copies of all weights.
        dry_run: only the report; `.model` is the model that was given.

    >>> net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    >>> replacement = replace_activations(net)
    >>> replacement.model[1], replacement.model[0].weight is net[0].weight
    (ChebyshevLagrange(32, degree=3, channel_dim=-1, tails='extrapolate', init='relu'), True)
    """
    check_arguments(model, kinds, example, interval, channel_dim, functional=functional, copy=copy, dry_run=dry_run)
    with torch.inference_mode(False):  # heights that are made in inference mode cannot be trained
        new, untouched = copy_structure(model, share=not copy), copy_structure(model, share=True)
        wanted = partial(is_activation, kinds=kinds, functional=functional)
        with state_kept(new):
            seen = None if example is None else observe(new, example, wanted, channel_dim)
            finder = Finder(new, kinds, functional, seen)
        if not finder.sites:
            raise ValueError(say_nothing_found(model, finder.left, kinds))
        check_channel_dim(channel_dim, finder.sites)
        sites = choose(finder.sites, where, finder.left)
        likes = [_like(site, new) for site in sites]
        with torch.device("cpu"):  # where points and heights are computed, whatever device a caller chose
            built = [_build(site, with_, check_degree(degree), init, _interval(site, interval)) for site in sites]
            built = [activation.to(*like) for activation, like in zip(built, likes, strict=True)]
            rows = tuple(_describe(site, activation) for site, activation in zip(sites, built, strict=True))
        report = Report(rows, tuple(finder.left), notes=(*old_functions_in_methods(sites), *_not_compared(seen)))
        if dry_run:
            return Replacement(model, replace(report, dry_run=True))
        _rewrite(sites)
        if seen is not None:
            lazy = any(map(is_lazy_layer, model.modules()))  # a run would give them a shape
            verify(
                new, sites, example, Original(seen.output) if lazy else run_original(untouched, example, seen.visits)
            )
        _put_all(new, sites, built)
        if seen is None:
            return Replacement(new, report)
        difference = difference_between(run_trial(new, example), seen.output)
        return Replacement(new, replace(report, output_difference=difference))


def _like(site: Site, model: nn.Module) -> tuple[Any, ...]:
    """The device and the type of the heights: those of the input that was seen, else of the first floating parameter of
    the parent, else of the model; nothing where there is none.
    """
    if site.first is not None and site.first.dtype is not None:
        return site.first.device, site.first.dtype
    parameters = chain(site.parent.parameters(), model.parameters())
    like = next((p for p in parameters if p.is_floating_point()), None)
    return () if like is None else (like.device, like.dtype)


def _not_compared(seen: Observation | None) -> tuple[str, ...]:
    """A sentence where a run gave no number, so that nothing says whether the new model computes the same."""
    if seen is None or has_numbers(seen.output):
        return ()
    kind = type(seen.output).__name__
    return (f"the output on the example ({kind}) holds no numbers that surgery can read, so it was not compared",)


def _put_all(model: nn.Module, sites: list[Site], built: list[nn.Module]) -> None:
    """Make the new activations children of the model, and keep torch's layers from passing by them."""
    for site, activation in zip(sites, built, strict=True):
        if isinstance(site.original, nn.Module):
            share_hooks(site.original, activation)
        put(site, activation)
    for site in sites:
        if isinstance(site.parent, nn.TransformerDecoderLayer):
            keep_activation_when_copied_(site.parent)
    _turn_off_fast_paths(model)


def _rewrite(sites: list[Site]) -> None:
    """Let the forward methods call children at the sites that are functions."""
    graphs = dict[int, Traced]()
    for site in sites:
        if site.traced is not None:
            call_instead(site.traced, site.index, site.attribute)
            graphs[id(site.traced)] = site.traced
    for traced in graphs.values():
        rewrite_forward(traced)


def _interval(site: Site, interval: Any) -> Interval:
    if interval != "fit":
        return check_interval(interval)
    inputs = torch.empty(0) if site.inputs is None else site.inputs
    if not inputs.numel() or not bool(inputs.isfinite().all()):
        what = "numbers that are not finite" if inputs.numel() else "none"
        raise ValueError(f"example must give {site.name} finite inputs for interval='fit', got {what}")
    low, high = (float(torch.quantile(inputs, share)) for share in (INSIDE, 1 - INSIDE))
    margin = max(0.0, 1e-3 - (high - low))  # an activation whose inputs are all alike
    return check_interval((low - margin, high + margin))


def _build(site: Site, with_: str | Factory, degree: int, init: Any, interval: Interval) -> nn.Module:
    start = _start(site, degree, interval) if isinstance(init, str) and init == "same" else init
    options = {"degree": degree, "channel_dim": site.layout.channel_dim, "init": start, "interval": interval}
    if isinstance(with_, str):
        learned = [name for name, row in ACTIVATIONS.items() if takes(row.build, "init")]
        module = make_activation(check_choice("with_", with_, learned), site.layout.channels, **options)
    elif isinstance(with_, nn.Module):
        kind = type(with_).__name__
        raise TypeError(f"with_ must be a class or a function that makes a module, got a {kind}; pass {kind} itself")
    elif callable(with_):
        module = _call_maker(with_, site.layout.channels, {n: v for n, v in options.items() if takes(with_, n)})
    else:
        raise TypeError(f"with_ must be a name of ACTIVATIONS or a function, got {with_!r} ({type(with_).__name__})")
    if not isinstance(module, nn.Module):
        raise TypeError(f"with_ must return a torch.nn.Module, got {type(module).__name__}")
    return module.train(site.parent.training)


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


def _describe(site: Site, activation: nn.Module) -> Replaced:
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


def _turn_off_fast_paths(model: nn.Module) -> None:
    """torch's transformer layers compute ReLU and GELU by themselves in evaluation, unless these say otherwise."""
    for part in model.modules():
        if isinstance(part, nn.TransformerEncoderLayer) and not isinstance(part.activation, (nn.ReLU, nn.GELU)):
            part.activation_relu_or_gelu = 0 if isinstance(part.activation, nn.Module) else part.activation_relu_or_gelu
    for part in model.modules():
        if isinstance(part, nn.TransformerEncoder):
            layers = [layer for layer in part.layers if isinstance(layer, nn.TransformerEncoderLayer)]
            if not all(layer.activation_relu_or_gelu for layer in layers):
                part.use_nested_tensor = False
