"""Putting activations into a model, and a trial with the old functions: its output must be that of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from chebact.surgery.comparing import difference_between, is_same
from chebact.surgery.rewriting import Plan, keep_children_, rewrite_
from chebact.surgery.sites import Site, plans_of, reads_again
from chebact.surgery.trials import run_alike, run_in_training
from chebact.torch_modes import share_hooks

__all__ = ["put_", "verify"]


class StandIn(nn.Module):
    """The function that an activation replaces, on a copy of its input. It tells `note` its name when it is called."""

    def __init__(self, name: str, function: Callable[[Tensor], Tensor], note: Callable[[str], None]) -> None:
        super().__init__()
        self.name, self.function, self.note = name, function, note

    def forward(self, x: Tensor) -> Tensor:
        """The old function of x."""
        self.note(self.name)
        return self.function(x.clone())


def put_(model: nn.Module, sites: Sequence[Site], built: Sequence[nn.Module], plans: Mapping[str, Plan]) -> list[str]:
    """Make activations children of a model, change the calls that shall reach them, and keep torch's layers from
    passing by them; notes on what that changes.
    """
    parts = dict(model.named_modules(remove_duplicate=False))
    for site, activation in zip(sites, built, strict=True):
        old = parts.get(site.seen[0].attribute) if isinstance(site.callee, nn.Module) else None
        if old is not None and not isinstance(activation, StandIn):  # of a module that is called twice, both
            share_hooks(old, activation)
        for name in (site.name, *site.twins):
            path, _, attribute = name.rpartition(".")
            parent = model.get_submodule(path)
            vars(parent).pop(attribute, None)
            setattr(parent, attribute, activation)
            if isinstance(parent, nn.TransformerDecoderLayer):
                keep_children_(parent)
    for path, plan in plans.items():
        rewrite_(model.get_submodule(path), plan)
    return _turn_off_fast_paths(model)


def verify(
    make: Callable[[], nn.Module], model: nn.Module, sites: Sequence[Site], example: Any, output: Any, is_lazy: bool
) -> tuple[dict[str, Plan], tuple[str, ...]]:
    """The changes with which the model computes what it did, with the old functions in the new places: `output`.

    In training too, where code of its own may ask for that. Where it reads again what an activation wrote into its
    input, the calls write too. An error with names where no way leads to the same.
    """
    in_place = [site for site in sites if site.in_place]
    for site in in_place:  # of what is kept the output tells nothing
        site.writes = _is_one_call(site) and reads_again(site.seen[0])
    if in_place and not is_lazy:  # a layer whose weights are zero would hide what it is given
        make = partial(_without_zeros, make)
        output = run_alike(make, example)
    asks = in_place or any(not type(part).__module__.startswith("torch.") for part in model.modules())
    training = None if is_lazy or not asks else run_in_training(make(), example)
    apart = _try(make, model, sites, example, output, training)
    if apart is not None and in_place:
        first = apart
        for site in in_place:
            site.writes = _is_one_call(site)
        apart = _try(make, model, sites, example, output, training)
        if apart is not None:
            names = ", ".join(site.name for site in in_place if not site.writes) or in_place[0].name
            raise ValueError(
                f"model must not read what an activation wrote into its input, got inplace=True at {names} and "
                f"{first} without; set inplace=False, which changes the model, or let where leave out those whose "
                "input is used again"
            )
    if apart is not None:
        names = ", ".join(site.name for site in sites)
        raise ValueError(
            f"model must compute the same with the old functions in the new places, got {apart} with {names}; leave "
            "them out with where or functional=False"
        )
    plans, notes = plans_of(model, sites)
    if asks and training is None and not is_lazy:
        notes = (*notes, "the model does not run on the example in training, so it was compared in evaluation alone")
    return plans, notes


def _is_one_call(site: Site) -> bool:
    """Whether its calls are one expression of the code, which can be changed."""
    return bool(site.seen[0].places) and len({call.places for call in site.seen}) == 1


def _try(make: Any, given: nn.Module, sites: Sequence[Site], example: Any, wanted: Any, training: Any) -> str | None:
    """What differs from the model with stand-ins in it; None is nothing."""
    called = list[str]()
    plans, _ = plans_of(given, sites)

    def operated() -> nn.Module:
        model: nn.Module = make()
        called.clear()
        put_(
            model,
            sites,
            [StandIn(site.name, site.original, called.append) for site in sites],
            plans,
        )
        return model

    try:
        got = run_alike(operated, example)
    except Exception as error:
        raise ValueError(
            f"model must run with changed calls, got {type(error).__name__}: {error}; leave out what the example calls "
            "in two ways with where or functional=False"
        ) from error
    if unused := [site.name for site in sites if site.name not in called]:
        raise ValueError(
            f"model must call its new activations, got {', '.join(unused)}, which the model does not call on the "
            "example; leave them out with where"
        )
    if more := [site.name for site in sites if called.count(site.name) > len(site.seen)]:
        raise ValueError(
            f"model must call new activations as often as the old ones, got more calls of {', '.join(more)}; leave "
            "them out with where: a forward that goes over its own children calls new ones too"
        )
    if not is_same(got, wanted):
        return f"an output that {_by(difference_between(got, wanted))}"
    if training is None or is_same(again := run_in_training(operated(), example), training):
        return None
    repeats = is_same(run_in_training(make(), example), training)  # else it differs from pass to pass by itself
    return f"an output in training that {_by(difference_between(again, training))}" if repeats else None


def _without_zeros(make: Callable[[], nn.Module]) -> nn.Module:
    """A copy whose parameters that are zero have other numbers."""
    model, draw = make(), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in model.parameters():
            if p.is_floating_point() and not p.is_meta and not p.any():
                p.data = p + 0.1 * torch.randn(p.shape, generator=draw).to(p)
    return model


def _by(difference: float | None) -> str:
    return f"differs by {difference:.3g}" if difference else "has another form"


def _turn_off_fast_paths(model: nn.Module) -> list[str]:
    """torch's transformer layers compute ReLU and GELU by themselves in evaluation, unless these say otherwise."""
    notes = list[str]()
    for part in model.modules():
        if isinstance(part, nn.TransformerEncoderLayer) and not isinstance(part.activation, (nn.ReLU, nn.GELU)):
            part.activation_relu_or_gelu = 0 if isinstance(part.activation, nn.Module) else part.activation_relu_or_gelu
    for path, part in model.named_modules():
        if isinstance(part, nn.TransformerEncoder):
            layers = [layer for layer in part.layers if isinstance(layer, nn.TransformerEncoderLayer)]
            if part.use_nested_tensor and not all(layer.activation_relu_or_gelu for layer in layers):
                part.use_nested_tensor = False
                notes.append(
                    f"{path or type(part).__name__} no longer takes torch's fast path, which in evaluation without "
                    "gradients gives zeros at padded positions; there its output is another"
                )
    return notes
