"""The activations that surgery knows, as modules, functions and methods, and the channels of the layers beside them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from chebact.initial import Function

__all__ = [
    "CONVOLUTIONS",
    "DEFAULT_KINDS",
    "FUNCTIONS",
    "KINDS",
    "METHODS",
    "PASSING",
    "Kind",
    "Layout",
    "consumed_by",
    "function_of_call",
    "function_of_module",
    "functions_of",
    "is_activation",
    "is_pointwise",
    "kind_of",
    "produced_by",
]


class Kind(NamedTuple):
    """An activation: torch's module, the functions that do the same, and classes of others that do, by name."""

    module: type[nn.Module]
    functions: tuple[Callable[..., Any], ...]
    others: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of torch's module."""
        return self.module.__name__


_F, _T = functional, torch.Tensor
_GELUS = (
    *("AccurateGELUActivation", "BloomGelu", "ClippedGELUActivation", "FastGELUActivation", "GELU", "GELUActivation"),
    *("GELUTanh", "NewGELUActivation", "PytorchGELUTanh", "QuickGELU", "QuickGELUActivation"),
)
KINDS: tuple[Kind, ...] = (
    Kind(nn.ReLU, (_F.relu, torch.relu, _T.relu, _F.relu_, torch.relu_, _T.relu_)),
    Kind(nn.ReLU6, (_F.relu6,)),
    Kind(nn.LeakyReLU, (_F.leaky_relu, _F.leaky_relu_)),
    Kind(nn.PReLU, (_F.prelu, torch.prelu, _T.prelu)),
    Kind(nn.ELU, (_F.elu, _F.elu_)),
    Kind(nn.CELU, (_F.celu, torch.celu, _F.celu_)),
    Kind(nn.SELU, (_F.selu, torch.selu, _F.selu_)),
    Kind(nn.GELU, (_F.gelu,), _GELUS),
    Kind(nn.SiLU, (_F.silu,), ("SiLUActivation", "Swish")),
    Kind(nn.Mish, (_F.mish,), ("MishActivation", "Mish")),
    Kind(nn.Hardswish, (_F.hardswish,), ("HardSwish",)),
    Kind(nn.Softplus, (_F.softplus,)),
    Kind(nn.Hardtanh, (_F.hardtanh, _F.hardtanh_)),
    Kind(nn.Tanh, (torch.tanh, _T.tanh, _F.tanh, torch.tanh_, _T.tanh_), ("Tanh",)),
    Kind(nn.Sigmoid, (torch.sigmoid, _T.sigmoid, _F.sigmoid, torch.sigmoid_, _T.sigmoid_), ("Sigmoid",)),
)
FUNCTIONS: dict[Any, Kind] = {function: kind for kind in KINDS for function in kind.functions}
METHODS: dict[str, Kind] = {
    getattr(function, "__name__", ""): kind
    for function, kind in FUNCTIONS.items()
    if getattr(_T, getattr(function, "__name__", ""), None) is function
}
DEFAULT_KINDS: tuple[type[nn.Module], ...] = tuple(
    kind.module for kind in KINDS if kind.module not in (nn.Tanh, nn.Sigmoid, nn.Softplus, nn.Hardtanh)
)
"""All but those that people use for their bounds, as gates and outputs: tanh, sigmoid, softplus, hardtanh."""


def kind_of(module: nn.Module, kinds: tuple[type[nn.Module], ...]) -> str | None:
    """The name of the kind that a module is, or None where it is none of `kinds`.

    >>> kind_of(nn.ReLU6(), DEFAULT_KINDS), kind_of(nn.Linear(1, 1), DEFAULT_KINDS)
    ('ReLU6', None)
    """
    if isinstance(module, kinds):
        return type(module).__name__
    if next(module.children(), None) is not None or next(module.parameters(), None) is not None:
        return None
    rows = (kind for kind in KINDS if kind.module in kinds)
    return next((kind.name for kind in rows if type(module).__name__ in kind.others), None)


def functions_of(kinds: tuple[type[nn.Module], ...]) -> set[Any]:
    """The functions that do the same as some kinds."""
    return {function for function, kind in FUNCTIONS.items() if kind.module in kinds}


def is_activation(callee: Any, kinds: tuple[type[nn.Module], ...], functional: bool) -> bool:
    """Whether a module, or with `functional` a function, is one of `kinds`."""
    if isinstance(callee, nn.Module):
        return kind_of(callee, kinds) is not None
    try:
        return functional and callee in FUNCTIONS and FUNCTIONS[callee].module in kinds
    except TypeError:  # not hashable
        return False


