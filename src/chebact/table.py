"""Activations by name: those of the paper, common ones, and those that a user registers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from chebact.activations import ChebyshevLagrange, Cubic, PrototypeSimilarity, WeightedChebyshev
from chebact.checks import (
    Tails,
    check_axis,
    check_choice,
    check_count,
    check_degree,
    check_not_negative,
    must_be,
)
from chebact.learned import LearnedActivation, learned_activations

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "Factory",
    "build_activation",
    "make_activation",
    "paper_activation",
    "parameter_groups",
    "register_activation",
    "takes",
]

Factory = Callable[..., nn.Module]


@dataclass(frozen=True)
class Activation:
    """A row of the table: `build(channels, degree=..., channel_dim=..., replicas=..., **options)` makes the module."""

    name: str
    label: str
    build: Factory


def _without_parameters(module: Callable[[], nn.Module]) -> Factory:
    return lambda channels, *, degree, channel_dim, replicas: module()


def _lagrange(tails: Tails) -> Factory:
    return lambda channels, **options: ChebyshevLagrange(channels, tails=tails, **options)


def _weighted(channels: int, *, degree: int, channel_dim: int, replicas: int | None) -> nn.Module:
    return WeightedChebyshev(channels, degree=degree, channel_dim=channel_dim, replicas=replicas)


def _prototypes(channels: int, **options: Any) -> nn.Module:
    sizes = {name: options[name] for name in ("channel_dim", "replicas")}
    return nn.Sequential(PrototypeSimilarity(channels, **sizes), _lagrange("none")(channels, **options))


def _tanh_first(channels: int, **options: Any) -> nn.Module:
    return nn.Sequential(nn.Tanh(), _lagrange("none")(channels, **options))


def _prelu(channels: int, *, degree: int, channel_dim: int, replicas: int | None) -> nn.Module:
    if channel_dim != 1 or replicas is not None:
        raise ValueError(
            f"prelu must have channel_dim=1 and no replicas, as in torch, got channel_dim={channel_dim} and "
            f"replicas={replicas}; use a ChebyshevLagrange of degree 1"
        )
    return nn.PReLU(channels)


_PAPER = (
    Activation("relu", "ReLU", _without_parameters(nn.ReLU)),
    Activation("tanh", "tanh", _without_parameters(nn.Tanh)),
    Activation("cubic", "Cubic", _without_parameters(Cubic)),
    Activation("cl", "CL", _lagrange("none")),
    Activation("wcp", "WCP", _weighted),
    Activation("pcs-cl", "PCS-CL", _prototypes),
    Activation("tanh-cl", "tanh-CL", _tanh_first),
    Activation("cl-regression", "CL-regression", _lagrange("regression")),
    Activation("cl-extrapolate", "CL-extrapolate", _lagrange("extrapolate")),
)
_USUAL = (
    Activation("gelu", "GELU", _without_parameters(nn.GELU)),
    Activation("silu", "SiLU", _without_parameters(nn.SiLU)),
    Activation("leaky-relu", "leaky ReLU", _without_parameters(nn.LeakyReLU)),
    Activation("prelu", "PReLU", _prelu),
)
_rows: dict[str, Activation] = {row.name: row for row in _PAPER + _USUAL}

ACTIVATIONS = MappingProxyType(_rows)
"""The table by name; `register_activation` adds a row."""


def make_activation(
    name: str,
    channels: int,
    degree: int = 3,
    *,
    channel_dim: int = 1,
    replicas: int | None = None,
    **options: Any,
) -> nn.Module:
    """The activation with that name; `options` are those of its module (`init`, `interval`, ...).

    >>> make_activation("cl-extrapolate", 32, init="relu")
    ChebyshevLagrange(32, degree=3, tails='extrapolate', init='relu')
    """
    row = _row(name)
    _check_options(row, options)
    sizes = {
        "channel_dim": check_axis(channel_dim),
        "replicas": None if replicas is None else check_count("replicas", replicas),
    }
    module = row.build(check_count("channels", channels), degree=check_degree(degree), **sizes, **options)
    if not isinstance(module, nn.Module):
        raise TypeError(must_be(f"the result of the builder of {name!r}", "a torch.nn.Module", module))
    for part in module.modules():
        if isinstance(part, LearnedActivation) and part.basis.degree != degree:
            raise ValueError(
                f"the builder of {name!r} must use degree={degree}, got a module of degree {part.basis.degree}; write "
                "build(channels, *, degree, channel_dim, replicas) and pass them to the module"
            )
    return module


def build_activation(
    activation: str | Factory, channels: int, *, degree: int | None = None, replicas: int | None = None
) -> nn.Module:
    """An activation from a name of the table or from a factory.

    A factory is called with the number of channels, and with `degree` and `replicas` if they are set and it accepts
    them. A class without `channels`, such as `nn.GELU`, is called without it.

    >>> build_activation(partial(ChebyshevLagrange, init="relu"), 8)
    ChebyshevLagrange(8, degree=3, tails='extrapolate', init='relu')
    >>> build_activation(nn.GELU, 8)
    GELU(approximate='none')
    """
    given = {name: value for name, value in (("degree", degree), ("replicas", replicas)) if value is not None}
    if isinstance(activation, str):
        return make_activation(activation, channels, **given)
    if not callable(activation):
        accepted = f"one of {', '.join(_rows)}, or a function of the number of channels"
        raise TypeError(must_be("activation", accepted, activation))
    taken = {name: value for name, value in given.items() if takes(activation, name)}
    if degree is not None and "degree" not in taken:
        raise ValueError(must_be("degree", "None for a factory without it", degree, "set it in the factory"))
    without = isinstance(activation, type) and not takes(activation, "channels")
    module = activation(**taken) if without else activation(channels, **taken)
    if not isinstance(module, nn.Module):
        raise TypeError(must_be("the result of activation", "a torch.nn.Module", module))
    return module


def paper_activation(name: str) -> Factory:
    """The activation of that name as in the paper, with heights that start at zero.

    >>> paper_activation("cl-extrapolate")(4).heights.any()
    tensor(False)
    """
    row = _row(name)
    return partial(make_activation, name, init="zeros") if takes(row.build, "init") else partial(make_activation, name)


def register_activation(name: str, build: Factory, *, label: str | None = None, replace: bool = False) -> None:
    """Add a row: `build(channels, degree=..., channel_dim=..., replicas=...)` returns the module.

    >>> register_activation("softplus", lambda channels, **options: nn.Softplus())
    >>> make_activation("softplus", 8)
    Softplus(beta=1.0, threshold=20.0)
    """
    if not isinstance(name, str) or not name:
        raise TypeError(must_be("name", "a non-empty string", name))
    if not callable(build):
        raise TypeError(must_be("build", "a function that returns a module", build))
    if name in _rows and not replace:
        raise ValueError(must_be("name", "new", name, "pass replace=True to replace the row of that name"))
    missing = [each for each in ("degree", "channel_dim", "replicas") if not takes(build, each)]
    if missing:
        raise TypeError(
            f"build must accept degree, channel_dim and replicas by name, got a function without {', '.join(missing)}; "
            "write build(channels, *, degree, channel_dim, replicas), or **options for those that it ignores"
        )
    _rows[name] = Activation(name, label or name, build)


def _row(name: Any) -> Activation:
    return _rows[check_choice("name", name, _rows)]


def _check_options(row: Activation, options: Mapping[str, Any]) -> None:
    unknown = [option for option in options if not takes(row.build, option)]
    if unknown:
        raise TypeError(f"options must be accepted by {row.name}, got {', '.join(unknown)}; leave them out")


def takes(function: Callable[..., Any], name: str) -> bool:
    """Whether a function accepts an argument of that name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # written in C, or without a signature
        return True
    return name in parameters or any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())


