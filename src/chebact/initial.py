"""Shapes to start from: a learned activation is set to a function by taking its heights at the nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

Function = Callable[[torch.Tensor], torch.Tensor]

INITIAL_SHAPES: dict[str, Function] = {
    "zeros": torch.zeros_like,
    "relu": torch.relu,
    "leaky_relu": functional.leaky_relu,
    "gelu": functional.gelu,
    "silu": functional.silu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "identity": torch.clone,
}


def shape_named(init: Any) -> Function:
    """The function that `init` is, or names."""
    if isinstance(init, str):
        if init not in INITIAL_SHAPES:
            raise ValueError(f"init must be one of {', '.join(INITIAL_SHAPES)} or a function, but {init!r} came")
        return INITIAL_SHAPES[init]
    if not callable(init):
        raise TypeError(
            f"init must be one of {', '.join(INITIAL_SHAPES)} or a function, but {type(init).__name__} came"
        )
    result: Function = init
    return result


def heights_of(function: Function, nodes: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """The function at the nodes (degree + 1,), for values of `shape` (..., degree + 1), float64."""
    with torch.no_grad():
        heights = function(nodes.clone())
    if not isinstance(heights, torch.Tensor):
        raise TypeError(f"the function for init must return a tensor, but it returned {type(heights).__name__}")
    if heights.is_complex() or heights.dtype == torch.bool:
        raise TypeError(f"the function for init must return real numbers, but it returned {heights.dtype}")
    wanted = (tuple(nodes.shape), tuple(shape))
    if tuple(heights.shape) not in wanted:
        raise ValueError(
            f"the function for init must return the shape {wanted[0]} or {wanted[1]}, "
            f"but it returned {tuple(heights.shape)}"
        )
    if type(heights) is torch.Tensor and not bool(torch.isfinite(heights).all()):  # a fake tensor has no numbers
        raise ValueError(f"the function for init must be finite at the nodes, but it returned {heights.tolist()}")
    return heights.to(device="cpu", dtype=torch.float64)
