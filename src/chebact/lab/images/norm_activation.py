"""Batch norm and a learned activation in one step that keeps one tensor for the backward pass instead of two.

ReLU keeps its output, which the convolution after it keeps anyway; a learned activation needs its input, the output of
batch norm, which nothing else keeps. But batch norm keeps its input, and its output follows from that by one
multiplication and one addition per element: so it is computed again in the backward pass, and the forward pass writes
the activation over it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn.functional import batch_norm

from chebact import kernels
from chebact.activations import ChebyshevLagrange
from chebact.autograd import evaluate
from chebact.torch_modes import OWN_TYPES, has_hooks, transforms_active
from chebact.watchers import notify, watched

__all__ = ["norm_activation"]


class _NormActivation(Function):
    """sigma(batch norm of x) in training mode, with x (image, channel, ...)."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        norm: nn.BatchNorm2d,
        weight: Tensor,
        bias: Tensor,
        heights: Tensor,
        activation: ChebyshevLagrange,
    ) -> Tensor:
        normed, mean, scale = torch.native_batch_norm(
            x, weight, bias, norm.running_mean, norm.running_var, True, norm.momentum or 0.0, norm.eps
        )
        if watched:
            notify(activation, normed)
        ctx.norm, ctx.basis = norm, activation.basis
        ctx.save_for_backward(x, weight, bias, mean, scale, heights)
        return kernels.evaluate(normed, heights, activation.basis, 1, False, inplace=True)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, weight, bias, mean, scale, heights = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradients will be differentiated again: the two steps, which can be
            normed = batch_norm(x, None, None, weight, bias, True, 0.0, ctx.norm.eps)
            result = evaluate(normed, heights, ctx.basis, 1, False)
            inputs = {0: x, 2: weight, 3: bias, 4: heights}
            needed = [index for index in inputs if ctx.needs_input_grad[index]]
            found = torch.autograd.grad(result, [inputs[index] for index in needed], grad, create_graph=True)
            gradients = dict(zip(needed, found, strict=True))
            return tuple(gradients.get(index) for index in range(6))
        factor = (weight * scale).to(scale.dtype)
        shape = (1, -1, *(1,) * (x.ndim - 2))
        offset = torch.addcmul(bias.to(scale.dtype), mean, factor, value=-1)
        normed = torch.addcmul(offset.view(shape), x, factor.view(shape)).to(x.dtype)
        for_normed, for_heights = kernels.gradients(normed, grad, heights, ctx.basis, 1, False)
        del normed
        for_x, for_weight, for_bias = torch.ops.aten.native_batch_norm_backward(
            for_normed, x, weight, None, None, mean, scale, True, ctx.norm.eps, (True, True, True)
        )
        return for_x, None, for_weight, for_bias, for_heights, None


def norm_activation(x: Tensor, norm: nn.Module, activation: nn.Module) -> Tensor:
    """activation(norm(x)), in one step if that saves memory: in training, for a `ChebyshevLagrange`.

    Everything else (evaluation, other norms and activations, modules with hooks, function transforms, torch.compile)
    takes the two steps; gradients of gradients are those of the two steps too.

    >>> x = torch.randn(8, 4, 3, 3, requires_grad=True)
    >>> norm_activation(x, nn.BatchNorm2d(4), ChebyshevLagrange(4, init="tanh")).shape
    torch.Size([8, 4, 3, 3])
    """
    if not is_fused(x, norm, activation):
        return activation(norm(x))  # type: ignore[no-any-return]
    assert isinstance(activation, ChebyshevLagrange)
    assert isinstance(norm, nn.BatchNorm2d)
    assert norm.num_batches_tracked is not None
    norm.num_batches_tracked.add_(1)
    result: Tensor = _NormActivation.apply(x, norm, norm.weight, norm.bias, activation.heights, activation)  # type: ignore[no-untyped-call]
    return result


def is_fused(x: Tensor, norm: nn.Module, activation: nn.Module) -> bool:
    """Whether one step gives what the two would give, and saves memory."""
    return (
        type(activation) is ChebyshevLagrange
        and type(norm) is nn.BatchNorm2d
        and type(x) in OWN_TYPES
        and x.dim() == 4
        and activation.is_materialized
        and type(activation.heights) in OWN_TYPES
        and activation.heights.shape == (norm.num_features, activation.degree + 1)
        and activation.heights.device == x.device
        and activation.channel_dim == 1
        and "forward" not in vars(activation)
        and norm.training
        and norm.affine
        and norm.track_running_stats
        and norm.momentum is not None
        and torch.is_grad_enabled()
        and not (has_hooks(norm) or has_hooks(activation))
        and not torch.compiler.is_compiling()
        and not transforms_active()
        and x.numel() > x.shape[1]  # torch refuses one number per channel
    )
