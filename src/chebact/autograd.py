"""Derivatives of every order in every autograd mode, around an opaque kernel.

Two functions are closed under differentiation. With sigma(x; y) = sum_j y_j phi_j(x) for a basis phi, and phi' the
basis of the derivatives:

- `Evaluate` is sigma; its derivative in x is `Evaluate` in phi', in y it is `Evaluate`, which is linear in y.
- `Gradients` is (g sigma'(x; y), sum of g phi(x)), the fused backward pass; its derivatives are the same two functions
  in phi and phi'.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import torch
from torch.autograd import Function

from chebact import kernels
from chebact.basis import Basis
from chebact.kernels.reference import broadcast, plain, plain_gradients
from chebact.kernels.selection import requested_by_context
from chebact.torch_modes import OWN_TYPES, is_batched, transforms_active

__all__ = ["Evaluate", "Gradients", "Recorded", "as_recorded", "evaluate", "gradients", "record"]

Tensor = torch.Tensor
_NOTHING: AbstractContextManager[None] = nullcontext()


class Evaluate(Function):
    """sigma(x; values) for a basis; `channel_dim` counts all axes, `replicated`: the first is the replica axis."""

    @staticmethod
    def forward(x: Tensor, values: Tensor, basis: Basis, channel_dim: int, replicated: bool) -> Tensor:
        if is_batched(x) or is_batched(values):
            return plain(x, broadcast(x, values, channel_dim, replicated), basis)
        return kernels.evaluate(x, values, basis, channel_dim, replicated)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, values, *ctx.options = inputs
        ctx.requested = requested_by_context()
        ctx.save_for_backward(x, values)
        ctx.save_for_forward(x, values)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, values = ctx.saved_tensors
        if ctx.requested is None:
            return *gradients(x, grad, values, *ctx.options), None, None, None
        with as_recorded(ctx):
            return *gradients(x, grad, values, *ctx.options), None, None, None

    @staticmethod
    def jvp(ctx: Any, x_t: Tensor | None, values_t: Tensor | None, *_: Any) -> Tensor:
        x, values = ctx.saved_tensors
        basis, *options = ctx.options
        result = torch.zeros_like(x)
        if x_t is not None:
            result = result + evaluate(x, values, basis.derivative(), *options) * x_t
        if values_t is not None:
            result = result + evaluate(x, values_t, basis, *options)
        return result

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, x: Tensor, values: Tensor, basis: Basis, channel_dim: int, replicated: bool
    ) -> Any:
        if in_dims[1] is None:
            position = 1 if replicated else 0
            moved = x.movedim(in_dims[0], position)
            return evaluate(moved, values, basis, channel_dim + 1, replicated), position
        batch = info.batch_size
        x, values = (_move_to_front(t, dim, batch) for t, dim in zip((x, values), in_dims, strict=False))
        if not replicated:
            return evaluate(x, values, basis, channel_dim + 1, True), 0
        out = evaluate(x.flatten(0, 1), values.flatten(0, 1), basis, channel_dim, True)
        return out.reshape(batch, -1, *out.shape[1:]), 0


class Recorded(Evaluate):
    """`Evaluate` without function transforms: `forward` also saves what backward needs, which is faster."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, x: Tensor, values: Tensor, basis: Basis, channel_dim: int, replicated: bool, plan: Any
    ) -> Tensor:
        ctx.requested, ctx.options = requested_by_context(), (basis, channel_dim, replicated)
        ctx.save_for_backward(x, values)
        ctx.save_for_forward(x, values)
        if plan is None:
            return Evaluate.forward(x, values, basis, channel_dim, replicated)
        return kernels.evaluate(x, values, basis, channel_dim, replicated, plan=plan)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return *Evaluate.backward(ctx, grad), None

    setup_context = staticmethod(Function.setup_context)  # torch treats it as missing


