"""The range penalty of one input in compiled code: one pass over x, and its gradient where something is outside.

`excess.py` is the definition. This serves what the CPU kernel reads without a copy; everything else has the definition.
"""

from __future__ import annotations

import zlib
from array import array
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from chebact.checks import Interval
from chebact.kernels import choose
from chebact.kernels.cpu import SERIAL_BELOW, cut_into_tasks
from chebact.kernels.cpu import call_block as b
from chebact.kernels.cpu.threads import Program
from chebact.kernels.layout import Sizes, find_layout
from chebact.kernels.selection import warn_once
from chebact.learned import LearnedActivation

__all__ = ["Scan", "scan_for"]

NUMBERS = 3  # per channel: NUMBERS of scan_loops.py, which this file does not import because it needs Numba


def scan_for(part: LearnedActivation, x: Tensor, margin: float) -> Scan | None:
    """The scan of an input of an activation, or None if the definition must serve it."""
    if not x.is_cpu or x.is_neg() or choose(x.device, part.basis).name != "cpu":
        return None
    axis = part.channel_axis(x)
    scan = _scan_of_layout(x.shape, x.stride(), x.dtype, axis, part.replicas is not None, part.basis.interval, margin)
    if scan is None or x.untyped_storage().nbytes() < (x.storage_offset() + scan.elements) * x.itemsize:
        return None
    return scan


@lru_cache(maxsize=1024)
def _scan_of_layout(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: torch.dtype,
    axis: int | None,
    replicated: bool,
    interval: Interval,
    margin: float,
) -> Scan | None:
    channels = 1 if axis is None else shape[axis]
    layout = find_layout(shape, strides, dtype, channels, dtype, axis or 0, replicated)
    if layout is None or not layout.direct or 0 in shape:
        return None
    try:
        return Scan(layout.sizes, dtype == torch.float64, interval, margin)
    except Exception as error:  # the compiler raises anything
        warn_once(f"the range penalty cannot be compiled ({type(error).__name__}); plain torch computes it")
        return None


class Scan:
    """The range penalty of inputs with one layout in memory, (replica, outer, channel, inner)."""

    def __init__(self, sizes: Sizes, double: bool, interval: Interval, margin: float) -> None:
        replicas, outer, channels, inner = sizes
        blocks = cut_into_tasks(sizes)
        left, right = interval
        scale, own = 2 / (right - left), outer * channels * inner
        factors = (2 * scale / own, 2 * scale / channels)
        self.elements, self._tasks = replicas * own, blocks[-1]
        self._constants = array("d", (scale, -(left + right) / (right - left), 1.0 - margin, *factors))
        self._result = 1 + NUMBERS * replicas * channels
        self._length = self._result + NUMBERS * channels * replicas * blocks[3] * blocks[5]
        self._serial = self.elements < SERIAL_BELOW or self._tasks == 1
        self._blank = array("q", [0]) * b.LENGTH
        self._blank[b.TASKS : b.INNER_BLOCKS + 1] = array("q", (self._tasks, *sizes, *blocks[:6]))
        self._blank[b.CONSTANTS] = self._constants.buffer_info()[0]
        self._scan, self._finish, self._push, self._push_last = (
            _program(step, double) for step in ("scan", "finish", "push", "push_last")
        )

    def measure(self, x: Tensor) -> array[float]:
        """The penalty of x, the first of the numbers that `push` needs; all of them float64."""
        numbers = array("d", bytes(8 * self._length))
        block, threads = self._block(x, numbers)
        self._scan.run(block.buffer_info()[0], threads)
        if threads > 1:
            self._finish.run(block.buffer_info()[0], 1)
        return numbers

    def push(self, x: Tensor, out: Tensor, numbers: array[float], factor: float) -> None:
        """Add the factor times the gradient of the penalty to `out`, in the layout of x."""
        numbers[0] = factor
        block, threads = self._block(x, numbers)
        block[b.OUT] = out.data_ptr()
        self._push.run(block.buffer_info()[0], threads)
        if threads > 1:
            self._push_last.run(block.buffer_info()[0], 1)

    def _block(self, x: Tensor, numbers: array[float]) -> tuple[array[int], int]:
        threads = 1 if self._serial else min(torch.get_num_threads(), self._tasks)
        block = self._blank + array("q", [0]) * (threads + 1)
        block[b.COUNTERS], block[b.PARTS] = block.buffer_info()[0] + b.LENGTH * block.itemsize, threads
        block[b.X], block[b.RESULT] = x.data_ptr(), numbers.buffer_info()[0]
        block[b.PARTIAL] = block[b.RESULT] + 8 * self._result
        return block, threads


@lru_cache(maxsize=8)
def _program(step: str, double: bool) -> Program:
    from numba import float32, float64, types

    from chebact.kernels.cpu.compiler import compile_kept
    from chebact.kernels.cpu.registers import native_lanes
    from chebact.ranges.scan_loops import programs

    lanes = native_lanes() // (2 if double else 1)
    function = programs(float64 if double else float32, lanes, _edition())[step]
    return Program(compile_kept(function, types.void(types.int64), f"{step}_{'double' if double else 'single'}{lanes}"))


@lru_cache(maxsize=1)
def _edition() -> int:
    """A number that changes with the source of the loops: Numba checks only one file per function."""
    from chebact.kernels.cpu import call_block, lanes, tasks, vector_code
    from chebact.ranges import scan_loops

    modules: tuple[Any, ...] = (scan_loops, call_block, lanes, tasks, vector_code)
    return zlib.crc32(b"".join(Path(module.__file__).read_bytes() for module in modules))
