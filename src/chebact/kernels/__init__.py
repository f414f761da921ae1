"""The one place where a kernel is chosen: each says why it cannot run, or runs.

`CHEBACT_KERNEL=cpu` in the environment, or `with chebact.kernels.use("cpu"):`, asks for one by name, which then runs or
raises its reason. Left alone, the choice is automatic and never fails: what goes wrong falls back to the reference
and is said once through `logging`.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, NamedTuple, Protocol, cast

import torch

from chebact.basis import Basis, IntervalError, basis_of
from chebact.kernels import reference
from chebact.kernels.cpu import threads
from chebact.kernels.layout import NoMemoryError, Sizes, check_fit, check_memory, literal, prepared

__all__ = ["NAMES", "Kernel", "KernelUnavailableError", "Plan", "asked_for", "choose", "use", "warm", "why_not"]

NAMES = ("cpu", "gpu", "reference")  # in the order of preference

_USUAL_TYPES = (torch.float32,)
_log = logging.getLogger("chebact")
_asked: ContextVar[str | None] = ContextVar("chebact_kernel", default=None)
_said: set[str] = set()
_failed: set[tuple[str, Basis]] = set()
_environment: Mapping[Any, Any] = getattr(os.environ, "_data", os.environ)  # the dict itself: asked at every call
_VARIABLE = os.environ.encodekey("CHEBACT_KERNEL") if _environment is not os.environ else "CHEBACT_KERNEL"


class Kernel(Protocol):
    """What a kernel module provides.

    x, grad and out lie alike in memory, as a contiguous (replica, outer, channel, inner) of these `sizes`; values are
    contiguous rows of degree + 1 numbers, one a replica and channel.
    """

    name: str

    def why_not(self, device: torch.device) -> str | None:
        """Why it cannot run for tensors on this device, or None."""

    def evaluate(self, x: torch.Tensor, values: torch.Tensor, basis: Basis, sizes: Sizes, out: torch.Tensor) -> None:
        """The activation of x into `out`."""

    def gradients(
        self,
        x: torch.Tensor,
        grad: torch.Tensor,
        values: torch.Tensor,
        basis: Basis,
        sizes: Sizes,
        out: torch.Tensor,
    ) -> torch.Tensor:
        """The gradient of x into `out`; returns that of the values."""

    def plan(self, basis: Basis, sizes: Sizes, dtype: torch.dtype) -> Plan | None:
        """The same call with all decisions made, kept for later tensors that are alike; None where there is none."""


class Plan(Protocol):
    """A kernel's call with all decisions made, for tensors that it can read as they lie in memory."""

    def evaluate(self, x: torch.Tensor, values: torch.Tensor, out: torch.Tensor) -> None:
        """The activation of x into `out`."""

    def gradients(self, x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """The gradient of x into `out`; returns that of the values."""


class Kept(NamedTuple):
    """A plan, the bytes of x and values that it reads, and how x lies in memory."""

    plan: Plan
    size: int
    value_size: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype


MOST_PLANS = 4096
_plans: dict[tuple[Any, ...], Kept] = {}
"""Cache of resolved calls, by all that they depend on.

After a large tensor the interpreter is cold in the processor's caches, and checks and dispatch cost as much as the
kernel; a call with known shapes, strides and types skips them.
"""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_plans.clear)


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


asked_for_by_context = _asked.get
"""The kernel that `use` asks for here, or None outside of it."""


def asked_for() -> str | None:
    """The kernel that was asked for by name, or None where the choice is automatic."""
    name = _asked.get() or os.environ.get("CHEBACT_KERNEL") or None  # `find_plan` asks the same
    return None if name is None else _known(name, "CHEBACT_KERNEL")


def choose(device: torch.device, basis: Basis) -> Kernel:
    """The kernel that serves tensors on `device`: the one asked for by name, or the first that can."""
    return _chosen(asked_for(), device.type, basis)


@lru_cache(maxsize=1024)
def _chosen(name: str | None, device_type: str, basis: Basis) -> Kernel:
    device = torch.device(device_type)
    if name is None:
        able = (each for each in NAMES if (each, basis) not in _failed and why_not(each, device) is None)
        return _module(next(able))
    reason = why_not(name, device)
    if reason is not None:
        raise KernelUnavailableError(f"the kernel {name!r} was asked for and cannot run: {reason}")
    return _module(name)


