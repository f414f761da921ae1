"""Derivatives of every order and in every mode, around an opaque kernel.

Two functions close under differentiation. With sigma(x; y) = sum_j y_j phi_j(x) for a basis phi, and phi' the basis of
derivatives:

- `Evaluate` is sigma; its derivative in x is `Evaluate` in phi', in y it is `Evaluate` itself, which is linear.
- `Gradients` is (g sigma'(x; y), sum of g phi(x)), the fused backward pass; its derivatives are the same two functions
  in phi and phi' again.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import torch
from torch.autograd import Function

from chebact import kernels
from chebact.basis import Basis
from chebact.kernels.reference import broadcast, plain, plain_gradients
from chebact.torch_modes import OWN_TYPES, is_batched, transforms_active

__all__ = ["Evaluate", "Gradients", "Recorded", "evaluate", "gradients", "record"]

Tensor = torch.Tensor
_NOTHING: AbstractContextManager[None] = nullcontext()


class Evaluate(Function):
    """sigma(x; values) for a basis; `channel_dim` counts all axes, `replicated` says the first one is the replica's."""

    @staticmethod
    def forward(x: Tensor, values: Tensor, basis: Basis, channel_dim: int, replicated: bool) -> Tensor:
        if is_batched(x) or is_batched(values):
            return plain(x, broadcast(x, values, channel_dim, replicated), basis)
        return kernels.evaluate(x, values, basis, channel_dim, replicated)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, values, *ctx.place = inputs
        ctx.asked = kernels.asked_for_by_context()
        ctx.save_for_backward(x, values)
        ctx.save_for_forward(x, values)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, values = ctx.saved_tensors
        if ctx.asked is None:
            return *gradients(x, grad, values, *ctx.place), None, None, None
        with _as_recorded(ctx):
            return *gradients(x, grad, values, *ctx.place), None, None, None

    @staticmethod
    def jvp(ctx: Any, x_t: Tensor | None, values_t: Tensor | None, *_: Any) -> Tensor:
        x, values = ctx.saved_tensors
        basis, *place = ctx.place
        result = torch.zeros_like(x)
        if x_t is not None:
            result = result + evaluate(x, values, basis.derivative(), *place) * x_t
        if values_t is not None:
            result = result + evaluate(x, values_t, basis, *place)
        return result

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, x: Tensor, values: Tensor, basis: Basis, channel_dim: int, replicated: bool
    ) -> Any:
        if in_dims[1] is None:
            place = 1 if replicated else 0
            moved = x.movedim(in_dims[0], place)
            return evaluate(moved, values, basis, channel_dim + 1, replicated), place
        batch = info.batch_size
        x, values = (_in_front(t, dim, batch) for t, dim in zip((x, values), in_dims, strict=False))
        if not replicated:
            return evaluate(x, values, basis, channel_dim + 1, True), 0
        out = evaluate(x.flatten(0, 1), values.flatten(0, 1), basis, channel_dim, True)
        return out.reshape(batch, -1, *out.shape[1:]), 0