def function_of_module(module: nn.Module) -> Function:
    """The function that a module computes, its hooks aside, for points (degree + 1,).

    It gives one value each, or (channel, degree + 1).
    """
    numbers = [p for p in module.parameters() if p.numel() > 1]

    def function(points: torch.Tensor) -> torch.Tensor:
        like = numbers[0] if numbers else next(module.parameters(), points)
        x = points.to(like)
        if not numbers:
            result: torch.Tensor = module.forward(x.clone())
        else:  # a slope per channel: the points stand along the batch axis
            result = module.forward(x.unsqueeze(1).repeat(1, numbers[0].numel())).T
        return result.to(points)

    return function


def is_pointwise(function: Function, module: Any = None) -> bool:
    """Whether a function gives each point a number that depends on that point alone, or on its channel too; `module` is
    the one that computes it.

    >>> is_pointwise(torch.relu), is_pointwise(lambda x: x.softmax(-1))
    (True, False)
    """
    points = torch.linspace(-2, 2, 7, dtype=torch.float64, device="cpu")
    order = torch.tensor([3, 0, 6, 1, 5], device="cpu")
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            every, some = function(points), function(points[order])
            by_channel = every.dim() < 2 or _is_alone(every, points, module)
        same = every.shape[-1:] == points.shape and torch.allclose(every[..., order], some, rtol=1e-9, equal_nan=True)
        return same and by_channel
    except (RuntimeError, ValueError, TypeError, IndexError):  # of points it makes nothing
        return False


def _is_alone(every: torch.Tensor, points: torch.Tensor, module: nn.Module) -> bool:
    """Whether each channel stays as it is, `every`, where the others are given other points."""
    like = next(module.parameters())
    mixed = torch.stack([points.roll(k) for k in range(len(every))], 1)
    got = module.forward(mixed.to(like)).to(points)
    return torch.allclose(got, torch.stack([row.roll(k) for k, row in enumerate(every)], 1), rtol=1e-5, atol=1e-6)


def function_of_call(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Function:
    """The function of its first argument that a call computes, with all else that it was given."""
    return partial(_call, call, args, {name: value for name, value in kwargs.items() if name not in ("input", "out")})


def _call(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], x: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = call(x.clone(), *args, **kwargs)
    return result


class Layout(NamedTuple):
    """So many channels at that axis, and what says so."""

    channels: int
    channel_dim: int
    evidence: str


CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
NORMS = (
    *(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm),
    *(nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d),
)
PASSING = (
    *(nn.Identity, nn.Upsample, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d),
    *(nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d),
)
"""Layers that leave the channels as they are."""


def produced_by(layer: nn.Module) -> Layout | None:
    """The channels of what a layer gives, where its own numbers tell; None where they do not.

    >>> produced_by(nn.Conv2d(3, 16, 3)), produced_by(nn.ReLU())
    (Layout(channels=16, channel_dim=1, evidence='Conv2d'), None)
    """
    if isinstance(layer, nn.Sequential):
        for part in reversed(layer):
            found = produced_by(part)
            if found is not None or not isinstance(part, PASSING):
                return found
        return None
    return _layout(layer, "out")


def consumed_by(layer: nn.Module) -> Layout | None:
    """The channels of what a layer takes.

    >>> consumed_by(nn.Linear(8, 32))
    Layout(channels=8, channel_dim=-1, evidence='Linear')
    """
    if isinstance(layer, nn.Sequential):
        return next((consumed_by(part) for part in layer if not isinstance(part, PASSING)), None)
    return _layout(layer, "in")


def _layout(layer: nn.Module, side: str) -> Layout | None:
    name = type(layer).__name__
    if isinstance(layer, nn.Linear):
        return Layout(getattr(layer, f"{side}_features"), -1, name)
    if isinstance(layer, CONVOLUTIONS):
        return Layout(getattr(layer, f"{side}_channels"), 1, name)
    if isinstance(layer, NORMS):
        return Layout(layer.num_features, 1, name)
    if isinstance(layer, nn.GroupNorm):
        return Layout(layer.num_channels, 1, name)
    if isinstance(layer, nn.RNNBase) and side == "out":
        return Layout((layer.proj_size or layer.hidden_size) * (1 + layer.bidirectional), -1, name)
    if isinstance(layer, nn.MultiheadAttention) and side == "out":
        return Layout(layer.embed_dim, -1, name)
    if isinstance(layer, (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)):
        return Layout(layer.linear2.out_features, -1, name)
    if type(layer) is nn.LayerNorm and len(layer.normalized_shape) == 1:  # subclasses normalise other axes
        return Layout(layer.normalized_shape[0], -1, name)
    if isinstance(layer, nn.Embedding) and side == "out":
        return Layout(layer.embedding_dim, -1, name)
    return None
