"""Cache of resolved calls: a call with known shapes, strides and types skips checks and dispatch.

After a large tensor the interpreter is cold in the processor caches, and then checks and dispatch cost as much as the
kernel (docs/decisions/0013).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from chebact.basis import Basis
from chebact.kernels.cpu.threads import is_forked
from chebact.kernels.protocol import Plan
from chebact.kernels.selection import requested_by_context

__all__ = ["MAX_PLANS", "CachedPlan", "can_read", "clear_plans", "find_plan", "keep_plan"]

MAX_PLANS = 4096
_environment: Mapping[Any, Any] = getattr(os.environ, "_data", os.environ)  # the dict itself: it is read at every call
_VARIABLE = os.environ.encodekey("CHEBACT_KERNEL") if _environment is not os.environ else "CHEBACT_KERNEL"


class CachedPlan(NamedTuple):
    """A plan, the bytes of x and values that it reads, and the memory layout of x."""

    plan: Plan
    size: int
    value_size: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype


_plans: dict[tuple[Any, ...], CachedPlan] = {}
clear_plans = _plans.clear
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=clear_plans)


def find_plan(x: torch.Tensor, values: torch.Tensor, basis: Basis, channel_dim: int) -> CachedPlan | None:
    """The plan of an earlier call with the same key, unless a kernel is requested by name.

    A plan means that x and values fit; None means nothing. `channel_dim` counts all axes of x. Plain tensors are
    expected, without a function transform.
    """
    if not ((x.is_cpu and values.is_cpu) or x.device == values.device):
        return None
    if requested_by_context() or _environment.get(_VARIABLE) or x.is_neg() or values.is_neg():
        return None
    try:
        cached = _plans.get(_key(x, values, basis, channel_dim))
    except RuntimeError:  # sparse and nested tensors have no strides
        return None
    if cached is None or not _has_memory(x, cached.size) or not _has_memory(values, cached.value_size):
        return None
    return cached


def keep_plan(x: torch.Tensor, values: torch.Tensor, basis: Basis, channel_dim: int, plan: Plan) -> None:
    """Cache the plan of a call that has succeeded."""
    if is_forked():
        return
    if len(_plans) >= MAX_PLANS:
        _plans.clear()
    cached = CachedPlan(plan, x.nbytes, values.nbytes, x.shape, x.stride(), x.dtype)
    _plans[_key(x, values, basis, channel_dim)] = cached


def can_read(cached: CachedPlan, grad: torch.Tensor) -> bool:
    """Whether a plan made for x can read `grad` too."""
    try:
        same = grad.stride() == cached.strides and grad.shape == cached.shape and grad.dtype == cached.dtype
    except RuntimeError:  # sparse and nested tensors have no strides
        return False
    return same and grad.is_cpu and not grad.is_neg() and _has_memory(grad, cached.size)


def _has_memory(tensor: torch.Tensor, size: int) -> bool:
    """Whether the storage holds `size` bytes of the tensor: it can be resized independently of the tensor."""
    return tensor.untyped_storage().nbytes() >= size + tensor.storage_offset() * tensor.itemsize


def _key(x: torch.Tensor, values: torch.Tensor, basis: Basis, channel_dim: int) -> tuple[Any, ...]:
    """Everything that a plan depends on; values with three axes have replicas."""
    device = x.is_cpu or x.device
    return x.shape, x.stride(), x.dtype, values.shape, values.stride(), values.dtype, basis.key, channel_dim, device
