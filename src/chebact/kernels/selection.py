"""Which kernel runs: the one requested by name, or the first of `NAMES` without a reason against it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from importlib import import_module
from typing import cast

import torch

from chebact.basis import Basis
from chebact.checks import check_choice
from chebact.kernels.protocol import Kernel

__all__ = [
    "NAMES",
    "KernelUnavailableError",
    "choose",
    "exclude",
    "load_kernel",
    "requested_by_context",
    "requested_kernel",
    "use",
    "warn_once",
    "why_not",
]

NAMES = ("cpu", "gpu", "reference")  # in order of preference

_log = logging.getLogger("chebact")
_requested: ContextVar[str | None] = ContextVar("chebact_kernel", default=None)
_warned: set[str] = set()
_failed: set[tuple[str, Basis]] = set()


class KernelUnavailableError(RuntimeError):
    """A kernel was requested by name and cannot run; the message gives the reason."""


@contextmanager
def use(name: str) -> Iterator[None]:
    """Within this context, the kernel of that name runs or raises.

    >>> with use("reference"):
    ...     requested_kernel()
    'reference'
    """
    token = _requested.set(check_choice("kernels.use", name, NAMES))
    try:
        yield
    finally:
        _requested.reset(token)


requested_by_context = _requested.get
"""The kernel that `use` requests here, or None outside of it."""


def requested_kernel() -> str | None:
    """The kernel that is requested by name, by `use` or by CHEBACT_KERNEL; None if the choice is automatic."""
    name = _requested.get() or os.environ.get("CHEBACT_KERNEL") or None  # `fast_path.find_plan` checks the same
    return None if name is None else check_choice("CHEBACT_KERNEL", name, NAMES)


def choose(device: torch.device, basis: Basis) -> Kernel:
    """The kernel for tensors on `device`: the one requested by name, or the first that can run."""
    return _choose(requested_kernel(), device.type, basis)


@lru_cache(maxsize=1024)
def _choose(name: str | None, device_type: str, basis: Basis) -> Kernel:
    device = torch.device(device_type)
    if name is None:
        able = (each for each in NAMES if (each, basis) not in _failed and why_not(each, device) is None)
        return load_kernel(next(able))
    reason = why_not(name, device)
    if reason is not None:
        raise KernelUnavailableError(f"the kernel {name!r} was requested and cannot run: {reason}")
    return load_kernel(name)


def why_not(name: str, device: torch.device) -> str | None:
    """The reason why the kernel of that name cannot run for tensors on `device`, or None."""
    return load_kernel(name).why_not(device)


@cache
def load_kernel(name: str) -> Kernel:
    """Import the kernel module of that name."""
    return cast(Kernel, import_module(f"chebact.kernels.{name}"))


def exclude(kernel: Kernel, basis: Basis) -> None:
    """Stop choosing a kernel for this basis automatically, after it failed."""
    _failed.add((kernel.name, basis))
    _choose.cache_clear()


def warn_once(message: str) -> None:
    """Log a warning, unless the same was logged before."""
    if message not in _warned:
        _warned.add(message)
        _log.warning(message)
