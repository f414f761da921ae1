"""The CPU kernel up to degree 3: power coefficients and Horner's rule, bound by memory and not by arithmetic.

The table of a channel has ten numbers: four power coefficients in u = (x - middle) * scale, the left line's height and
slope, the right line's, and the heights at the two nodes between the ends, so that at a node the value itself comes
out. `matrix` takes the parameters of a channel to its table; its transpose takes sums back to parameters.
"""

from __future__ import annotations

from typing import Any

import numpy
from numba import carray, float64, int64

from chebact.kernels.cpu.call_block import (
    CHANNELS,
    CONSTANTS,
    COUNTERS,
    DEGREE,
    GRAD,
    INNER,
    INNER_BLOCKS,
    LENGTH,
    MATRIX,
    OUT,
    OUTER,
    OUTER_BLOCKS,
    PARTIAL,
    REPLICAS,
    RESULT,
    SLOPES,
    TABLE,
    X,
)
from chebact.kernels.cpu.cubic_loops import (
    SUMS,
    backward_columns,
    backward_row,
    forward_columns,
    forward_row,
)
from chebact.kernels.cpu.lanes import WIDTH, load_one, next_ticket, pointer, store
from chebact.kernels.cpu.tables import TABLE_LENGTH, add_widened, build_tables
from chebact.kernels.cpu.tasks import LONG_ROW, RUN, jit, keep_alive, lane_sum, next_task, partial_start, task_bounds


@jit
def to_parameters(result, sums, matrix, channel, terms):
    """The gradient of one channel's parameters from its eight sums."""
    for j in range(terms):
        total = 0.0
        for k in range(SUMS):
            total += sums[k] * load_one(matrix, j * TABLE_LENGTH + k)
        store(result, channel * terms + j, total)


