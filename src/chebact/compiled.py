"""The kernels as custom operators: one call in the graph of torch.compile.

Eager code does not use them: on a small tensor an operator costs more than the kernel.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from chebact import kernels
from chebact.basis import Basis, basis_of
from chebact.checks import check_interval, check_regression_nodes, check_tails, must_be
from chebact.kernels.reference import broadcast, differentiable

__all__ = ["basis_named", "evaluate", "gradients", "in_plain_torch"]


def basis_named(values: Tensor, kind: str, nodes: int, left: float, right: float) -> Basis:
    """The basis from numbers; `kind` is the kind of tails, or "chebyshev" for weighted Chebyshev polynomials."""
    degree = (values.shape[-1] if values.dim() else 0) - 1
    if degree < 1:
        raise ValueError(must_be("values", "(channel, degree + 1) with a degree of at least 1", values.shape))
    if kind == "chebyshev":
        return basis_of(Basis(degree, "none", parameters="coefficients"))
    count = check_regression_nodes(nodes, degree) if kind == "regression" else 2
    return basis_of(Basis(degree, check_tails(kind), count, check_interval((left, right))))


@torch.library.custom_op("chebact::evaluate", mutates_args=())
def evaluate(
    x: Tensor, values: Tensor, kind: str, nodes: int, left: float, right: float, channel_dim: int, replicated: bool
) -> Tensor:
    """sigma(x; values) of that kind, in the shape, type and memory format of x."""
    return kernels.evaluate(x, values, basis_named(values, kind, nodes, left, right), channel_dim, replicated)


@torch.library.custom_op("chebact::gradients", mutates_args=())
def gradients(
    x: Tensor,
    grad: Tensor,
    values: Tensor,
    kind: str,
    nodes: int,
    left: float,
    right: float,
    channel_dim: int,
    replicated: bool,
) -> tuple[Tensor, Tensor]:
    """The gradients of x and of the values."""
    return kernels.gradients(x, grad, values, basis_named(values, kind, nodes, left, right), channel_dim, replicated)


@evaluate.register_fake
def _(x: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(x)


@gradients.register_fake
def _(x: Tensor, grad: Tensor, values: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return torch.empty_like(x), values.new_empty(values.shape)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, values, *ctx.options = inputs
    ctx.save_for_backward(x, values)


def _backward(ctx: Any, grad: Tensor) -> Any:
    x, values = ctx.saved_tensors
    return *gradients(x, grad, values, *ctx.options), None, None, None, None, None, None


evaluate.register_autograd(_backward, setup_context=_keep)


def in_plain_torch(x: Tensor, values: Tensor, basis: Basis, axis: int, replicated: bool) -> Tensor:
    """The formula in plain torch operations, for torch.export, ONNX, tensor subclasses and their autograd."""
    dtype = torch.promote_types(torch.promote_types(x.dtype, values.dtype), torch.float32)
    return differentiable(x.to(dtype), broadcast(x, values.to(dtype), axis, replicated), basis).to(x.dtype)
