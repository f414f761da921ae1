"""The fused GPU kernel, in Triton: one pass forward, one pass backward, sums in two stages and without atomics.

Triton comes with torch for CUDA and ROCm and is imported when first used. With TRITON_INTERPRET=1 in the environment
the same code runs, slowly, on CPU tensors; so it is tested where there is no GPU.
"""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy
import torch

from chebact.basis import SMALL_ENOUGH, Basis, steps_down
from chebact.kernels.layout import Sizes

name = "gpu"

TILE = 1024  # elements that a program holds at once, eight a thread
BARYCENTRIC_TILE = 2048  # more, because a sum over the tile follows every node in the backward pass
LONG_ROW = 16  # from this inner length on a tile lies in one channel; below it, across neighbouring channels,
COLUMNS = 16  # and then this many neighbours in memory are one row of it
PROGRAMS = 1024  # where a backward pass has more tiles than this, a program takes several of them, one after the other
MOST_STEPS = 16


def why_not(device: torch.device) -> str | None:
    """Why this kernel cannot serve tensors on `device`, or None where it can."""
    if device.type not in ("cuda", "hip", "cpu"):
        return f"it serves tensors on CUDA and ROCm devices, not on {device.type}"
    if device.type == "cpu" and os.environ.get("TRITON_INTERPRET") != "1":
        return "it serves GPU tensors, and one on cpu came, which only TRITON_INTERPRET=1 lets it interpret"
    reason = _why_not_imported()
    if reason is None and device.type == "cpu" and not _is_interpreted():
        return "TRITON_INTERPRET=1 was set after Triton had been imported, which is too late"
    return reason


def plan(basis: Basis, sizes: Sizes, dtype: torch.dtype) -> None:
    """None: a launch checks devices and streams of its own at every call."""


def evaluate(x: torch.Tensor, values: torch.Tensor, basis: Basis, sizes: Sizes, out: torch.Tensor) -> None:
    """The activation of x into `out`, which may be x itself."""
    plan = _plan(sizes, TILE if basis.by_powers else BARYCENTRIC_TILE)
    _launch("forward", basis, plan, (x, out, _table(values, basis, sizes), _constants(basis, values.dtype, x.device)))


def gradients(
    x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, basis: Basis, sizes: Sizes, out: torch.Tensor
) -> torch.Tensor:
    """The gradient of x into `out`, and that of the values, in one pass over x and grad."""
    numbers = len(basis.table) if not basis.by_powers else 8 if basis.has_tails else 4
    plan = _plan(sizes, TILE if basis.by_powers else BARYCENTRIC_TILE, numbers, several=basis.by_powers)
    partial = values.new_empty((sizes.replicas, plan.row_blocks, numbers, sizes.channels, plan.repeat))
    slopes, constants = _table(values, basis.derivative(), sizes), _constants(basis, values.dtype, x.device)
    _launch("backward", basis, plan, (x, grad, out, slopes, partial, constants))
    sums = partial.sum(dim=(1, 4), dtype=torch.float64)  # the second stage, in an order that depends on the sizes alone
    return (sums.mT @ _matrix(basis, x.device)[:numbers]).to(values.dtype).reshape(values.shape)


class Plan(NamedTuple):
    """How a tensor is cut; the words are those of `code`."""

    rows: int
    columns: int
    inner: int
    repeat: int
    row_blocks: int
    column_blocks: int
    steps: int
    programs: int
    tile: dict[str, Any]


