"""The CPU kernel up to degree 3: power coefficients and Horner's rule, bound by memory and not by arithmetic.

The table of a channel has ten numbers: four power coefficients in u = (x - middle) * scale, the left line's height and
slope, the right line's, and the heights at the two nodes between the ends, so that at a node the value itself comes
out. `matrix` takes the parameters of a channel to its table; its transpose takes sums back to parameters.
"""

from __future__ import annotations

from typing import Any

import numpy
from numba import carray, float64, int64

from chebact.kernels.cpu import call_block as b
from chebact.kernels.cpu.cubic_loops import (
    SUMS,
    backward_columns,
    backward_row,
    forward_columns,
    forward_row,
)
from chebact.kernels.cpu.lanes import load_one, moved, next_ticket, pointer, store, wide_pointer
from chebact.kernels.cpu.tables import TABLE_LENGTH, add_widened, build_tables
from chebact.kernels.cpu.tasks import (
    LONG_ROW,
    RUN,
    add_blocks,
    jit,
    keep_alive,
    lane_sum,
    next_task,
    partial_start,
    task_bounds,
)


@jit
def to_parameters(result, sums, first, matrix, channel, terms):
    """The gradient of one channel's parameters from its eight sums, from sums[first] on."""
    for j in range(terms):
        total = 0.0
        for k in range(SUMS):
            total += load_one(sums, first + k) * load_one(matrix, j * TABLE_LENGTH + k)
        store(result, channel * terms + j, total)


