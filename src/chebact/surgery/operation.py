"""`replace_activations`: learned activations in place of fixed ones, in any model."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, Literal

import torch
from torch import nn

from chebact.checks import Interval, check_degree
from chebact.initial import Init
from chebact.surgery.building import build, describe, find_interval
from chebact.surgery.checking import Where, check_arguments, check_channel_dim, choose, say_nothing_found
from chebact.surgery.comparing import difference_between, has_numbers
from chebact.surgery.finding import find_activations
from chebact.surgery.kinds import DEFAULT_KINDS, functions_of, is_activation
from chebact.surgery.observing import observe
from chebact.surgery.report import Report
from chebact.surgery.sites import Site, plans_of
from chebact.surgery.trials import Trial, copy_model, is_lazy_layer, run_alike
from chebact.surgery.verifying import put_, verify
from chebact.table import Factory

__all__ = ["Replacement", "replace_activations"]


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
    inplace: bool = False,
    dry_run: bool = False,
) -> Replacement:
    """A copy of a model, weights too, with learned activations in place of its fixed ones.

    Only the calls of activations are others; all else that the code of the model does, it does as before.

    Args:
        model: any module. The names of its weights stay.
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
        inplace: change the model that was given, and no copy of it: all of it, or nothing where an error is raised.
        dry_run: only the report; `.model` is the model that was given.

    >>> net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    >>> replacement = replace_activations(net)
    >>> replacement.model[1], net[1]
    (ChebyshevLagrange(32, degree=3, channel_dim=-1, tails='extrapolate', init='relu'), ReLU())
    """
    check_arguments(
        model, kinds, example, interval, channel_dim, functional=functional, inplace=inplace, dry_run=dry_run
    )
    with torch.inference_mode(False):  # heights that are made in inference mode cannot be trained
        wanted = partial(is_activation, kinds=kinds, functional=functional)
        functions = functions_of(kinds) if functional else set[Any]()
        trials = list[Trial]()

        def make() -> nn.Module:
            trials.append(Trial(model))
            return trials[-1].model

        seen = None if example is None else observe(make, example, kinds, functions, channel_dim)
        found = find_activations(model if seen is None else seen.model, kinds, functions, wanted, seen)
        if not found.sites:
            raise ValueError(say_nothing_found(model, found.left, kinds))
        check_channel_dim(channel_dim, found.sites)
        sites = choose(found.sites, where, found.left)
        likes = [_like(site, model) for site in sites]
        with torch.device("cpu"):  # where points and heights are computed, whatever device a caller chose
            made = [build(site, with_, check_degree(degree), init, find_interval(site, interval)) for site in sites]
            built = [each.to(*like) for each, like in zip(made, likes, strict=True)]
            rows = tuple(describe(site, activation) for site, activation in zip(sites, built, strict=True))
        notes = () if seen is None else _not_compared(seen.output)
        report = Report(rows, tuple(found.left), notes=notes)
        if dry_run:
            plans, more = plans_of(model, sites)
            return Replacement(model, replace(report, notes=(*more, *notes), dry_run=True))
        if seen is None:
            plans, more = plans_of(model, sites)
        else:
            plans, more = verify(make, model, sites, example, seen.output, any(map(is_lazy_layer, model.modules())))

            def operated() -> nn.Module:
                trial = make()
                put_(trial, sites, deepcopy(built), plans)
                return trial

            report = replace(report, output_difference=difference_between(run_alike(operated, example), seen.output))
        for trial in trials:
            trial.close()
        new, lost = (model, 0) if inplace else copy_model(model)
        if seen is not None and not inplace:
            _take_lazy_(new, seen.model)
        changed = put_(new, sites, built, plans)
        for site, activation in zip(sites, built, strict=True):
            activation.train(new.get_submodule(site.parent).training)
        if lost:
            changed.append(f"{lost} tensors that a call of the model left in it were copied without their history")
        return Replacement(new, replace(report, notes=(*more, *notes, *changed)))


def _like(site: Site, model: nn.Module) -> tuple[Any, ...]:
    """The device and the type of the heights: those of the input that was seen, else of the first floating parameter of
    the parent, else of the model; nothing where there is none.
    """
    first = site.seen[0]
    if first.dtype is not None:
        return first.device, first.dtype
    parameters = chain(model.get_submodule(site.parent).parameters(), model.parameters())
    like = next((p for p in parameters if p.is_floating_point()), None)
    return () if like is None else (like.device, like.dtype)


def _not_compared(output: Any) -> tuple[str, ...]:
    """A sentence where a run gave no number, so that nothing says whether the new model computes the same."""
    if has_numbers(output):
        return ()
    kind = type(output).__name__
    return (f"the output on the example ({kind}) holds no numbers that surgery can read, so it was not compared",)


def _take_lazy_(new: nn.Module, seen: nn.Module) -> None:
    """Give a copy the layers whose shapes the run on the example told."""
    for path, part in list(new.named_modules()):
        if is_lazy_layer(part):
            above, _, name = path.rpartition(".")
            setattr(new.get_submodule(above), name, copy_model(seen.get_submodule(path))[0])
