"""The memory layout that a kernel sees: (replica, outer, channel, inner). Tensors are copied only if necessary."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import torch

from chebact.checks import check_tensor, must_be
from chebact.torch_modes import is_zero_tensor

Ints = tuple[int, ...]


class Sizes(NamedTuple):
    """The four sizes that a kernel loops over; values are (replica, channel, degree + 1)."""

    replicas: int
    outer: int
    channels: int
    inner: int


class Layout(NamedTuple):
    """The type to compute in, the sizes, and whether x can be read without a copy."""

    dtype: torch.dtype
    sizes: Sizes
    direct: bool


class NoMemoryError(ValueError):
    """A tensor has no memory to read or write. It concerns one call: the kernel stays available."""


def resolve_lazy(tensor: torch.Tensor) -> torch.Tensor:
    """Resolve lazy negation and lazy zero tensors, so that the memory holds the numbers."""
    if tensor.is_neg():  # such as the imaginary part of a conjugate
        return tensor.resolve_neg()
    return torch.zeros_like(tensor) if is_zero_tensor(tensor) else tensor


def check_fit(
    x: torch.Tensor,
    values: torch.Tensor,
    degree: int,
    axis: int,
    replicated: bool,
    grad: torch.Tensor | None = None,
) -> None:
    """Check everything that a kernel relies on when it computes addresses.

    Users see the messages of `functional`, which checks first; this check guards all other entry points.
    """
    for tensor in (x, values) if grad is None else (x, values, grad):
        check_tensor("x, values and grad", tensor)
        if tensor.device != x.device:
            raise ValueError(must_be("values and grad", f"on the device of x, {x.device}", tensor.device))
    shape, rows = x.shape, values.shape[-2] if values.dim() > 1 else 0
    fits = values.dim() == (3 if replicated else 2) and values.shape[-1] == degree + 1
    fits = fits and not (replicated and (x.dim() == 0 or shape[0] != values.shape[0]))
    if rows != 1:
        fits = fits and (1 if replicated else 0) <= axis < x.dim() and shape[axis] == rows
    if not fits:
        rows_for_x = f"(channel, {degree + 1}) or (replica, channel, {degree + 1})"
        where = f"for x of shape {tuple(shape)} with channels at axis {axis}"
        raise ValueError(must_be("values", f"{rows_for_x} {where}", values.shape))
    if grad is not None and grad.shape != shape:
        raise ValueError(must_be("grad", f"a tensor of the shape of x, {tuple(shape)}", grad.shape))


def check_memory(name: str, tensor: torch.Tensor) -> None:
    """A ValueError if the storage of a tensor was resized to less than the tensor needs."""
    if tensor.device.type == "meta" or not tensor.numel():
        return
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    if tensor.untyped_storage().nbytes() < (tensor.storage_offset() + last + 1) * tensor.itemsize:
        raise ValueError(
            f"{name} must have memory for its shape {tuple(tensor.shape)}, got a storage of "
            f"{tensor.untyped_storage().nbytes()} bytes; do not resize the storage of a tensor in use"
        )


def prepare(x: torch.Tensor, values: torch.Tensor, channel_dim: int, replicated: bool) -> tuple[torch.Tensor, Layout]:
    """x and its layout; x is copied only if its memory has gaps or its type is not the one to compute in."""
    x = resolve_lazy(x)
    check_memory("x", x)
    layout = find_layout(x.shape, x.stride(), x.dtype, values.shape[-2], values.dtype, channel_dim, replicated)
    if layout is not None and layout.direct:
        return x, layout
    dtype = _common_type(x.dtype, values.dtype)
    dense = x.to(dtype)
    if not is_dense(dense.shape, dense.stride()):
        dense = torch.empty_like(dense).copy_(dense)  # closes the gaps and keeps the order of the axes
    rest = (dtype, values.shape[-2], values.dtype, channel_dim, replicated)
    layout = find_layout(dense.shape, dense.stride(), *rest)
    if layout is None:
        dense = dense.contiguous()
        layout = find_layout(dense.shape, dense.stride(), *rest)
    assert layout is not None
    return dense, layout


@lru_cache(maxsize=4096)
def find_layout(
    shape: Ints,
    strides: Ints,
    dtype: torch.dtype,
    rows: int,
    value_type: torch.dtype,
    channel_dim: int,
    replicated: bool,
) -> Layout | None:
    """The layout of a tensor with `rows` rows of values, or None if the memory of a replica is not contiguous."""
    common = _common_type(dtype, value_type)
    if not is_dense(shape, strides):
        return None
    if replicated and shape[0] > 1 and 0 not in shape and strides[0] * shape[0] != math.prod(shape):
        return None
    return Layout(common, _sizes(shape, strides, rows, channel_dim, replicated), dtype == common)


def is_dense(shape: Ints, strides: Ints) -> bool:
    """Whether the strides are those of a contiguous tensor with permuted axes."""
    if 0 in shape:
        return True
    expected = 1
    for size, stride in sorted(zip(shape, strides, strict=True), key=lambda axis: axis[1]):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def by_rows(x: torch.Tensor, sizes: Sizes) -> torch.Tensor:
    """The memory of dense x as a contiguous tensor (replica, outer, channel, inner)."""
    _, outer, channels, inner = sizes
    return x.as_strided(sizes, (outer * channels * inner, channels * inner, inner, 1))


def _sizes(shape: Ints, strides: Ints, rows: int, channel_dim: int, replicated: bool) -> Sizes:
    total, replicas = math.prod(shape), shape[0] if replicated else 1
    if rows == 1 or total == 0:  # all elements share one row: the channel axis has no meaning
        return Sizes(replicas, 1, rows, total // (replicas * rows) if replicas and rows else 0)
    inner = strides[channel_dim]
    return Sizes(replicas, total // (replicas * rows * inner), rows, inner)


def _common_type(dtype: torch.dtype, value_type: torch.dtype) -> torch.dtype:
    return torch.promote_types(torch.promote_types(dtype, value_type), torch.float32)
