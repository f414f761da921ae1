"""The paper's activations by name, and room for a user's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from chebact.activations import ChebyshevLagrange, Cubic, PrototypeSimilarity, WeightedChebyshev
from chebact.checks import axis_of, count_of, degree_of, not_negative
from chebact.learned import LearnedActivation

Builder = Callable[..., nn.Module]


@dataclass(frozen=True)
class Activation:
    """A row of the table: `build(channels, degree=..., channel_dim=..., replicas=...)` makes the module."""

    name: str
    label: str
    build: Builder


def _without_parameters(module: Callable[[], nn.Module]) -> Builder:
    return lambda channels, *, degree, channel_dim, replicas: module()


def _lagrange(tails: str) -> Builder:
    def build(channels: int, *, degree: int, channel_dim: int, replicas: int | None) -> nn.Module:
        return ChebyshevLagrange(channels, degree=degree, tails=tails, channel_dim=channel_dim, replicas=replicas)

    return build


def _weighted(channels: int, *, degree: int, channel_dim: int, replicas: int | None) -> nn.Module:
    return WeightedChebyshev(channels, degree=degree, channel_dim=channel_dim, replicas=replicas)


def _prototypes(channels: int, *, degree: int, channel_dim: int, replicas: int | None) -> nn.Module:
    similarity = PrototypeSimilarity(channels, channel_dim=channel_dim, replicas=replicas)
    return nn.Sequential(
        similarity, _lagrange("none")(channels, degree=degree, channel_dim=channel_dim, replicas=replicas)
    )


def _tanh_first(channels: int, *, degree: int, channel_dim: int, replicas: int | None) -> nn.Module:
    polynomial = _lagrange("none")(channels, degree=degree, channel_dim=channel_dim, replicas=replicas)
    return nn.Sequential(nn.Tanh(), polynomial)


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
_rows: dict[str, Activation] = {row.name: row for row in _PAPER}

ACTIVATIONS = MappingProxyType(_rows)
"""The table by name; `register_activation` adds a row."""


def make_activation(
    name: str, channels: int, degree: int = 3, *, channel_dim: int = 1, replicas: int | None = None
) -> nn.Module:
    """The activation of that name for so many channels.

    >>> make_activation("cl-extrapolate", 32)
    ChebyshevLagrange(32, degree=3, tails='extrapolate')
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a text, but {type(name).__name__} came")
    if name not in _rows:
        raise ValueError(f"name must be one of {', '.join(_rows)}, but {name!r} came")
    sizes = {
        "channel_dim": axis_of(channel_dim),
        "replicas": None if replicas is None else count_of("replicas", replicas),
    }
    return _rows[name].build(count_of("channels", channels), degree=degree_of(degree), **sizes)


def register_activation(name: str, build: Builder, *, label: str | None = None, replace: bool = False) -> None:
    """Add a row: `build(channels, degree=..., channel_dim=..., replicas=...)` returns the module.

    >>> register_activation("softplus", lambda channels, **choices: nn.Softplus())
    >>> make_activation("softplus", 8)
    Softplus(beta=1.0, threshold=20.0)
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"name must be a text, but {name!r} came")
    if not callable(build):
        raise TypeError(f"build must be a function that returns a module, but {type(build).__name__} came")
    if name in _rows and not replace:
        raise ValueError(f"{name!r} is in the table already; pass replace=True to replace it")
    _rows[name] = Activation(name, label or name, build)


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
        raise TypeError(f"model must be a torch.nn.Module, but {type(model).__name__} came")
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
