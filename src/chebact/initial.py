"""Shapes to start from: a learned activation is set to a function by taking its heights at the nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import torch
from torch.nn import functional

__all__ = [
    "DEFAULT_INIT",
    "INITIAL_SHAPES",
    "Function",
    "Init",
    "InitName",
    "describe_init",
    "heights_of",
    "shape_named",
]

Function = Callable[[torch.Tensor], torch.Tensor]
InitName = Literal["zeros", "relu", "leaky_relu", "gelu", "silu", "tanh", "sigmoid", "identity"]
Init = InitName | Function | Sequence[float] | Sequence[Sequence[float]] | torch.Tensor

DEFAULT_INIT: Final[InitName] = "tanh"
"""The default of `ChebyshevLagrange`, chosen by measurement: docs/guide.md. The paper's start is "zeros"."""

INITIAL_SHAPES: dict[InitName, Function] = {
    "zeros": torch.zeros_like,
    "relu": torch.relu,
    "leaky_relu": functional.leaky_relu,
    "gelu": functional.gelu,
    "silu": functional.silu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "identity": torch.clone,
}
_WANTED = f"one of {', '.join(INITIAL_SHAPES)}, a function, or heights (degree + 1,) or (channel, degree + 1)"


def shape_named(init: Any) -> Function:
    """The function that `init` is or names; heights are a function of the nodes that is known nowhere else.

    >>> shape_named("relu")(torch.tensor([-1.0, 2.0])), shape_named([0.5, 0.25])(torch.zeros(2))
    (tensor([0., 2.]), tensor([0.5000, 0.2500], dtype=torch.float64))
    """
    if isinstance(init, str):
        if init not in INITIAL_SHAPES:
            raise ValueError(f"init must be {_WANTED}, got {init!r}")
        return INITIAL_SHAPES[init]
    if callable(init):
        result: Function = init
        return result
    try:
        heights = torch.as_tensor(init).detach()
        if heights.is_floating_point() and not hasattr(init, "dtype"):  # a list would come out in torch's default type
            heights = torch.as_tensor(init, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        heights = torch.zeros(())
    if heights.dim() == 0 or heights.is_complex() or heights.dtype == torch.bool:
        raise TypeError(f"init must be {_WANTED}, got {type(init).__name__}")
    kept = heights.to(device="cpu", dtype=torch.float64, copy=True)
    return lambda nodes: kept


def describe_init(init: Any) -> str:
    """How `init` is written in the repr of a module: heights of one channel as a list, which builds it again.

    >>> describe_init("gelu"), describe_init(torch.tensor([1.0, 0.5])), describe_init(torch.zeros(8, 4))
    ("'gelu'", '[1.0, 0.5]', '<heights (8, 4)>')
    """
    if isinstance(init, str):
        return repr(init)
    if callable(init):
        return getattr(init, "__name__", "function")
    heights = torch.as_tensor(init)
    return str(heights.tolist()) if heights.dim() == 1 else f"<heights {tuple(heights.shape)}>"


def heights_of(function: Function, nodes: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """The function at the nodes (degree + 1,), for heights of `shape` (..., degree + 1), float64."""
    with torch.no_grad():
        heights = function(nodes.clone())
    if not isinstance(heights, torch.Tensor):
        raise TypeError(f"init must be a function that returns a tensor, got one that returns {type(heights).__name__}")
    if heights.is_complex() or heights.dtype == torch.bool:
        raise TypeError(f"init must give real numbers, got {heights.dtype}")
    wanted = {tuple(nodes.shape): 0, tuple(shape[-2:]): 0, tuple(shape): 0}
    if tuple(heights.shape) not in wanted:
        raise ValueError(f"init must give heights of shape {' or '.join(map(str, wanted))}, got {tuple(heights.shape)}")
    if type(heights) is torch.Tensor and not bool(torch.isfinite(heights).all()):  # a fake tensor has no numbers
        raise ValueError(f"init must be finite at the nodes, got {heights.tolist()}")
    return heights.to(device="cpu", dtype=torch.float64)
