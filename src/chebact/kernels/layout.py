"""How a kernel sees a tensor: (replica, outer, channel, inner) in the order of memory, copied only where it must."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import torch

from chebact.checks import check_tensor
from chebact.torch_modes import is_zero_tensor

Ints = tuple[int, ...]


class Sizes(NamedTuple):
    """The four sizes that a kernel loops over; values are (replica, channel, degree + 1)."""

    replicas: int
    outer: int
    channels: int
    inner: int


class Layout(NamedTuple):
    """The type to compute in, the sizes, and whether x can be read as it lies there."""

    dtype: torch.dtype
    sizes: Sizes
    direct: bool


class NoMemoryError(ValueError):
    """A tensor has no memory of its own to read or to write: a kernel cannot serve it, but can serve the next one."""


def literal(tensor: torch.Tensor) -> torch.Tensor:
    """The same numbers in memory that holds them: not their negatives, and not nothing, torch's short form of zeros."""
    if tensor.is_neg():  # as the imaginary part of a conjugate is
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
    """All that a kernel relies on before it computes addresses; a ValueError says what does not fit.

    Users see the checks of `functional`, which come first; this one guards every other way in.
    """
    for tensor in (x, values) if grad is None else (x, values, grad):
        check_tensor("x, values and grad", tensor)
        if tensor.device != x.device:
            raise ValueError(f"x, values and grad must be on one device, got {x.device} and {tensor.device}")
    shape, rows = x.shape, values.shape[-2] if values.dim() > 1 else 0
    fits = values.dim() == (3 if replicated else 2) and values.shape[-1] == degree + 1
    fits = fits and not (replicated and (x.dim() == 0 or shape[0] != values.shape[0]))
    if rows != 1:
        fits = fits and (1 if replicated else 0) <= axis < x.dim() and shape[axis] == rows
    if not fits:
        raise ValueError(
            f"values must be (channel, {degree + 1}) or (replica, channel, {degree + 1}) for x of shape {tuple(shape)} "
            f"with its channels at axis {axis}, got {tuple(values.shape)}"
        )
    if grad is not None and grad.shape != shape:
        raise ValueError(f"grad must have the shape of x, {tuple(shape)}, got {tuple(grad.shape)}")


def check_memory(name: str, tensor: torch.Tensor) -> None:
    """A ValueError where the storage of a tensor was made smaller than the tensor is."""
    if tensor.device.type == "meta" or not tensor.numel():
        return
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    if tensor.untyped_storage().nbytes() < (tensor.storage_offset() + last + 1) * tensor.itemsize:
        raise ValueError(
            f"{name} must have memory for its shape {tuple(tensor.shape)}, got a storage of "
            f"{tensor.untyped_storage().nbytes()} bytes; it was resized after the tensor was made"
        )


def prepared(x: torch.Tensor, values: torch.Tensor, channel_dim: int, replicated: bool) -> tuple[torch.Tensor, Layout]:
    """x, copied only where its memory has gaps or another type than the one to compute in; and its layout."""
    x = literal(x)
    check_memory("x", x)
    layout = layout_of(x.shape, x.stride(), x.dtype, values.shape[-2], values.dtype, channel_dim, replicated)
    if layout is not None and layout.direct:
        return x, layout
    dtype = layout.dtype if layout is not None else _common_type(x.dtype, values.dtype)
    given = x.to(dtype)
    if not is_dense(given.shape, given.stride()):
        given = torch.empty_like(given).copy_(given)  # closes the gaps and keeps the order of the axes
    layout = layout_of(given.shape, given.stride(), dtype, values.shape[-2], values.dtype, channel_dim, replicated)
    if layout is None:
        given = given.contiguous()
        layout = layout_of(given.shape, given.stride(), dtype, values.shape[-2], values.dtype, channel_dim, replicated)
    assert layout is not None
    return given, layout


@lru_cache(maxsize=4096)
def layout_of(
    shape: Ints,
    strides: Ints,
    dtype: torch.dtype,
    rows: int,
    value_type: torch.dtype,
    channel_dim: int,
    replicated: bool,
) -> Layout | None:
    """The layout of a tensor with `rows` rows of values, or None where a replica does not lie in one piece."""
    common = _common_type(dtype, value_type)
    if not is_dense(shape, strides):
        return None
    if replicated and shape[0] > 1 and 0 not in shape and strides[0] * shape[0] != _product(shape):
        return None
    return Layout(common, _sizes(shape, strides, rows, channel_dim, replicated), dtype == common)


def is_dense(shape: Ints, strides: Ints) -> bool:
    """Whether the strides are those of a contiguous tensor with its axes in some order."""
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
    total, replicas = _product(shape), shape[0] if replicated else 1
    if rows == 1 or total == 0:  # one shape for all elements: the channel axis has no meaning
        return Sizes(replicas, 1, rows, total // (replicas * rows) if replicas and rows else 0)
    inner = strides[channel_dim]
    return Sizes(replicas, total // (replicas * rows * inner), rows, inner)


def _common_type(dtype: torch.dtype, value_type: torch.dtype) -> torch.dtype:
    return torch.promote_types(torch.promote_types(dtype, value_type), torch.float32)


def _product(shape: Ints) -> int:
    result = 1
    for size in shape:
        result *= size
    return result
