"""The paper's activations and the usual ones by name, and room for a user's own."""

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
from chebact.checks import Tails, axis_of, count_of, degree_of, not_negative
from chebact.learned import LearnedActivation

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
    def build(
        channels: int, *, degree: int, channel_dim: int, replicas: int | None, **options: Any
    ) -> ChebyshevLagrange:
        places: dict[str, Any] = {"channel_dim": channel_dim, "replicas": replicas}
        return ChebyshevLagrange(channels, degree=degree, tails=tails, **places, **options)

    return build


def _weighted(channels: int, *, degree: int, channel_dim: int, replicas: int | None) -> nn.Module:
    return WeightedChebyshev(channels, degree=degree, channel_dim=channel_dim, replicas=replicas)


def _prototypes(channels: int, *, degree: int, channel_dim: int, replicas: int | None, **options: Any) -> nn.Module:
    places: dict[str, Any] = {"channel_dim": channel_dim, "replicas": replicas}
    similarity = PrototypeSimilarity(channels, channel_dim=channel_dim, replicas=replicas)
    return nn.Sequential(similarity, _lagrange("none")(channels, degree=degree, **places, **options))


def _tanh_first(channels: int, *, degree: int, channel_dim: int, replicas: int | None, **options: Any) -> nn.Module:
    places: dict[str, Any] = {"channel_dim": channel_dim, "replicas": replicas}
    return nn.Sequential(nn.Tanh(), _lagrange("none")(channels, degree=degree, **places, **options))


def _prelu(channels: int, *, degree: int, channel_dim: int, replicas: int | None) -> nn.Module:
    if channel_dim != 1 or replicas is not None:
        raise ValueError(
            f"prelu must have its channels at axis 1 and no replicas, as torch's own, got channel_dim={channel_dim} "
            f"and replicas={replicas}; a ChebyshevLagrange of degree 1 has both"
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
    """The activation of that name for so many channels; `options` are those of its module (`init`, `interval`, ...).

    >>> make_activation("cl-extrapolate", 32, init="relu")
    ChebyshevLagrange(32, degree=3, tails='extrapolate', init='relu')
    """
    row = _row(name)
    _check_options(row, options)
    sizes = {
        "channel_dim": axis_of(channel_dim),
        "replicas": None if replicas is None else count_of("replicas", replicas),
    }
    module = row.build(count_of("channels", channels), degree=degree_of(degree), **sizes, **options)
    if not isinstance(module, nn.Module):
        raise TypeError(f"the builder of {name!r} must return a torch.nn.Module, got {type(module).__name__}")
    for part in module.modules():
        if isinstance(part, LearnedActivation) and part.basis.degree != degree:
            raise ValueError(
                f"the builder of {name!r} must pass its degree on, got degree {part.basis.degree} where {degree} was "
                "asked for; write build(channels, *, degree, channel_dim, replicas) and give them to the module"
            )
    return module


def build_activation(
    activation: str | Factory, channels: int, *, degree: int | None = None, replicas: int | None = None
) -> nn.Module:
    """An activation from a name of the table, or from a factory, as networks take it.

    A factory is called with the number of channels, and with `degree` and `replicas` where they are given and it takes
    them; a class such as `nn.GELU`, which has no channels, without.

    >>> build_activation(partial(ChebyshevLagrange, init="relu"), 8)
    ChebyshevLagrange(8, degree=3, tails='extrapolate', init='relu')
    >>> build_activation(nn.GELU, 8)
    GELU(approximate='none')
    """
    given = {name: value for name, value in (("degree", degree), ("replicas", replicas)) if value is not None}
    if isinstance(activation, str):
        return make_activation(activation, channels, **given)
    if not callable(activation):
        raise TypeError(
            f"activation must be one of {', '.join(_rows)}, or a function of the number of channels, got "
            f"{type(activation).__name__}"
        )
    taken = {name: value for name, value in given.items() if takes(activation, name)}
    if degree is not None and "degree" not in taken:
        raise ValueError("degree must not be given beside a factory that takes none; give it to the factory")
    without = isinstance(activation, type) and not takes(activation, "channels")
    module = activation(**taken) if without else activation(channels, **taken)
    if not isinstance(module, nn.Module):
        raise TypeError(f"activation must return a torch.nn.Module, got {type(module).__name__}")
    return module


def paper_activation(name: str) -> Factory:
    """The row of that name as the paper has it: learned heights start at zero.

    >>> paper_activation("cl-extrapolate")(4).heights.any()
    tensor(False)
    """
    row = _row(name)
    return partial(make_activation, name, init="zeros") if takes(row.build, "init") else partial(make_activation, name)


def register_activation(name: str, build: Factory, *, label: str | None = None, replace: bool = False) -> None:
    """Add a row: `build(channels, degree=..., channel_dim=..., replicas=...)` returns the module.

    >>> register_activation("softplus", lambda channels, **choices: nn.Softplus())
    >>> make_activation("softplus", 8)
    Softplus(beta=1.0, threshold=20.0)
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"name must be a text, got {name!r}")
    if not callable(build):
        raise TypeError(f"build must be a function that returns a module, got {type(build).__name__}")
    if name in _rows and not replace:
        raise ValueError(f"name must be new, got {name!r}, which is in the table; pass replace=True to replace it")
    missing = [each for each in ("degree", "channel_dim", "replicas") if not takes(build, each)]
    if missing:
        raise TypeError(
            f"build must take degree, channel_dim and replicas by name, got a function without {', '.join(missing)}; "
            "write build(channels, *, degree, channel_dim, replicas), or **choices for what it has no use for"
        )
    _rows[name] = Activation(name, label or name, build)


def _row(name: Any) -> Activation:
    if not isinstance(name, str):
        raise TypeError(f"name must be a text, got {type(name).__name__}")
    if name not in _rows:
        raise ValueError(f"name must be one of {', '.join(_rows)}, got {name!r}")
    return _rows[name]


def _check_options(row: Activation, options: Mapping[str, Any]) -> None:
    strange = [option for option in options if not takes(row.build, option)]
    if strange:
        raise TypeError(f"{row.name} takes no {', '.join(strange)}; only learned activations have such options")


def takes(function: Callable[..., Any], name: str) -> bool:
    """Whether a function takes an argument of that name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # written in C, or no signature at all
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
    """Two groups for an optimizer: the network's own parameters, and the learned shapes with a rate of their own.

    >>> net = nn.Sequential(nn.Linear(2, 4), ChebyshevLagrange(4))
    >>> [group["lr"] for group in parameter_groups(net, lr=0.1, value_lr_scale=0.5)]
    [0.1, 0.05]
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    rate, scale = not_negative("lr", lr), not_negative("value_lr_scale", value_lr_scale)
    decay = not_negative("value_weight_decay", value_weight_decay)
    shapes = [p for module in model.modules() if isinstance(module, LearnedActivation) for p in module.parameters()]
    learned = {id(p) for p in shapes}
    if not learned:
        raise ValueError(
            "model has no learned activation (ChebyshevLagrange or WeightedChebyshev), so there is nothing to group"
        )
    others = _trainable(p for p in model.parameters() if id(p) not in learned)
    first: dict[str, Any] = {"params": others, "lr": rate}
    if weight_decay is not None:
        first["weight_decay"] = not_negative("weight_decay", weight_decay)
    values = _trainable({id(p): p for p in shapes}.values())
    return [first, {"params": values, "lr": rate * scale, "weight_decay": decay}]


def _trainable(parameters: Iterable[nn.Parameter]) -> list[torch.Tensor]:
    return [p for p in parameters if is_lazy(p) or p.requires_grad]