def why_not(name: str, device: torch.device) -> str | None:
    """Why the kernel of that name cannot serve tensors on `device`, or None."""
    return _module(name).why_not(device)


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

    `channel_dim` counts all axes of x, `replicated` says that the first one is the replica axis. `plan` is what
    `find_plan` has just found, if it was asked.
    """
    if plan is not None and not inplace:
        out = torch.empty_like(x)
        try:
            plan.evaluate(x, values, out)
        except NoMemoryError:
            pass
        except Exception:  # the long way meets it too, and knows what to do then
            _plans.clear()
        else:
            return out
    if threads.is_forked():
        with threads.torch_on_one_thread():
            return _evaluate(x, values, basis, channel_dim, replicated, inplace)
    return _evaluate(x, values, basis, channel_dim, replicated, inplace)


def _evaluate(
    x: torch.Tensor, values: torch.Tensor, basis: Basis, channel_dim: int, replicated: bool, inplace: bool
) -> torch.Tensor:
    check_fit(x, values, basis.degree, channel_dim, replicated)
    given, layout = prepared(x, values, channel_dim, replicated)
    out = x if inplace and given is x else torch.empty_like(given)
    if x.numel():
        kernel = choose(x.device, basis)
        heights = _heights(values, layout.dtype)
        try:
            kernel.evaluate(given, heights, basis, layout.sizes, out)
        except Exception as error:
            _fall_back(kernel, basis, error).evaluate(given, heights, basis, layout.sizes, out)
        else:
            plan = kernel.plan(basis, layout.sizes, layout.dtype)
            if plan is not None and given is x and heights is values and asked_for() is None:
                kept = Kept(plan, x.nbytes, values.nbytes, x.shape, x.stride(), x.dtype)
                _keep_plan(_kind(x, values, basis, channel_dim), kept)
    if inplace and given is x:
        torch.autograd.graph.increment_version(x)  # the kernel wrote behind torch's back
        return x
    if inplace:
        return x.copy_(out)
    return out if given is x else _like(x, out)


def gradients(
    x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, basis: Basis, channel_dim: int, replicated: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of x and of the values, in their types, from that of sigma(x); that of the values is contiguous."""
    kept = find_plan(x, values, basis, channel_dim)
    if kept is not None and _can_read(kept, grad):
        out = torch.empty_like(x)
        try:
            return out, kept.plan.gradients(x, grad, values, out)
        except NoMemoryError:
            pass
        except Exception:
            _plans.clear()
    if threads.is_forked():
        with threads.torch_on_one_thread():
            return _gradients(x, grad, values, basis, channel_dim, replicated)
    return _gradients(x, grad, values, basis, channel_dim, replicated)