@lru_cache(maxsize=1024)
def _plan(sizes: Sizes, most: int, numbers: int = 1, *, several: bool = False) -> Plan:
    """The cut into tiles of at most `most` elements, where every tile, or `several`, leave `numbers` sums a column.

    It depends on the sizes alone and not on the machine, so that sums keep their bits.
    """
    replicas, outer, channels, inner = sizes
    if channels == 1:
        outer, inner = outer * inner, 1
    repeat = inner if inner < LONG_ROW else 1
    columns, inner = channels * repeat, inner // repeat
    rows = outer * inner
    wanted = most if inner > 1 else max(most // COLUMNS, min(most, numbers))  # so the sums are less than the tensor
    tile_rows = _power_of_two(min(rows, wanted))
    tile_columns = 1 if inner > 1 else _power_of_two(min(columns, most // tile_rows))
    column_blocks, tiles = -(-columns // tile_columns), -(-rows // tile_rows)
    steps = min(MOST_STEPS, max(1, replicas * column_blocks * tiles // PROGRAMS)) if several else 1
    row_blocks = -(-tiles // steps)
    tile = {"ROWS": tile_rows, "COLUMNS": tile_columns, "WIDE": rows * columns >= 2**31}
    programs = replicas * row_blocks * column_blocks
    return Plan(rows, columns, inner, repeat, row_blocks, column_blocks, steps, programs, tile)


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


def _launch(step: str, basis: Basis, plan: Plan, tensors: tuple[torch.Tensor, ...]) -> None:
    options, numbers = plan.tile | {"TAILS": basis.has_tails}, list(plan[:6])
    if basis.by_powers:
        function = getattr(_code(), f"powers_{step}")
        options["PLAIN"] = basis.interval == (-1.0, 1.0)
        numbers += [plan.steps] if step == "backward" else []
    else:
        function = getattr(_code(), f"barycentric_{step}")
        numbers += [basis.degree + 1]
    with torch.cuda.device_of(tensors[0]):  # type: ignore[no-untyped-call]  # Triton launches on the current device
        function[(plan.programs,)](*tensors, *numbers, **options)


def _table(values: torch.Tensor, basis: Basis, sizes: Sizes) -> torch.Tensor:
    """The numbers that the kernel evaluates a channel from, in the type of the values: (replica, number, channel)."""
    heights = values.reshape(sizes.replicas, sizes.channels, basis.degree + 1)
    numbers = _matrix(basis, values.device) @ heights.mT.double()
    most = torch.finfo(values.dtype).max
    if values.dtype != numbers.dtype:  # finite heights make finite numbers in their own type too
        numbers = torch.where(numbers.isfinite(), numbers.clamp(-most, most), numbers)
    if basis.by_powers:
        return numbers.to(values.dtype)
    bent = numbers[:, : basis.degree + 1] if basis.has_tails else numbers
    factor = _factor(bent, values.dtype)
    lines = numbers[:, bent.shape[1] :]
    return torch.cat([bent / factor, lines, factor], dim=1).to(values.dtype)


def _factor(numbers: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """What the numbers of a channel are divided by, and their result is multiplied by: see `basis.steps_down`."""
    step, two_steps = steps_down(_numpy_type(dtype))
    size = numbers.abs().amax(1, keepdim=True)
    factor = torch.where(size > SMALL_ENOUGH, step, torch.ones_like(size))
    return torch.where(size > SMALL_ENOUGH * step, two_steps, factor)


@lru_cache(maxsize=32)
def _matrix(basis: Basis, device: torch.device) -> torch.Tensor:
    """The matrix from the parameters of a channel to those numbers, float64."""
    return torch.tensor(basis.table, device=device)


@lru_cache(maxsize=256)
def _constants(basis: Basis, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return torch.tensor(basis.fused_constants(_numpy_type(dtype)), dtype=dtype, device=device)


def _numpy_type(dtype: torch.dtype) -> type:
    return numpy.float64 if dtype == torch.float64 else numpy.float32


@lru_cache(maxsize=1)
def _why_not_imported() -> str | None:
    try:
        _code()
    except Exception as error:  # a broken install raises anything
        return f"Triton cannot be imported ({type(error).__name__}: {error})"
    return None


def _is_interpreted() -> bool:
    """Whether Triton's own functions and ours were made for its interpreter, as is decided on import."""
    functions = (_code().powers_forward, _code().tl.zeros)
    return all(type(function).__name__ == "InterpretedFunction" for function in functions)


@lru_cache(maxsize=1)
def _code() -> Any:
    return import_module("chebact.kernels.gpu.code")