def programs(dtype: Any, edition: int, plain: bool, tailed: bool, joined: bool, smooth: bool) -> dict[str, Any]:
    """The C functions for one type.

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
        zero, block = dtype(0), carray(pointer(address, int64), LENGTH)
        x, out = pointer(block[X], dtype), pointer(block[OUT], dtype)
        parameters, matrix = pointer(block[TABLE], dtype), pointer(block[MATRIX], float64)
        k = pointer(block[CONSTANTS], dtype)
        channels, inner, terms = block[CHANNELS], block[INNER], block[DEGREE] + 1
        worker, turn = next_ticket(block[COUNTERS]), 0
        while True:
            task, turn = next_task(block, worker, turn)
            if task < 0:
                break
            r, o0, o1, c0, c1, i0, i1 = task_bounds(block, task)
            by_rows, length = inner >= LONG_ROW, (c1 - c0) * inner
            room = numpy.empty((c1 - c0) * TABLE_LENGTH, dtype)
            tables = pointer(room.ctypes.data, dtype)
            if by_rows or length % WIDTH:
                build_tables(tables, parameters, matrix, r * channels + c0, c1 - c0, terms)
            if by_rows:
                for o in range(o0, o1):
                    for c in range(c0, c1):
                        row = ((r * block[OUTER] + o) * channels + c) * inner
                        forward_row(x, out, row + i0, row + i1, tables, (c - c0) * TABLE_LENGTH, k, plain, tailed)
            else:
                start = ((r * block[OUTER] + o0) * channels + c0) * inner
                own = pointer(block[TABLE] + (r * channels + c0) * terms * room.itemsize, dtype)
                kept_room = numpy.empty(length * 10, dtype)
                kept = pointer(kept_room.ctypes.data, dtype)
                forward_columns(
                    x, out, start, channels * inner, o1 - o0, length, inner, own, tables, matrix, terms, kept, k, plain,
                    tailed, zero,
                )  # fmt: skip
                keep_alive(kept_room)
            keep_alive(room)

    def backward(address: Any) -> None:
        edition  # noqa: B018  # a mention makes it part of the key that the compiled code is kept under
        zero, block = dtype(0), carray(pointer(address, int64), LENGTH)
        x, g, out = pointer(block[X], dtype), pointer(block[GRAD], dtype), pointer(block[OUT], dtype)
        parameters = pointer(block[TABLE], dtype)
        slopes, matrix = pointer(block[SLOPES], float64), pointer(block[MATRIX], float64)
        partial, result = pointer(block[PARTIAL], float64), pointer(block[RESULT], dtype)
        k = pointer(block[CONSTANTS], dtype)
        channels, inner, terms = block[CHANNELS], block[INNER], block[DEGREE] + 1
        alone = block[OUTER_BLOCKS] * block[INNER_BLOCKS] == 1
        worker, turn = next_ticket(block[COUNTERS]), 0
        while True:
            task, turn = next_task(block, worker, turn)
            if task < 0:
                break
            r, o0, o1, c0, c1, i0, i1 = task_bounds(block, task)
            count = c1 - c0
            by_rows, length = inner >= LONG_ROW, count * inner
            at_once = alone and inner == 1 and length % WIDTH == 0 and o1 - o0 <= RUN
            sums = numpy.zeros(0 if at_once else count * SUMS, numpy.float64)
            room = numpy.empty(count * TABLE_LENGTH, dtype)
            tables = pointer(room.ctypes.data, dtype)
            if by_rows or length % WIDTH:
                build_tables(tables, parameters, slopes, r * channels + c0, count, terms)
            if by_rows:
                acc_room = numpy.zeros(count * SUMS * WIDTH, dtype)
                acc = pointer(acc_room.ctypes.data, dtype)
                total_room = numpy.zeros(count * SUMS * WIDTH, numpy.float64)
                total = pointer(total_room.ctypes.data, float64)
                summed = 0
                for o in range(o0, o1):
                    for start in range(i0, i1, RUN * WIDTH):
                        stop = min(i1, start + RUN * WIDTH)
                        for c in range(count):
                            row = ((r * block[OUTER] + o) * channels + c0 + c) * inner
                            own, at = c * TABLE_LENGTH, c * SUMS * WIDTH
                            backward_row(
                                x, g, out, row + start, row + stop, tables, own, acc, at, k, plain, tailed, joined,
                                smooth, zero,
                            )  # fmt: skip
                        summed += stop - start
                        if summed >= RUN * WIDTH:
                            add_widened(acc, total, count * SUMS * WIDTH, zero)
                            summed = 0
                add_widened(acc, total, count * SUMS * WIDTH, zero)
                for n in range(count * SUMS):
                    sums[n] = lane_sum(total, n * WIDTH)
                keep_alive(total_room)
                keep_alive(acc_room)
            else:
                start = ((r * block[OUTER] + o0) * channels + c0) * inner
                offset = (r * channels + c0) * terms * room.itemsize
                own, own_result = pointer(block[TABLE] + offset, dtype), pointer(block[RESULT] + offset, dtype)
                kept_room = numpy.empty(length * (10 + SUMS), dtype)
                kept = pointer(kept_room.ctypes.data, dtype)
                acc = pointer(kept_room.ctypes.data + length * 10 * room.itemsize, dtype)
                backward_columns(
                    x, g, out, start, channels * inner, o1 - o0, length, inner, own, tables, slopes, matrix, terms,
                    sums, own_result, kept, acc, k, plain, tailed, joined, smooth, zero,
                )  # fmt: skip
                keep_alive(kept_room)
            keep_alive(room)
            if alone and not at_once:
                for c in range(count):
                    to_parameters(result, sums[c * SUMS : (c + 1) * SUMS], matrix, r * channels + c0 + c, terms)
            elif not at_once:
                first = (partial_start(block, r, o0, i0) + c0) * SUMS
                for n in range(count * SUMS):
                    store(partial, first + n, sums[n])

    def finish(address: Any) -> None:
        edition  # noqa: B018  # a mention makes it part of the key that the compiled code is kept under
        block = carray(pointer(address, int64), LENGTH)
        partial, result = pointer(block[PARTIAL], float64), pointer(block[RESULT], dtype)
        matrix = pointer(block[MATRIX], float64)
        channels, terms = block[CHANNELS], block[DEGREE] + 1
        blocks = block[OUTER_BLOCKS] * block[INNER_BLOCKS]
        sums = numpy.empty(SUMS, numpy.float64)
        for r in range(block[REPLICAS]):
            for c in range(channels):
                sums[:] = 0.0
                for b in range(blocks):
                    for n in range(SUMS):
                        sums[n] += load_one(partial, ((r * blocks + b) * channels + c) * SUMS + n)
                to_parameters(result, sums, matrix, r * channels + c, terms)

    return {"forward": forward, "backward": backward, "finish": finish}
