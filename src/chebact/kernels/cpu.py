"""The fused CPU kernel: Numba loops over explicit vectors, on torch's own threads.

Compiled for a type when first used and kept on disk. Up to degree 3 it is bound by memory; above, by one division a
node and element.
"""

from __future__ import annotations

import zlib
from array import array
from functools import lru_cache
from pathlib import Path

import numpy
import torch

from chebact.basis import Basis
from chebact.kernels.layout import Sizes
from chebact.kernels.team import Program, available_threads

name = "cpu"

TASK = 32_768  # elements a task; a constant, so that the cut does not depend on the machine
MOST_BLOCKS = 32  # of the outer axis: bounds the memory and the time of the last sum
COUNTERS, BLOCK = 0, 23  # where the address of the counters stands in the integers that a loop reads; their number
SERIAL_BELOW = 12_000  # elements at degree 3; below, starting a team costs more than it saves


def why_not(device: torch.device) -> str | None:
    """Why this kernel cannot serve tensors on `device`, or None where it can."""
    if device.type != "cpu":
        return f"it serves CPU tensors, and this one is on {device.type}"
    return _why_not_compiled()


@lru_cache(maxsize=1)
def _why_not_compiled() -> str | None:
    try:
        import numba
    except Exception as error:  # a broken install raises anything
        return f"Numba cannot be imported ({type(error).__name__}: {error})"
    if numba.config.DISABLE_JIT:
        return "Numba does not compile, since NUMBA_DISABLE_JIT is set"
    return None


def evaluate(x: torch.Tensor, values: torch.Tensor, basis: Basis, sizes: Sizes, out: torch.Tensor) -> None:
    """The activation of x into `out`, which may be x itself."""
    plan = _plan(basis, sizes, x.dtype)
    table = values if basis.by_powers else _table(values, basis)
    plan.run("forward", x.data_ptr(), 0, out.data_ptr(), table.data_ptr(), 0, 0, 0)


def gradients(
    x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, basis: Basis, sizes: Sizes, out: torch.Tensor
) -> torch.Tensor:
    """The gradient of x into `out`, and that of the values, in one pass over x and grad."""
    plan = _plan(basis, sizes, x.dtype)
    result = torch.empty_like(values)
    table = values if basis.by_powers else _table(values, basis.derivative())
    slopes = plan.slope_matrix.data_ptr() if basis.by_powers else table.data_ptr()
    place = (x.data_ptr(), grad.data_ptr(), out.data_ptr(), table.data_ptr(), slopes)
    if not plan.partial_length:
        plan.run("backward", *place, 0, result.data_ptr())
        return result
    partial = torch.empty(plan.partial_length, dtype=torch.float64, device="cpu")
    plan.run("backward", *place, partial.data_ptr(), result.data_ptr())
    plan.run("finish", *place, partial.data_ptr(), result.data_ptr())
    return result


class _Plan:
    """All of a call that does not change from call to call: the cut into tasks, constants and machine code."""

    def __init__(self, basis: Basis, sizes: Sizes, dtype: torch.dtype) -> None:
        blocks = _blocks(sizes)
        self.tasks, self.head = blocks[-1], (blocks[-1], *sizes, *blocks[:6])
        work = sizes[0] * sizes[1] * sizes[2] * sizes[3] * (1 if basis.by_powers else basis.degree)
        self.serial = work < SERIAL_BELOW or self.tasks == 1
        sums = 8 if basis.by_powers else len(basis.table)
        alone = basis.by_powers and blocks[3] * blocks[5] == 1  # then a task writes the result itself
        self.partial_length = 0 if alone else sizes[0] * blocks[3] * blocks[5] * sizes[2] * sums
        self.matrix = _matrix(basis) if basis.by_powers else torch.from_numpy(numpy.ascontiguousarray(basis.table))
        self.slope_matrix = _matrix(basis.derivative()) if basis.by_powers else torch.empty(0, device="cpu")
        self.constants = _constants(basis, dtype)
        self.middle = (self.matrix.data_ptr(), self.constants.data_ptr())
        self.degree = basis.degree
        self.kind = (dtype == torch.float64, *(_choices(basis) if basis.by_powers else (basis.has_tails,)))

    def run(self, step: str, x: int, grad: int, out: int, table: int, slopes: int, partial: int, result: int) -> None:
        """Call the compiled loop, on as many threads as pay."""
        serial = self.serial or step == "finish"
        threads = 1 if serial else min(available_threads(), self.tasks)
        place = (*self.head, x, grad, out, table, slopes, *self.middle, partial, result, self.degree, threads)
        block = array("q", (0, *place, *(0,) * (threads + 1)))  # the counters stand behind the integers of the block
        address, _ = block.buffer_info()
        block[COUNTERS] = address + BLOCK * block.itemsize
        _program(step, *self.kind).run(address, threads)