class Recorded(Evaluate):
    """`Evaluate` where no function transform is under way: forward and what it keeps in one call, so it is shorter."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, x: Tensor, values: Tensor, basis: Basis, channel_dim: int, replicated: bool, plan: Any
    ) -> Tensor:
        ctx.asked, ctx.place = kernels.asked_for_by_context(), (basis, channel_dim, replicated)
        ctx.save_for_backward(x, values)
        ctx.save_for_forward(x, values)
        if plan is None:
            return Evaluate.forward(x, values, basis, channel_dim, replicated)
        return kernels.evaluate(x, values, basis, channel_dim, replicated, plan=plan)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return *Evaluate.backward(ctx, grad), None

    setup_context = staticmethod(Function.setup_context)  # torch takes it for missing


class Gradients(Function):
    """(g sigma'(x; values), the sum of g phi(x) a channel): the gradients of x and of the values in one pass."""

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
        ctx.asked = kernels.asked_for_by_context()
        ctx.save_for_backward(x, grad, values)
        ctx.save_for_forward(x, grad, values)

    @staticmethod
    def backward(ctx: Any, for_x: Tensor, for_values: Tensor) -> Any:
        x, grad, values = ctx.saved_tensors
        place = (ctx.channel_dim, ctx.replicated)
        slopes = ctx.basis.derivative()
        with _as_recorded(ctx):
            of_x, of_values = gradients(x, for_x * grad, values, slopes, *place)
            of_x = of_x + grad * evaluate(x, for_values, slopes, *place)
            of_grad = for_x * evaluate(x, values, slopes, *place) + evaluate(x, for_values, ctx.basis, *place)
        return of_x, of_grad, of_values, None, None, None

    @staticmethod
    def jvp(ctx: Any, x_t: Tensor | None, grad_t: Tensor | None, values_t: Tensor | None, *_: Any) -> Any:
        x, grad, values = ctx.saved_tensors
        place = (ctx.channel_dim, ctx.replicated)
        slopes = ctx.basis.derivative()
        for_x, for_values = torch.zeros_like(x), torch.zeros_like(values)
        if grad_t is not None:
            more_x, more_values = gradients(x, grad_t, values, ctx.basis, *place)
            for_x, for_values = for_x + more_x, for_values + more_values
        if x_t is not None:
            more_x, more_values = gradients(x, grad * x_t, values, slopes, *place)
            for_x, for_values = for_x + more_x, for_values + more_values
        if values_t is not None:
            for_x = for_x + grad * evaluate(x, values_t, slopes, *place)
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
        x, grad, values = (_in_front(t, dim, batch) for t, dim in zip((x, grad, values), in_dims, strict=False))
        if not replicated:
            return gradients(x, grad, values, basis, channel_dim + 1, True), (0, 0)
        merged = (x.flatten(0, 1), grad.flatten(0, 1), values.flatten(0, 1))
        for_x, for_values = gradients(*merged, basis, channel_dim, True)
        return tuple(t.reshape(batch, -1, *t.shape[1:]) for t in (for_x, for_values)), (0, 0)


record: Any = super(Function, Recorded).apply
"""`Recorded` of (x, values, basis, channel_dim, replicated, a kernel's plan or None)."""


def evaluate(x: Tensor, values: Tensor, basis: Basis, channel_dim: int, replicated: bool) -> Tensor:
    """`Evaluate`, by the short way where no function transform is under way.

    `Function.apply` looks up the signature of `forward` at every call, which costs as much as a small activation.
    """
    if transforms_active():
        result: Tensor = Evaluate.apply(x, values, basis, channel_dim, replicated)  # type: ignore[no-untyped-call]
    else:
        result = record(x, values, basis, channel_dim, replicated, None)
    return result


def gradients(
    x: Tensor, grad: Tensor, values: Tensor, basis: Basis, channel_dim: int, replicated: bool
) -> tuple[Tensor, Tensor]:
    """`Gradients`, or the kernel itself where no derivative of it can be asked for."""
    if torch.is_grad_enabled() or transforms_active() or _wrapped(x, grad, values):
        outcome = Gradients.apply(x, grad, values, basis, channel_dim, replicated)  # type: ignore[no-untyped-call]
        return cast(tuple[Tensor, Tensor], outcome)
    return kernels.gradients(x, grad, values, basis, channel_dim, replicated)


def _as_recorded(ctx: Any) -> AbstractContextManager[None]:
    """The kernel that the forward pass was asked for by name, for a backward pass that no context asks for another.

    torch differentiates GPU tensors on threads of its own, where the context of the forward pass is not known.
    """
    if ctx.asked is None or kernels.asked_for_by_context() is not None:
        return _NOTHING
    return kernels.use(ctx.asked)


def _wrapped(x: Tensor, grad: Tensor, values: Tensor) -> bool:
    """Whether one of them has no memory of its own: a subclass's, or one that gradcheck's older vmap hands on."""
    if type(x) in OWN_TYPES and type(grad) in OWN_TYPES and type(values) in OWN_TYPES:
        return is_batched(x) or is_batched(grad) or is_batched(values)
    return True


def _in_front(t: Tensor, dim: int | None, batch: int) -> Tensor:
    return t.expand(batch, *t.shape) if dim is None else t.movedim(dim, 0)
