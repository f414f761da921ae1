"""The fused GPU kernel, in Triton: one pass forward, one pass backward, sums in two stages without atomics.

Triton is installed with torch for CUDA and ROCm and imported on first use. With TRITON_INTERPRET=1 in the environment
the same code runs, slowly, on CPU tensors; this is how it is tested without a GPU.
"""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

import torch

from chebact.basis import Basis
from chebact.kernels.layout import Sizes
from chebact.kernels.scaling import clamp_finite, divisor, numpy_type

name = "gpu"

TILE = 1024  # elements per program, eight per thread
BARYCENTRIC_TILE = 2048  # larger, because the backward pass sums over the tile for every node
LONG_ROW = 16  # from this inner length a tile belongs to one channel; below it, to adjacent channels
COLUMNS = 16  # elements per row of a tile with adjacent channels
PROGRAMS = 1024  # if a backward pass has more tiles than this, a program processes several of them in sequence
MOST_STEPS = 16


def why_not(device: torch.device) -> str | None:
    """The reason why this kernel cannot run for tensors on `device`, or None."""
    if device.type not in ("cuda", "hip", "cpu"):
        return f"it runs on CUDA and ROCm devices, not on {device.type}"
    if device.type == "cpu" and os.environ.get("TRITON_INTERPRET") != "1":
        return "it runs on GPU tensors, not on cpu; TRITON_INTERPRET=1 interprets it there"
    reason = _why_not_imported()
    if reason is None and device.type == "cpu" and not _is_interpreted():
        return "TRITON_INTERPRET=1 was set after Triton was imported; set it before"
    return reason


def plan(basis: Basis, sizes: Sizes, dtype: torch.dtype) -> None:
    """None: Triton checks devices and streams at every launch."""


def evaluate(x: torch.Tensor, values: torch.Tensor, basis: Basis, sizes: Sizes, out: torch.Tensor) -> None:
    """Write the activation of x into `out`, which may be x itself."""
    tiling = _find_tiling(sizes, TILE if basis.by_powers else BARYCENTRIC_TILE)
    _launch("forward", basis, tiling, (x, out, _table(values, basis, sizes), _constants(basis, values.dtype, x.device)))


def gradients(
    x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, basis: Basis, sizes: Sizes, out: torch.Tensor
) -> torch.Tensor:
    """Write the gradient of x into `out`; returns that of the values. One pass over x and grad."""
    numbers = len(basis.table) if not basis.by_powers else 8 if basis.has_tails else 4
    tiling = _find_tiling(sizes, TILE if basis.by_powers else BARYCENTRIC_TILE, numbers, several=basis.by_powers)
    partial = values.new_empty((sizes.replicas, tiling.row_blocks, numbers, sizes.channels, tiling.repeat))
    slopes, constants = _table(values, basis.derivative(), sizes), _constants(basis, values.dtype, x.device)
    _launch("backward", basis, tiling, (x, grad, out, slopes, partial, constants))
    sums = partial.sum(dim=(1, 4), dtype=torch.float64)  # the second stage; its order depends only on the sizes
    return (sums.mT @ _matrix(basis, x.device)[:numbers]).to(values.dtype).reshape(values.shape)


class Tiling(NamedTuple):
    """How a tensor is divided into tiles; the names are those of `code`."""

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
def _find_tiling(sizes: Sizes, most: int, numbers: int = 1, *, several: bool = False) -> Tiling:
    """Tiles of at most `most` elements; each tile, or `several` tiles, give `numbers` sums per column.

    They depend only on the sizes and not on the machine, so sums have the same bits everywhere.
    """
    replicas, outer, channels, inner = sizes
    if channels == 1:
        outer, inner = outer * inner, 1
    repeat = inner if inner < LONG_ROW else 1
    columns, inner = channels * repeat, inner // repeat
    rows = outer * inner
    limit = most if inner > 1 else max(most // COLUMNS, min(most, numbers))  # so the sums are less than the tensor
    tile_rows = _power_of_two(min(rows, limit))
    tile_columns = 1 if inner > 1 else _power_of_two(min(columns, most // tile_rows))
    column_blocks, tiles = -(-columns // tile_columns), -(-rows // tile_rows)
    steps = min(MOST_STEPS, max(1, replicas * column_blocks * tiles // PROGRAMS)) if several else 1
    row_blocks = -(-tiles // steps)
    tile = {"ROWS": tile_rows, "COLUMNS": tile_columns, "WIDE": rows * columns >= 2**31}
    programs = replicas * row_blocks * column_blocks
    return Tiling(rows, columns, inner, repeat, row_blocks, column_blocks, steps, programs, tile)


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


def _launch(step: str, basis: Basis, tiling: Tiling, tensors: tuple[torch.Tensor, ...]) -> None:
    options, numbers = tiling.tile | {"TAILS": basis.has_tails}, list(tiling[:6])
    if basis.by_powers:
        function = getattr(_code(), f"powers_{step}")
        options["PLAIN"] = basis.interval == (-1.0, 1.0)
        numbers += [tiling.steps] if step == "backward" else []
    else:
        function = getattr(_code(), f"barycentric_{step}")
        numbers += [basis.degree + 1]
    with torch.cuda.device_of(tensors[0]):  # type: ignore[no-untyped-call]  # Triton launches on the current device
        function[(tiling.programs,)](*tensors, *numbers, **options)


def _table(values: torch.Tensor, basis: Basis, sizes: Sizes) -> torch.Tensor:
    """The numbers from which the kernel evaluates a channel, in the type of the values: (replica, number, channel)."""
    heights = values.reshape(sizes.replicas, sizes.channels, basis.degree + 1)
    numbers = clamp_finite(_matrix(basis, values.device) @ heights.mT.double(), values.dtype)
    if basis.by_powers:
        return numbers.to(values.dtype)
    bent = numbers[:, : basis.degree + 1] if basis.has_tails else numbers
    factor = divisor(bent, values.dtype, 1)
    lines = numbers[:, bent.shape[1] :]
    return torch.cat([bent / factor, lines, factor], dim=1).to(values.dtype)


@lru_cache(maxsize=32)
def _matrix(basis: Basis, device: torch.device) -> torch.Tensor:
    """The matrix that maps the parameters of a channel to these numbers, float64."""
    return torch.tensor(basis.table, device=device)


@lru_cache(maxsize=256)
def _constants(basis: Basis, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return torch.tensor(basis.fused_constants(numpy_type(dtype)), dtype=dtype, device=device)


@lru_cache(maxsize=1)
def _why_not_imported() -> str | None:
    try:
        _code()
    except Exception as error:  # a broken installation can raise anything
        return f"Triton cannot be imported ({type(error).__name__}: {error})"
    return None


def _is_interpreted() -> bool:
    """Whether Triton's functions and ours were made for its interpreter, which is decided on import."""
    functions = (_code().powers_forward, _code().tl.zeros)
    return all(type(function).__name__ == "InterpretedFunction" for function in functions)


@lru_cache(maxsize=1)
def _code() -> Any:
    return import_module("chebact.kernels.gpu.code")