def programs(
    dtype: Any, lanes: int, edition: int, plain: bool, tailed: bool, joined: bool, smooth: bool
) -> dict[str, Any]:
    """The C functions for one type and width of vectors.

    `plain`: the interval is [-1, 1], where u is x itself. `tailed`: there are lines outside. `joined`: they begin where
    the polynomial ends, also with ends that are rounded. `smooth`: so do the lines of the derivative. What these
    functions close over is plain data, and not other compiled functions, so that Numba finds them on disk again;
    `edition` changes with the source.
    """
    plain, tailed, joined, smooth = (  # type: ignore[assignment]
        choice or None for choice in (plain, tailed, joined, smooth)
    )

    def forward(address: Any) -> None:
        edition  # noqa: B018  # a mention makes it part of the key that the compiled code is kept under
        zero, block = dtype(0), carray(pointer(address, int64), b.LENGTH)
        x, out = wide_pointer(block[b.X], dtype, lanes), wide_pointer(block[b.OUT], dtype, lanes)
        parameters, matrix = pointer(block[b.TABLE], dtype), pointer(block[b.MATRIX], float64)
        k = pointer(block[b.CONSTANTS], dtype)
        channels, inner, terms = block[b.CHANNELS], block[b.INNER], block[b.DEGREE] + 1
        worker, turn = next_ticket(block[b.COUNTERS]), 0
        while True:
            task, turn = next_task(block, worker, turn)
            if task < 0:
                break
            r, o0, o1, c0, c1, i0, i1 = task_bounds(block, task)
            by_rows, length = inner >= LONG_ROW, (c1 - c0) * inner
            room = numpy.empty((c1 - c0) * TABLE_LENGTH, dtype)
            tables = pointer(room.ctypes.data, dtype)
            if by_rows or length % lanes:
                build_tables(tables, parameters, matrix, r * channels + c0, c1 - c0, terms)
            if by_rows:
                for o in range(o0, o1):
                    for c in range(c0, c1):
                        row = ((r * block[b.OUTER] + o) * channels + c) * inner
                        forward_row(x, out, row + i0, row + i1, tables, (c - c0) * TABLE_LENGTH, k, plain, tailed)
            else:
                start = ((r * block[b.OUTER] + o0) * channels + c0) * inner
                own = pointer(block[b.TABLE] + (r * channels + c0) * terms * room.itemsize, dtype)
                kept_room = numpy.empty(length * 10 + lanes, dtype)
                kept = wide_pointer(kept_room.ctypes.data, dtype, lanes)
                forward_columns(
                    x, out, start, channels * inner, o1 - o0, length, inner, own, tables, matrix, terms, kept, k, plain,
                    tailed, zero,
                )  # fmt: skip
                keep_alive(kept_room)
            keep_alive(room)

    def backward(address: Any) -> None:
        edition  # noqa: B018  # a mention makes it part of the key that the compiled code is kept under
        zero, block = dtype(0), carray(pointer(address, int64), b.LENGTH)
        x, g = wide_pointer(block[b.X], dtype, lanes), wide_pointer(block[b.GRAD], dtype, lanes)
        out = wide_pointer(block[b.OUT], dtype, lanes)
        parameters = pointer(block[b.TABLE], dtype)
        slopes, matrix = pointer(block[b.SLOPES], float64), pointer(block[b.MATRIX], float64)
        partial, result = pointer(block[b.PARTIAL], float64), pointer(block[b.RESULT], dtype)
        k = pointer(block[b.CONSTANTS], dtype)
        channels, inner, terms = block[b.CHANNELS], block[b.INNER], block[b.DEGREE] + 1
        alone = block[b.OUTER_BLOCKS] * block[b.INNER_BLOCKS] == 1
        worker, turn = next_ticket(block[b.COUNTERS]), 0
        while True:
            task, turn = next_task(block, worker, turn)
            if task < 0:
                break
            r, o0, o1, c0, c1, i0, i1 = task_bounds(block, task)
            count = c1 - c0
            by_rows, length = inner >= LONG_ROW, count * inner
            at_once = alone and inner == 1 and length % lanes == 0 and o1 - o0 <= RUN
            sums = numpy.zeros(0 if at_once else count * SUMS, numpy.float64)
            room = numpy.empty(count * TABLE_LENGTH, dtype)
            tables = pointer(room.ctypes.data, dtype)
            if by_rows or length % lanes:
                build_tables(tables, parameters, slopes, r * channels + c0, count, terms)
            if by_rows:
                acc_room = numpy.zeros(count * SUMS * lanes, dtype)
                acc = wide_pointer(acc_room.ctypes.data, dtype, lanes)
                total_room = numpy.zeros(count * SUMS * lanes, numpy.float64)
                total = wide_pointer(total_room.ctypes.data, float64, lanes)
                summed = 0
                for o in range(o0, o1):
                    for start in range(i0, i1, RUN * lanes):
                        stop = min(i1, start + RUN * lanes)
                        for c in range(count):
                            row = ((r * block[b.OUTER] + o) * channels + c0 + c) * inner
                            own, at = c * TABLE_LENGTH, c * SUMS * lanes
                            backward_row(
                                x, g, out, row + start, row + stop, tables, own, acc, at, k, plain, tailed, joined,
                                smooth, zero,
                            )  # fmt: skip
                        summed += stop - start
                        if summed >= RUN * lanes:
                            add_widened(acc, total, count * SUMS * lanes, zero)
                            summed = 0
                add_widened(acc, total, count * SUMS * lanes, zero)
                for n in range(count * SUMS):
                    sums[n] = lane_sum(total, n * lanes)
                keep_alive(total_room)
                keep_alive(acc_room)
            else:
                start = ((r * block[b.OUTER] + o0) * channels + c0) * inner
                offset = (r * channels + c0) * terms * room.itemsize
                own, own_result = pointer(block[b.TABLE] + offset, dtype), pointer(block[b.RESULT] + offset, dtype)
                kept_room = numpy.empty(length * (10 + SUMS) + lanes, dtype)
                kept = wide_pointer(kept_room.ctypes.data, dtype, lanes)
                acc = moved(kept, length * 10)
                backward_columns(
                    x, g, out, start, channels * inner, o1 - o0, length, inner, own, tables, slopes, matrix, terms,
                    sums, own_result, kept, acc, k, plain, tailed, joined, smooth, zero,
                )  # fmt: skip
                keep_alive(kept_room)
            keep_alive(room)
            if alone and not at_once:
                for c in range(count):
                    own_sums = pointer(sums.ctypes.data, float64)
                    to_parameters(result, own_sums, c * SUMS, matrix, r * channels + c0 + c, terms)
            elif not at_once:
                first = (partial_start(block, r, o0, i0) + c0) * SUMS
                for n in range(count * SUMS):
                    store(partial, first + n, sums[n])
            keep_alive(sums)

    def finish(address: Any) -> None:
        edition  # noqa: B018  # a mention makes it part of the key that the compiled code is kept under
        block = carray(pointer(address, int64), b.LENGTH)
        result, matrix = pointer(block[b.RESULT], dtype), pointer(block[b.MATRIX], float64)
        channels, terms = block[b.CHANNELS], block[b.DEGREE] + 1
        blocks = block[b.OUTER_BLOCKS] * block[b.INNER_BLOCKS]
        for r in range(block[b.REPLICAS]):
            partial = moved(pointer(block[b.PARTIAL], float64), r * blocks * channels * SUMS)
            add_blocks(partial, blocks, channels * SUMS)
            for c in range(channels):
                to_parameters(result, partial, c * SUMS, matrix, r * channels + c, terms)

    return {"forward": forward, "backward": backward, "finish": finish}
