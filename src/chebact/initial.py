"""Initial functions of a learned activation, which takes their values at the nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import torch
from torch.nn import functional

from chebact.checks import must_be

__all__ = [
    "DEFAULT_INIT",
    "INITIAL_SHAPES",
    "Function",
    "Init",
    "InitName",
    "describe_init",
    "evaluate_init",
    "find_function",
]

Function = Callable[[torch.Tensor], torch.Tensor]
InitName = Literal["zeros", "relu", "leaky_relu", "gelu", "silu", "tanh", "sigmoid", "identity"]
Init = InitName | Function | Sequence[float] | Sequence[Sequence[float]] | torch.Tensor

DEFAULT_INIT: Final[InitName] = "tanh"
"""The default of `ChebyshevLagrange`, chosen by measurements (docs/guide.md). The paper uses "zeros"."""

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
_ACCEPTED = f"one of {', '.join(INITIAL_SHAPES)}, a function, or heights (degree + 1,) or (channel, degree + 1)"


def find_function(init: Any) -> Function:
    """The function of `init`, which is a function, a name, or heights (a constant function of the nodes).

    >>> find_function("relu")(torch.tensor([-1.0, 2.0])), find_function([0.5, 0.25])(torch.zeros(2))
    (tensor([0., 2.]), tensor([0.5000, 0.2500], dtype=torch.float64))
    """
    if isinstance(init, str):
        if init not in INITIAL_SHAPES:
            raise ValueError(must_be("init", _ACCEPTED, init))
        return INITIAL_SHAPES[init]
    if callable(init):
        result: Function = init
        return result
    try:
        heights = torch.as_tensor(init).detach()
        if heights.is_floating_point() and not hasattr(init, "dtype"):  # a list would get torch's default type
            heights = torch.as_tensor(init, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        heights = torch.zeros(())
    if heights.dim() == 0 or heights.is_complex() or heights.dtype == torch.bool:
        raise TypeError(must_be("init", _ACCEPTED, init))
    copy = heights.to(device="cpu", dtype=torch.float64, copy=True)
    return lambda nodes: copy


def describe_init(init: Any) -> str:
    """`init` in the repr of a module: heights of one channel as a list, which can be evaluated.

    >>> describe_init("gelu"), describe_init(torch.tensor([1.0, 0.5])), describe_init(torch.zeros(8, 4))
    ("'gelu'", '[1.0, 0.5]', '<heights (8, 4)>')
    """
    if isinstance(init, str):
        return repr(init)
    if callable(init):
        return getattr(init, "__name__", "function")
    heights = torch.as_tensor(init)
    return str(heights.tolist()) if heights.dim() == 1 else f"<heights {tuple(heights.shape)}>"


def evaluate_init(function: Function, nodes: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """The function at the nodes (degree + 1,), checked for heights of `shape` (..., degree + 1), float64."""
    with torch.no_grad():
        heights = function(nodes.clone())
    if not isinstance(heights, torch.Tensor):
        raise TypeError(must_be("the result of init", "a tensor", heights))
    if heights.is_complex() or heights.dtype == torch.bool:
        raise TypeError(must_be("the result of init", "real numbers", heights.dtype))
    shapes = dict.fromkeys((tuple(nodes.shape), tuple(shape[-2:]), tuple(shape)))
    if tuple(heights.shape) not in shapes:
        raise ValueError(must_be("the result of init", f"of shape {' or '.join(map(str, shapes))}", heights.shape))
    if type(heights) is torch.Tensor and not bool(torch.isfinite(heights).all()):  # a fake tensor has no numbers
        raise ValueError(must_be("the result of init", "finite at the nodes", heights.tolist()))
    return heights.to(device="cpu", dtype=torch.float64)