def _gradients(
    x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, basis: Basis, channel_dim: int, replicated: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    check_fit(x, values, basis.degree, channel_dim, replicated, grad)
    if not x.numel():
        return torch.empty_like(x), values.new_zeros(values.shape)
    given, layout = prepared(x, values, channel_dim, replicated)
    grad = literal(grad)
    check_memory("grad", grad)
    if grad.stride() != given.stride() or grad.dtype != given.dtype:
        grad = torch.empty_like(given).copy_(grad)
    out, kernel = torch.empty_like(given), choose(x.device, basis)
    heights = _heights(values, layout.dtype)
    try:
        for_values = kernel.gradients(given, grad, heights, basis, layout.sizes, out)
    except Exception as error:
        for_values = _fall_back(kernel, basis, error).gradients(given, grad, heights, basis, layout.sizes, out)
    if given is not x:
        out = _like(x, out)
    if for_values.dtype != values.dtype:
        for_values = for_values.to(values.dtype)
    return out, for_values


def find_plan(x: torch.Tensor, values: torch.Tensor, basis: Basis, channel_dim: int) -> Kept | None:
    """The plan of an earlier call that was alike in all that matters, where no kernel is asked for by name.

    None says nothing; a plan says that x and values fit. `channel_dim` counts all axes of x. Tensors of torch's own
    types are expected, without a function transform.
    """
    if not ((x.is_cpu and values.is_cpu) or x.device == values.device) or _asked.get() or _environment.get(_VARIABLE):
        return None
    if x.is_neg() or values.is_neg():
        return None
    try:
        kept = _plans.get(_kind(x, values, basis, channel_dim))
    except RuntimeError:  # sparse and nested tensors have no strides
        return None
    if kept is None:
        return None
    # the storage can be resized behind a tensor's back: so it is asked every time
    if x.untyped_storage().nbytes() < kept.size + x.storage_offset() * x.itemsize:
        return None
    if values.untyped_storage().nbytes() < kept.value_size + values.storage_offset() * values.itemsize:
        return None
    return kept


def warm(
    degrees: Iterable[int] = (3, 5),
    tails: Iterable[str] = ("extrapolate",),
    dtypes: Iterable[torch.dtype] = _USUAL_TYPES,
) -> float:
    """Have the CPU kernel ready: compile what is not on disk yet. Returns the seconds that it took.

    A kind of call is compiled when it first comes, for some 10 s, and then kept on disk; a container can do this while
    it is built. All degrees up to 3 are one kind, all above are one; every kind of tails and every type is one.
    """
    reason = why_not("cpu", torch.device("cpu"))
    if reason is not None:
        raise KernelUnavailableError(f"the kernel 'cpu' cannot be made ready: {reason}")
    start = time.perf_counter()
    cast(Any, _module("cpu")).warm([basis_of(Basis(degree, kind)) for degree in degrees for kind in tails], dtypes)
    return time.perf_counter() - start


def _can_read(kept: Kept, grad: torch.Tensor) -> bool:
    """Whether a plan that was made for x can read `grad` too."""
    try:
        alike = grad.stride() == kept.strides and grad.shape == kept.shape
    except RuntimeError:  # sparse and nested tensors have no strides
        return False
    if not alike or grad.dtype != kept.dtype or not grad.is_cpu or grad.is_neg():
        return False
    return grad.untyped_storage().nbytes() >= kept.size + grad.storage_offset() * grad.itemsize


def _keep_plan(kind: tuple[Any, ...], plan: Kept) -> None:
    if threads.is_forked():
        return
    if len(_plans) >= MOST_PLANS:
        _plans.clear()
    _plans[kind] = plan


def _kind(x: torch.Tensor, values: torch.Tensor, basis: Basis, channel_dim: int) -> tuple[Any, ...]:
    """All that a plan depends on; three axes of values say that there are replicas."""
    place = x.is_cpu or x.device
    return x.shape, x.stride(), x.dtype, values.shape, values.stride(), values.dtype, basis.key, channel_dim, place


def _heights(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The values, contiguous and in the type to compute in."""
    values = literal(values)
    check_memory("values", values)
    return values.to(dtype).contiguous()


def _like(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """`out` in the type of x and with the strides that torch's own operations give to a result of x."""
    like = torch.empty_like(x)
    return out.to(x.dtype) if like.stride() == out.stride() else like.copy_(out)


def _fall_back(kernel: Kernel, basis: Basis, error: Exception) -> Kernel:
    """The reference, from now on, in place of a kernel that failed; asked for by name, its error is raised."""
    if kernel is reference or asked_for() is not None or isinstance(error, IntervalError):
        raise error
    if not isinstance(error, MemoryError | torch.OutOfMemoryError | NoMemoryError):  # these may pass
        _failed.add((kernel.name, basis))
        _chosen.cache_clear()
        _plans.clear()
    what = next(iter(str(error).splitlines()), "")
    _say_once(f"the kernel {kernel.name!r} failed ({type(error).__name__}: {what}); the reference runs instead")
    return cast(Kernel, reference)


def _say_once(sentence: str) -> None:
    if sentence not in _said:
        _said.add(sentence)
        _log.warning(sentence)


@cache
def _module(name: str) -> Kernel:
    return cast(Kernel, import_module(f"chebact.kernels.{name}"))


def _known(name: str, where: str) -> str:
    if name not in NAMES:
        raise ValueError(f"{where} must name one of {', '.join(NAMES)}, got {name!r}")
    return name
