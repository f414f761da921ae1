"""Putting activations into a model, and a trial with the old functions: its output must be that of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from chebact.surgery.comparing import difference_between, is_same, tensors_in
from chebact.surgery.rewriting import Plan, keep_children_, rewrite_
from chebact.surgery.sites import Site, plans_of
from chebact.surgery.trials import run_alike, run_in_training
from chebact.torch_modes import share_hooks, transforms_active

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
    for site, activation in zip(sites, built, strict=True):
        for name in (site.name, *site.twins):
            path, _, attribute = name.rpartition(".")
            parent = model.get_submodule(path)
            old = None if isinstance(activation, StandIn) else parent._modules.get(attribute)
            if old is not None and name == site.name:
                share_hooks(old, activation)
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

    Where it reads again what an activation wrote into its input, the calls write too. An error with names where no
    way leads to the same.
    """
    in_place = [site for site in sites if site.in_place]
    wanted = _Run(output, {}) if is_lazy or not in_place else _run(make, example)
    training = None if is_lazy or not in_place else run_in_training(make(), example)
    apart = _try(make, model, sites, example, wanted, training)
    if apart is not None and in_place:
        first = apart
        for site in in_place:
            site.writes = bool(site.seen[0].places) and len({call.places for call in site.seen}) == 1
        apart = _try(make, model, sites, example, wanted, training)
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
    return plans_of(model, sites)


def _try(make: Any, given: nn.Module, sites: Sequence[Site], example: Any, wanted: _Run, training: Any) -> str | None:
    """What differs from the model with stand-ins in it; None is nothing."""
    called = set[str]()
    plans, _ = plans_of(given, sites)

    def operated() -> nn.Module:
        model: nn.Module = make()
        put_(model, sites, [StandIn(site.name, site.original, called.add) for site in sites], plans)
        return model

    try:
        got = _run(operated, example)
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
    if not is_same(got.output, wanted.output):
        return f"an output that {_by(difference_between(got.output, wanted.output))}"
    if name := next(
        (name for name, some in wanted.inputs.items() if not _are_close(some, got.inputs.get(name, []))), None
    ):
        return f"an input of {name} that differs"
    if training is not None and not is_same(again := run_in_training(operated(), example), training):
        return f"an output in training that {_by(difference_between(again, training))}"
    return None


class _Run(NamedTuple):
    """What a model gives, and two numbers for every input of its layers, by name."""

    output: Any
    inputs: dict[str, list[tuple[float, float]]]


def _run(make: Callable[[], nn.Module], example: Any) -> _Run:
    seen = dict[str, list[tuple[float, float]]]()

    @contextmanager
    def watch(model: nn.Module) -> Iterator[None]:
        seen.clear()
        hooks = []
        for name, part in model.named_modules():
            if not isinstance(part, StandIn) and (
                not part._modules or any(True for _ in part.parameters(recurse=False))
            ):
                seen[name] = []
                hooks.append(part.register_forward_pre_hook(partial(_note, seen[name]), prepend=True))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    return _Run(run_alike(make, example, watch), seen)


def _note(seen: list[tuple[float, float]], _: nn.Module, args: Any) -> None:
    if not transforms_active():
        for each in tensors_in(args):
            if each.is_floating_point() and not each.is_meta and each.layout is torch.strided and not each.is_nested:
                numbers = each.detach().double()
                seen.append((float(numbers.sum()), float(numbers.abs().sum())))


def _are_close(one: list[tuple[float, float]], other: list[tuple[float, float]]) -> bool:
    pairs = zip(one, other, strict=False)
    return len(one) != len(other) or all(abs(a - b) <= 1e-6 * size + 1e-9 or a != a for (a, size), (b, _) in pairs)


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
