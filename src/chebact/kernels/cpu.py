"""The fused CPU kernel: Numba loops over explicit vectors, on torch's own threads.

Compiled for a type when first used and kept on disk. Up to degree 3 it is bound by memory; above, by one division a
node and element.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy
import torch

from chebact.basis import Basis
from chebact.kernels.team import Program, available_threads

if TYPE_CHECKING:
    from chebact.kernels.layout import Sizes

name = "cpu"

TASK = 32_768  # elements a task; a constant, so that the cut does not depend on the machine
MOST_BLOCKS = 32  # of the outer axis: bounds the memory and the time of the last sum
SERIAL_BELOW = 12_000  # elements at degree 3; below, starting a team costs more than it saves


def why_not(device: torch.device, basis: Basis) -> str | None:
    """Why this kernel cannot serve tensors on `device`, or None where it can."""
    if device.type != "cpu":
        return f"it serves CPU tensors, and this one is on {device.type}"
    if not basis.has_tails and not basis.by_powers:
        return "tails='none' above degree 3 is left to the reference"
    return _why_not_compiled()


@lru_cache(maxsize=1)
def _why_not_compiled() -> str | None:
    try:
        import numba  # noqa: F401
    except Exception as error:  # a broken install raises anything
        return f"Numba cannot be imported ({type(error).__name__}: {error})"
    return None


def evaluate(x: torch.Tensor, values: torch.Tensor, basis: Basis, out: torch.Tensor) -> None:
    """The activation of x (replica, outer, channel, inner), contiguous, into `out`, which may be x itself."""
    sizes = _sizes(x)
    if basis.by_powers:
        call = {"table": values.data_ptr(), "matrix": _matrix(basis).data_ptr()}
        kept: Any = values
    else:
        kept = _pieces(values, basis)
        call = {"table": kept.data_ptr()}
    call |= {"x": x.data_ptr(), "out": out.data_ptr(), "constants": _constants(basis, x.dtype).data_ptr()}
    _run("forward", basis, x.dtype, sizes, call)
    del kept


def gradients(
    x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, basis: Basis, out: torch.Tensor
) -> torch.Tensor:
    """The gradient of x into `out`, and that of the values (replica, channel, degree + 1), in one pass."""
    sizes = _sizes(x)
    slopes = basis.derivative()
    blocks = _blocks(sizes)
    count = sizes[0] * blocks[3] * blocks[5] * sizes[2]  # channels that sums are kept for
    call = {"x": x.data_ptr(), "grad": grad.data_ptr(), "out": out.data_ptr()}
    call["constants"] = _constants(basis, x.dtype).data_ptr()
    if basis.by_powers:
        alone = blocks[3] * blocks[5] == 1
        partial = torch.empty(0 if alone else count * 8, dtype=torch.float64)
        result = torch.empty_like(values)
        call |= {"table": values.data_ptr(), "slopes": _matrix(slopes).data_ptr(), "matrix": _matrix(basis).data_ptr()}
        call |= {"partial": partial.data_ptr(), "result": result.data_ptr()}
        _run("backward", basis, x.dtype, sizes, call)
        if not alone:
            _run("finish", basis, x.dtype, sizes, call, serial=True)
        return result
    numbers = basis.degree + 5
    partial = torch.empty(count * numbers, dtype=torch.float64)
    sums = torch.empty((sizes[0], sizes[2], numbers), dtype=torch.float64)
    table = _pieces(values, slopes)
    call |= {"slopes": table.data_ptr(), "partial": partial.data_ptr(), "result": sums.data_ptr()}
    _run("backward", basis, x.dtype, sizes, call)
    _run("finish", basis, x.dtype, sizes, call, serial=True)
    return (sums @ torch.from_numpy(basis.pieces)).to(values.dtype)


def _run(
    step: str, basis: Basis, dtype: torch.dtype, sizes: Sizes, call: dict[str, int], *, serial: bool = False
) -> None:
    blocks = _blocks(sizes)
    work = sizes[0] * sizes[1] * sizes[2] * sizes[3] * (1 if basis.by_powers else basis.degree)
    threads = 1 if serial or work < SERIAL_BELOW else min(available_threads(), blocks[6])
    block = _Block(0, blocks[6], *sizes, *blocks[:6], degree=basis.degree, **call)
    plain = basis.interval == (-1.0, 1.0)
    _program(step, basis.by_powers, dtype == torch.float64, plain and basis.by_powers).run(
        ctypes.addressof(block), threads
    )


class _Block(ctypes.Structure):
    """The integers that a compiled loop reads, in the order of `cpu_code.FIELDS`."""

    _fields_ = [
        (field, ctypes.c_int64)
        for field in (
            "ticket tasks replicas outer channels inner outer_block channel_block inner_block outer_blocks "
            "channel_blocks inner_blocks x grad out table slopes matrix constants partial result degree"
        ).split()
    ]


def _sizes(x: torch.Tensor) -> Sizes:
    from chebact.kernels.layout import Sizes

    return Sizes(*x.shape)


@lru_cache(maxsize=1024)
def _blocks(sizes: Sizes) -> tuple[int, int, int, int, int, int, int]:
    """Block lengths of outer, channel and inner, how many blocks of each there are, and the number of tasks."""
    replicas, outer, channels, inner = sizes
    inner_block = inner if inner <= 2 * TASK else TASK
    channel_block = channels if channels * inner_block <= 2 * TASK else max(8, TASK // inner_block // 8 * 8)
    outer_block = max(1, TASK // (channel_block * inner_block), -(-outer // MOST_BLOCKS))
    counts = (-(-outer // outer_block), -(-channels // channel_block), -(-inner // inner_block))
    return outer_block, channel_block, inner_block, *counts, replicas * counts[0] * counts[1] * counts[2]


@lru_cache(maxsize=64)
def _program(step: str, by_powers: bool, double: bool, plain: bool) -> Program:
    from numba import cfunc, float32, float64, types

    dtype = float64 if double else float32
    if by_powers:
        from chebact.kernels.cpu_cubic import programs as power_programs

        function = power_programs(dtype, plain)[step]
    else:
        from chebact.kernels.cpu_barycentric import programs as barycentric_programs

        function = barycentric_programs(dtype)[step]
    signature = types.void(types.int64)
    try:
        return Program(cfunc(signature, cache=True)(function))
    except (RuntimeError, OSError):  # no folder for the cache can be written
        return Program(cfunc(signature)(function))


@lru_cache(maxsize=256)
def _matrix(basis: Basis) -> torch.Tensor:
    """The power form's matrix transposed, a row of 16 numbers a parameter."""
    rows = numpy.zeros((basis.degree + 1, 16))
    rows[:, :10] = basis.power_pieces.T
    return torch.from_numpy(rows)


@lru_cache(maxsize=256)
def _constants(basis: Basis, dtype: torch.dtype) -> torch.Tensor:
    k = basis.constants(numpy.float64 if dtype == torch.float64 else numpy.float32)
    if basis.by_powers:
        numbers: tuple[float, ...] = (k.left, k.right, k.middle_high, k.middle_low, k.scale, *k.between)
    else:
        numbers = (k.left, k.right, k.tiny, *k.high, *k.low, *k.weights)
    return torch.tensor(numbers, dtype=dtype)


def _pieces(values: torch.Tensor, basis: Basis) -> torch.Tensor:
    """The pieces of every channel, in the type of the values: (replica, channel, degree + 5)."""
    matrix = torch.from_numpy(basis.pieces)
    if basis.order == 0 and basis.parameters == "values":
        lines = values.double() @ matrix[basis.degree + 1 :].T
        return torch.cat([values, lines.to(values.dtype)], dim=-1)
    return (values.double() @ matrix.T).to(values.dtype)