class Gradients(Function):
    """(g sigma'(x; values), sum of g phi(x) per channel): the gradients of x and of the values in one pass."""

    @staticmethod
    def forward(
        x: Tensor, grad: Tensor, values: Tensor, basis: Basis, channel_dim: int, replicated: bool
    ) -> tuple[Tensor, Tensor]:
        if _wrapped(x, grad, values):
            return plain_gradients(x, grad, values, basis, channel_dim, replicated)
        return kernels.gradients(x, grad, values, basis, channel_dim, replicated)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        x, grad, values, ctx.basis, ctx.channel_dim, ctx.replicated = inputs
        ctx.requested = requested_by_context()
        ctx.save_for_backward(x, grad, values)
        ctx.save_for_forward(x, grad, values)

    @staticmethod
    def backward(ctx: Any, for_x: Tensor, for_values: Tensor) -> Any:
        x, grad, values = ctx.saved_tensors
        options = (ctx.channel_dim, ctx.replicated)
        slopes = ctx.basis.derivative()
        with as_recorded(ctx):
            of_x, of_values = gradients(x, for_x * grad, values, slopes, *options)
            of_x = of_x + grad * evaluate(x, for_values, slopes, *options)
            of_grad = for_x * evaluate(x, values, slopes, *options) + evaluate(x, for_values, ctx.basis, *options)
        return of_x, of_grad, of_values, None, None, None

    @staticmethod
    def jvp(ctx: Any, x_t: Tensor | None, grad_t: Tensor | None, values_t: Tensor | None, *_: Any) -> Any:
        x, grad, values = ctx.saved_tensors
        options = (ctx.channel_dim, ctx.replicated)
        slopes = ctx.basis.derivative()
        for_x, for_values = torch.zeros_like(x), torch.zeros_like(values)
        if grad_t is not None:
            more_x, more_values = gradients(x, grad_t, values, ctx.basis, *options)
            for_x, for_values = for_x + more_x, for_values + more_values
        if x_t is not None:
            more_x, more_values = gradients(x, grad * x_t, values, slopes, *options)
            for_x, for_values = for_x + more_x, for_values + more_values
        if values_t is not None:
            for_x = for_x + grad * evaluate(x, values_t, slopes, *options)
        return for_x, for_values

    @staticmethod
    def vmap(
        info: Any,
        in_dims: Any,
        x: Tensor,
        grad: Tensor,
        values: Tensor,
        basis: Basis,
        channel_dim: int,
        replicated: bool,
    ) -> Any:
        batch = info.batch_size
        x, grad, values = (_move_to_front(t, dim, batch) for t, dim in zip((x, grad, values), in_dims, strict=False))
        if not replicated:
            return gradients(x, grad, values, basis, channel_dim + 1, True), (0, 0)
        merged = (x.flatten(0, 1), grad.flatten(0, 1), values.flatten(0, 1))
        for_x, for_values = gradients(*merged, basis, channel_dim, True)
        return tuple(t.reshape(batch, -1, *t.shape[1:]) for t in (for_x, for_values)), (0, 0)


record: Any = super(Function, Recorded).apply
"""`Recorded` with the arguments (x, values, basis, channel_dim, replicated, a plan of a kernel or None)."""


def evaluate(x: Tensor, values: Tensor, basis: Basis, channel_dim: int, replicated: bool) -> Tensor:
    """`Evaluate`, or the faster `record` if no function transform is active.

    `Function.apply` inspects the signature of `forward` at every call, which costs as much as a small activation.
    """
    if transforms_active():
        result: Tensor = Evaluate.apply(x, values, basis, channel_dim, replicated)  # type: ignore[no-untyped-call]
    else:
        result = record(x, values, basis, channel_dim, replicated, None)
    return result


def gradients(
    x: Tensor, grad: Tensor, values: Tensor, basis: Basis, channel_dim: int, replicated: bool
) -> tuple[Tensor, Tensor]:
    """`Gradients`, or the kernel directly if its derivative cannot be needed."""
    if torch.is_grad_enabled() or transforms_active() or _wrapped(x, grad, values):
        outcome = Gradients.apply(x, grad, values, basis, channel_dim, replicated)  # type: ignore[no-untyped-call]
        return cast(tuple[Tensor, Tensor], outcome)
    return kernels.gradients(x, grad, values, basis, channel_dim, replicated)


def as_recorded(ctx: Any) -> AbstractContextManager[None]:
    """Use the kernel that was requested for the forward pass, unless the backward pass requests another.

    torch differentiates GPU tensors on other threads, where the context variable of the forward pass is not set.
    """
    if ctx.requested is None or requested_by_context() is not None:
        return _NOTHING
    return kernels.use(ctx.requested)


def _wrapped(x: Tensor, grad: Tensor, values: Tensor) -> bool:
    """Whether one of them has no memory: a tensor subclass, or a batched tensor of the older vmap of gradcheck."""
    if type(x) in OWN_TYPES and type(grad) in OWN_TYPES and type(values) in OWN_TYPES:
        return is_batched(x) or is_batched(grad) or is_batched(values)
    return True


def _move_to_front(t: Tensor, dim: int | None, batch: int) -> Tensor:
    return t.expand(batch, *t.shape) if dim is None else t.movedim(dim, 0)
