"""The one place where a kernel is chosen: each says why it cannot run, or runs.

`CHEBACT_KERNEL=cpu` in the environment, or `with chebact.kernels.use("cpu"):`, asks for one by name, which then runs or
raises its reason. Left alone, the choice is automatic and never fails: what goes wrong falls back to the reference
and is said once through `logging`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from typing import Protocol, cast

import torch

from chebact.basis import Basis
from chebact.kernels import reference
from chebact.kernels.layout import dense, sizes_of

NAMES = ("cpu", "gpu", "reference")  # in the order of preference

_log = logging.getLogger("chebact")
_asked: ContextVar[str | None] = ContextVar("chebact_kernel", default=None)
_said: set[str] = set()


class Kernel(Protocol):
    """What a kernel module provides; tensors are (replica, outer, channel, inner) and contiguous."""

    name: str

    def why_not(self, device: torch.device, basis: Basis) -> str | None:
        """Why it cannot run for tensors on this device, or None."""

    def evaluate(self, x: torch.Tensor, values: torch.Tensor, basis: Basis, out: torch.Tensor) -> None:
        """The activation of x into `out`."""

    def gradients(
        self, x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, basis: Basis, out: torch.Tensor
    ) -> torch.Tensor:
        """The gradient of x into `out`; returns that of the values."""


class KernelUnavailableError(RuntimeError):
    """A kernel was asked for by name and cannot run; the message says why."""


@contextmanager
def use(name: str) -> Iterator[None]:
    """Within this context, the kernel of that name runs or raises.

    >>> with use("reference"):
    ...     asked_for()
    'reference'
    """
    token = _asked.set(_known(name, "kernels.use"))
    try:
        yield
    finally:
        _asked.reset(token)


def asked_for() -> str | None:
    """The kernel that was asked for by name, or None where the choice is automatic."""
    name = _asked.get() or os.environ.get("CHEBACT_KERNEL") or None
    return None if name is None else _known(name, "CHEBACT_KERNEL")


def choose(device: torch.device, basis: Basis) -> Kernel:
    """The kernel that serves tensors on `device`: the one asked for by name, or the first that can."""
    name = asked_for()
    if name is not None:
        reason = why_not(name, device, basis)
        if reason is not None:
            raise KernelUnavailableError(f"the kernel {name!r} was asked for and cannot run: {reason}")
        return _module(name)
    return next(_module(each) for each in NAMES if why_not(each, device, basis) is None)


def why_not(name: str, device: torch.device, basis: Basis) -> str | None:
    """Why the kernel of that name cannot serve tensors on `device`, or None."""
    return _module(name).why_not(device, basis)


def evaluate(
    x: torch.Tensor, values: torch.Tensor, basis: Basis, channel_dim: int, replicated: bool, *, inplace: bool = False
) -> torch.Tensor:
    """sigma(x) in the type and memory format of x; values are (channel, degree + 1) or (replica, channel, degree + 1).

    `channel_dim` counts all axes of x, `replicated` says that the first one is the replica axis.
    """
    given, rows, heights = _prepared(x, values, channel_dim, replicated)
    direct = given.dtype == x.dtype and given.data_ptr() == x.data_ptr()
    out = x if inplace and direct else torch.empty_like(given)
    if x.numel():
        kernel = choose(x.device, basis)
        out_rows = _rows(out, rows.shape)
        _run(kernel, lambda k: k.evaluate(rows, heights, basis, out_rows))
    if inplace and not direct:
        return x.copy_(out)
    return out if out.dtype == x.dtype else out.to(x.dtype)


def gradients(
    x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, basis: Basis, channel_dim: int, replicated: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of x and of the values, in their types, from that of sigma(x)."""
    given, rows, heights = _prepared(x, values, channel_dim, replicated)
    same_layout = torch.empty_like(given)
    if grad.stride() == given.stride() and grad.dtype == given.dtype and grad.shape == given.shape:
        same_layout = grad
    else:
        same_layout.copy_(grad)
    out = torch.empty_like(given)
    if not x.numel():
        return torch.empty_like(x), torch.zeros_like(values)
    kernel, shape = choose(x.device, basis), rows.shape
    grad_rows, out_rows = _rows(same_layout, shape), _rows(out, shape)
    for_values = _run(kernel, lambda k: k.gradients(rows, grad_rows, heights, basis, out_rows))
    return out.to(x.dtype), for_values.reshape(values.shape).to(values.dtype)


def _prepared(
    x: torch.Tensor, values: torch.Tensor, channel_dim: int, replicated: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """x dense in the type to compute in, the same as (replica, outer, channel, inner), and the values to match."""
    dtype = torch.promote_types(torch.promote_types(x.dtype, values.dtype), torch.float32)
    given = dense(x if x.dtype == dtype else x.to(dtype))
    shared = values.shape[-2] == 1
    sizes = sizes_of(given, channel_dim, replicated=replicated, shared=shared)
    if sizes is None:
        given = given.contiguous()
        sizes = sizes_of(given, channel_dim, replicated=replicated, shared=shared)
        assert sizes is not None
    heights = values.to(dtype).reshape(sizes.replicas, sizes.channels, values.shape[-1]).contiguous()
    return given, _rows(given, sizes), heights


def _rows(x: torch.Tensor, sizes: tuple[int, ...] | torch.Size) -> torch.Tensor:
    _, outer, channels, inner = sizes
    return x.as_strided(tuple(sizes), (outer * channels * inner, channels * inner, inner, 1))


def _run(kernel: Kernel, work):  # type: ignore[no-untyped-def]
    if kernel is reference or asked_for() is not None:
        return work(kernel)
    try:
        return work(kernel)
    except Exception as error:  # automatic choice never fails: whatever a compiler or driver raises, the reference runs
        _say_once(f"the kernel {kernel.name!r} failed ({type(error).__name__}: {error}); the reference runs instead")
        return work(cast(Kernel, reference))


def _say_once(sentence: str) -> None:
    if sentence not in _said:
        _said.add(sentence)
        _log.warning(sentence)


@cache
def _module(name: str) -> Kernel:
    return cast(Kernel, import_module(f"chebact.kernels.{name}"))


def _known(name: str, where: str) -> str:
    if name not in NAMES:
        raise ValueError(f"{where} must name one of {', '.join(NAMES)}, but {name!r} came")
    return name
