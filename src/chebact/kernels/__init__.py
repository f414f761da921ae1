"""The dispatch: every call of a kernel goes through `evaluate` and `gradients`.

`CHEBACT_KERNEL=cpu` in the environment, or `with chebact.kernels.use("cpu"):`, requests a kernel by name, which then
runs or raises its reason. By default the choice is automatic and never fails: if a kernel fails, the reference runs
instead, and `logging` gets one warning.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import cast

import torch

from chebact.basis import Basis, IntervalError
from chebact.kernels import reference
from chebact.kernels.cpu import threads
from chebact.kernels.fast_path import can_read, clear_plans, find_plan, keep_plan
from chebact.kernels.layout import NoMemoryError, check_fit, check_memory, prepare, resolve_lazy
from chebact.kernels.protocol import Kernel, Plan
from chebact.kernels.selection import (
    NAMES,
    KernelUnavailableError,
    choose,
    exclude,
    requested_kernel,
    use,
    warn_once,
    why_not,
)

__all__ = ["NAMES", "Kernel", "KernelUnavailableError", "Plan", "choose", "requested_kernel", "use", "why_not"]


def evaluate(
    x: torch.Tensor,
    values: torch.Tensor,
    basis: Basis,
    channel_dim: int,
    replicated: bool,
    *,
    inplace: bool = False,
    plan: Plan | None = None,
) -> torch.Tensor:
    """sigma(x) in the type and memory format of x; values are (channel, degree + 1) or (replica, channel, degree + 1).

    `channel_dim` counts all axes of x; `replicated` means that the first one is the replica axis. `plan` is the result
    of `find_plan`, if it was called.
    """
    if plan is not None and not inplace:
        out = torch.empty_like(x)
        try:
            plan.evaluate(x, values, out)
        except NoMemoryError:
            pass
        except Exception:  # the slow path meets it too and handles it
            clear_plans()
        else:
            return out
    with _one_thread_after_fork():
        return _evaluate(x, values, basis, channel_dim, replicated, inplace)


def _evaluate(
    x: torch.Tensor, values: torch.Tensor, basis: Basis, channel_dim: int, replicated: bool, inplace: bool
) -> torch.Tensor:
    check_fit(x, values, basis.degree, channel_dim, replicated)
    dense, layout = prepare(x, values, channel_dim, replicated)
    out = x if inplace and dense is x else torch.empty_like(dense)
    if x.numel():
        kernel, rows = choose(x.device, basis), _rows(values, layout.dtype)
        try:
            kernel.evaluate(dense, rows, basis, layout.sizes, out)
        except Exception as error:
            _fall_back(kernel, basis, error).evaluate(dense, rows, basis, layout.sizes, out)
        else:
            plan = kernel.plan(basis, layout.sizes, layout.dtype)
            if plan is not None and dense is x and rows is values and requested_kernel() is None:
                keep_plan(x, values, basis, channel_dim, plan)
    if inplace and dense is x:
        torch.autograd.graph.increment_version(x)  # torch does not see what the kernel writes
        return x
    if inplace:
        return x.copy_(out)
    return out if dense is x else _like(x, out)


def gradients(
    x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, basis: Basis, channel_dim: int, replicated: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of x and of the values, in their types, from that of sigma(x); that of the values is contiguous."""
    cached = find_plan(x, values, basis, channel_dim)
    if cached is not None and can_read(cached, grad):
        out = torch.empty_like(x)
        try:
            return out, cached.plan.gradients(x, grad, values, out)
        except NoMemoryError:
            pass
        except Exception:
            clear_plans()
    with _one_thread_after_fork():
        return _gradients(x, grad, values, basis, channel_dim, replicated)


def _gradients(
    x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, basis: Basis, channel_dim: int, replicated: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    check_fit(x, values, basis.degree, channel_dim, replicated, grad)
    if not x.numel():
        return torch.empty_like(x), values.new_zeros(values.shape)
    dense, layout = prepare(x, values, channel_dim, replicated)
    grad = resolve_lazy(grad)
    check_memory("grad", grad)
    if grad.stride() != dense.stride() or grad.dtype != dense.dtype:
        grad = torch.empty_like(dense).copy_(grad)
    out, kernel, rows = torch.empty_like(dense), choose(x.device, basis), _rows(values, layout.dtype)
    try:
        for_values = kernel.gradients(dense, grad, rows, basis, layout.sizes, out)
    except Exception as error:
        for_values = _fall_back(kernel, basis, error).gradients(dense, grad, rows, basis, layout.sizes, out)
    return out if dense is x else _like(x, out), for_values.to(values.dtype)


def _one_thread_after_fork() -> AbstractContextManager[None]:
    """Limit torch to one thread in a forked child, which does not have the threads of its parent."""
    return threads.torch_on_one_thread() if threads.is_forked() else nullcontext()


def _rows(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The values, contiguous and in the type to compute in."""
    values = resolve_lazy(values)
    check_memory("values", values)
    return values.to(dtype).contiguous()


def _like(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """`out` in the type of x and with the strides of an elementwise torch operation on x."""
    like = torch.empty_like(x)
    return out.to(x.dtype) if like.stride() == out.stride() else like.copy_(out)


def _fall_back(kernel: Kernel, basis: Basis, error: Exception) -> Kernel:
    """The reference, from now on, instead of a kernel that failed; if it was requested by name, its error is raised."""
    if kernel is reference or requested_kernel() is not None or isinstance(error, IntervalError):
        raise error
    if not isinstance(error, MemoryError | torch.OutOfMemoryError | NoMemoryError):  # these are about one call
        exclude(kernel, basis)
        clear_plans()
    what = next(iter(str(error).splitlines()), "")
    warn_once(f"the kernel {kernel.name!r} failed ({type(error).__name__}: {what}); the reference runs instead")
    return cast(Kernel, reference)
