"""An activation and the range penalty of its input as one function of autograd.

The penalty adds its gradient in place to the one that the activation has just made, so the activation's input has one
gradient and torch has nothing to add up.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from chebact.autograd import Recorded, as_recorded, gradients
from chebact.ranges.excess import excess_penalty
from chebact.ranges.scan import Scan
from chebact.torch_modes import is_batched, transforms_active

__all__ = ["record_penalized", "total_penalty"]


class Penalized(Recorded):
    """(sigma(x; values), the penalty of x), from the scan of x, its numbers and the arguments of the definition."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, x: Tensor, recorded: tuple[Any, ...], values: Tensor, scan: Scan, numbers: array[float],
        definition: Callable[[Tensor], tuple[Any, ...]],
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        ctx.scan, ctx.numbers, ctx.definition, ctx.outside = scan, numbers, definition, numbers[0] != 0.0
        ctx.set_materialize_grads(False)
        penalty = torch.scalar_tensor(numbers[0], dtype=x.dtype)
        return Recorded.forward(ctx, x, *recorded), penalty

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, for_penalty: Tensor | None) -> Any:  # type: ignore[override]
        x, values = ctx.saved_tensors
        for_x = for_values = None
        if grad is not None:
            with as_recorded(ctx):
                for_x, for_values = gradients(x, grad, values, *ctx.options)
        if for_penalty is not None and ctx.needs_input_grad[0]:
            for_x = _add_gradient(ctx, x, for_x, for_penalty)
        return for_x, None, for_values, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise RuntimeError("the range penalty must be computed outside of forward mode")


def _add_gradient(ctx: Any, x: Tensor, for_x: Tensor | None, for_penalty: Tensor) -> Tensor:
    again = torch.is_grad_enabled()
    if again or transforms_active() or is_batched(for_penalty) or (for_x is not None and is_batched(for_x)):
        with torch.enable_grad():
            x = x if again else x.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(excess_penalty(x, *ctx.definition(x)), x, create_graph=again)
        return for_penalty * gradient if for_x is None else for_x + for_penalty * gradient
    for_x = torch.zeros_like(x) if for_x is None else for_x
    if ctx.outside:
        ctx.scan.push(x, for_x, ctx.numbers, for_penalty.item())
    return for_x


class Total(Function):
    """A factor times the sum of penalties, whose sum is known as a number."""

    @staticmethod
    def forward(ctx: Any, factor: float, known: float, dtype: torch.dtype, *penalties: Tensor) -> Tensor:
        ctx.factor, ctx.count = factor, len(penalties)
        return torch.scalar_tensor(factor * known, dtype=dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, *[grad if ctx.factor == 1.0 else ctx.factor * grad] * ctx.count


record_penalized: Any = super(Function, Penalized).apply
total_penalty: Any = super(Function, Total).apply