def parameter_groups(
    model: nn.Module,
    *,
    lr: float,
    weight_decay: float | None = None,
    value_lr_scale: float = 1.0,
    value_weight_decay: float = 0.0,
) -> list[dict[str, Any]]:
    """Two parameter groups for an optimizer: the parameters of the network, and those of the learned activations.

    Of a model with lazy activations, call `materialize` first.

    >>> net = nn.Sequential(nn.Linear(2, 4), ChebyshevLagrange(4))
    >>> [group["lr"] for group in parameter_groups(net, lr=0.1, value_lr_scale=0.5)]
    [0.1, 0.05]
    """
    activations = learned_activations(model)
    lazy = [name or type(part).__name__ for name, part in activations.items() if not part.is_materialized]
    if lazy:
        raise ValueError(
            f"model must have activations whose channels are known, got {', '.join(lazy)} without; call "
            "chebact.materialize(model, example) first"
        )
    rate, scale = check_not_negative("lr", lr), check_not_negative("value_lr_scale", value_lr_scale)
    decay = check_not_negative("value_weight_decay", value_weight_decay)
    shapes = [p for module in activations.values() for p in module.parameters()]
    learned = {id(p) for p in shapes}
    others = _trainable(p for p in model.parameters() if id(p) not in learned)
    first: dict[str, Any] = {"params": others, "lr": rate}
    if weight_decay is not None:
        first["weight_decay"] = check_not_negative("weight_decay", weight_decay)
    values = _trainable({id(p): p for p in shapes}.values())
    return [first, {"params": values, "lr": rate * scale, "weight_decay": decay}]


def _trainable(parameters: Iterable[nn.Parameter]) -> list[torch.Tensor]:
    return [p for p in parameters if is_lazy(p) or p.requires_grad]