_plan = lru_cache(maxsize=4096)(_Plan)


@lru_cache(maxsize=1024)
def _blocks(sizes: Sizes) -> tuple[int, int, int, int, int, int, int]:
    """Block lengths of outer, channel and inner, how many blocks of each there are, and the number of tasks."""
    replicas, outer, channels, inner = sizes
    inner_block = inner if inner <= 2 * TASK else TASK
    channel_block = channels if channels * inner_block <= 2 * TASK else max(8, TASK // inner_block // 8 * 8)
    outer_block = max(1, TASK // (channel_block * inner_block), -(-outer // MOST_BLOCKS))
    counts = (-(-outer // outer_block), -(-channels // channel_block), -(-inner // inner_block))
    return outer_block, channel_block, inner_block, *counts, replicas * counts[0] * counts[1] * counts[2]


def _choices(basis: Basis) -> tuple[bool, bool, bool, bool]:
    """What the power form can leave out: see `cpu_cubic.programs`."""
    joined = basis.order == 0 or not basis.has_tails
    return basis.interval == (-1.0, 1.0), basis.has_tails, joined, joined and basis.tails != "regression"


@lru_cache(maxsize=64)
def _program(step: str, double: bool, *choices: bool) -> Program:
    from numba import cfunc, float32, float64, types

    dtype = float64 if double else float32
    if len(choices) > 1:
        from chebact.kernels.cpu_cubic import programs as power_programs

        function = power_programs(dtype, _edition(), *choices)[step]
    else:
        from chebact.kernels.cpu_barycentric import programs as barycentric_programs

        function = barycentric_programs(dtype, _edition(), *choices)[step]
    signature = types.void(types.int64)
    try:
        return Program(cfunc(signature, cache=True)(function))
    except Exception:  # no folder for the cache can be written, or what lies there is broken
        return Program(cfunc(signature)(function))


@lru_cache(maxsize=1)
def _edition() -> int:
    """A number that changes with the source of the loops: Numba itself watches one file a function."""
    sources = [*sorted(Path(__file__).parent.glob("cpu_*.py")), Path(__file__).with_name("lanes.py")]
    return zlib.crc32(b"".join(source.read_bytes() for source in sources))


@lru_cache(maxsize=256)
def _matrix(basis: Basis) -> torch.Tensor:
    """The power form's matrix transposed, a row of 16 numbers a parameter."""
    rows = numpy.zeros((basis.degree + 1, 16))
    rows[:, :10] = basis.power_pieces.T
    if basis.degree == 2:
        rows[:, 9] = rows[:, 8]  # the one node between the ends, 0, has two signs
    return torch.from_numpy(rows)


@lru_cache(maxsize=256)
def _constants(basis: Basis, dtype: torch.dtype) -> torch.Tensor:
    numbers = basis.fused_constants(numpy.float64 if dtype == torch.float64 else numpy.float32)
    return torch.tensor(numbers, dtype=dtype, device="cpu")


def _table(values: torch.Tensor, basis: Basis) -> torch.Tensor:
    """The table of every channel, in the type of the values: (replica, channel, number).

    NumPy multiplies: in a forked child torch would wait for threads that are not there.
    """
    numbers = values.detach().numpy().astype(numpy.float64)
    if basis.order == 0 and basis.parameters == "values":
        numbers = numpy.concatenate([numbers, numbers @ basis.table[basis.degree + 1 :].T], axis=-1)
    else:
        numbers = numbers @ basis.table.T
    return torch.from_numpy(numbers).to(values.dtype)
