"""The CPU kernel above degree 3: loops over rows or columns around the barycentric formula."""

from __future__ import annotations

from typing import Any

import numpy
from numba import carray, float32, float64, int64

from chebact.basis import SMALL_ENOUGH, steps_down
from chebact.kernels.cpu.barycentric_formula import numbers_of, slopes_and_sums, values_of
from chebact.kernels.cpu.barycentric_tables import multiplied, padded, put_table
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
from chebact.kernels.cpu.lanes import WIDTH, load, load_one, next_ticket, pointer, splat, store
from chebact.kernels.cpu.tasks import (
    LONG_ROW,
    RUN,
    clear,
    jit,
    keep_alive,
    lane_sum,
    next_task,
    partial_start,
    task_bounds,
)


@jit
def header(constants):
    """The first constants, each in every lane."""
    return (splat(load_one(constants, 0)), splat(load_one(constants, 1)), splat(load_one(constants, 2)),
            splat(load_one(constants, 3)), splat(load_one(constants, 4)))  # fmt: skip


@jit
def in_columns(columns, table, first, count, repeat, numbers):
    """The tables of `count` channels a row a number, every channel `repeat` times, padded to whole vectors."""
    step = (count * repeat + WIDTH - 1) // WIDTH * WIDTH
    for k in range(numbers):
        for i in range(step):
            c = min(i // repeat, count - 1)
            store(columns, k * step + i, load_one(table, (first + c) * numbers + k))


@jit
def some(start, i, count, room, zero):
    """`count` numbers from start[i] on in a vector; the rest repeats the first of them, and none are zeros."""
    if count == WIDTH:
        return load(start, i)
    for k in range(WIDTH):
        store(room, k, load_one(start, i + (k if k < count else 0)) if count else zero)
    return load(room, int64(0))


@jit
def put_some(start, i, count, v, room):
    """Put the first `count` lanes of v at start[i] and on."""
    if count == WIDTH:
        store(start, i, v)
    else:
        store(room, int64(0), v)
        for k in range(count):
            store(start, i + k, load_one(room, k))


@jit
def two_counts(count):
    """How many of the next `count` numbers stand in a first vector, and how many in a second."""
    near = min(WIDTH, count)
    return near, min(WIDTH, count - near)


@jit
def without_rest(h, count, room, zero):
    """The first `count` lanes of h, and zeros."""
    if count == WIDTH:
        return h
    store(room, int64(0), h)
    for k in range(count, WIDTH):
        store(room, k, zero)
    return load(room, int64(0))


def programs(dtype: Any, edition: int, lined: bool) -> dict[str, Any]:
    """The C functions for one type, with straight lines outside or without; see `cubic.programs`."""
    numpy_type = numpy.float32 if dtype is float32 else numpy.float64
    limits = (float(numpy.finfo(numpy_type).max), SMALL_ENOUGH, *steps_down(numpy_type))

    def forward(address: Any) -> None:
        edition  # noqa: B018  # a mention makes it part of the key that the compiled code is kept under
        zero, block = dtype(0), carray(pointer(address, int64), LENGTH)
        x, out = pointer(block[X], dtype), pointer(block[OUT], dtype)
        table, constants = pointer(block[TABLE], dtype), pointer(block[CONSTANTS], dtype)
        ends = header(constants)
        channels, inner, terms = block[CHANNELS], block[INNER], block[DEGREE] + 1
        form, stride = (constants, ends, terms, lined), numbers_of(terms, lined) + 1
        room_array = numpy.empty(WIDTH, dtype)
        room = pointer(room_array.ctypes.data, dtype)
        worker, turn = next_ticket(block[COUNTERS]), 0
        while True:
            task, turn = next_task(block, worker, turn)
            if task < 0:
                break
            r, o0, o1, c0, c1, i0, i1 = task_bounds(block, task)
            if inner >= LONG_ROW:
                for o in range(o0, o1):
                    for c in range(c0, c1):
                        row = ((r * block[OUTER] + o) * channels + c) * inner
                        at = (r * channels + c) * stride
                        for i in range(row + i0, row + i1, 2 * WIDTH):
                            near, far = two_counts(row + i1 - i)
                            v, w = some(x, i, near, room, zero), some(x, i + WIDTH, far, room, zero)
                            v, w = values_of(v, w, form, table, at, int64(0), True)
                            put_some(out, i, near, v, room)
                            put_some(out, i + WIDTH, far, w, room)
            else:
                length = (c1 - c0) * inner
                step = (length + WIDTH - 1) // WIDTH * WIDTH
                columns_array = numpy.empty(step * stride, dtype)
                columns = pointer(columns_array.ctypes.data, dtype)
                in_columns(columns, table, r * channels + c0, c1 - c0, inner, stride)
                for at in range(0, length, WIDTH):
                    count = min(WIDTH, length - at)
                    for o in range(o0, o1, 2):
                        i = ((r * block[OUTER] + o) * channels + c0) * inner + at
                        j, far = i + channels * inner, count if o + 1 < o1 else 0
                        v, w = some(x, i, count, room, zero), some(x, j, far, room, zero)
                        v, w = values_of(v, w, form, columns, at, step, False)
                        put_some(out, i, count, v, room)
                        put_some(out, j, far, w, room)
                keep_alive(columns_array)
        keep_alive(room_array)

    def backward(address: Any) -> None:
        edition  # noqa: B018  # a mention makes it part of the key that the compiled code is kept under
        zero, block = dtype(0), carray(pointer(address, int64), LENGTH)
        x, g, out = pointer(block[X], dtype), pointer(block[GRAD], dtype), pointer(block[OUT], dtype)
        slopes, constants = pointer(block[SLOPES], dtype), pointer(block[CONSTANTS], dtype)
        partial = pointer(block[PARTIAL], float64)
        ends = header(constants)
        channels, inner, terms = block[CHANNELS], block[INNER], block[DEGREE] + 1
        form, numbers = (constants, ends, terms, lined), numbers_of(terms, lined)
        room_array = numpy.empty(WIDTH * (1 + 2 * terms + numbers), dtype)
        room = pointer(room_array.ctypes.data, dtype)
        quotients = pointer(room_array.ctypes.data + WIDTH * room_array.itemsize, dtype)
        acc = pointer(room_array.ctypes.data + WIDTH * (1 + 2 * terms) * room_array.itemsize, dtype)
        worker, turn = next_ticket(block[COUNTERS]), 0
        while True:
            task, turn = next_task(block, worker, turn)
            if task < 0:
                break
            r, o0, o1, c0, c1, i0, i1 = task_bounds(block, task)
            first = partial_start(block, r, o0, i0) + c0
            for n in range((c1 - c0) * numbers):
                store(partial, first * numbers + n, 0.0)
            if inner >= LONG_ROW:
                for o in range(o0, o1):
                    for c in range(c0, c1):
                        row = ((r * block[OUTER] + o) * channels + c) * inner
                        at = (r * channels + c) * (numbers + 1)
                        for start in range(row + i0, row + i1, RUN * WIDTH):
                            stop = min(row + i1, start + RUN * WIDTH)
                            clear(acc, numbers * WIDTH, zero)
                            for i in range(start, stop, 2 * WIDTH):
                                near, far = two_counts(stop - i)
                                v, w = some(x, i, near, room, zero), some(x, i + WIDTH, far, room, zero)
                                a, b = some(g, i, near, room, zero), some(g, i + WIDTH, far, room, zero)
                                a, b = without_rest(a, near, room, zero), without_rest(b, far, room, zero)
                                a, b = slopes_and_sums(v, w, a, b, form, slopes, at, int64(0), True, quotients, acc)
                                put_some(out, i, near, a, room)
                                put_some(out, i + WIDTH, far, b, room)
                            for n in range(numbers):
                                to = (first + c - c0) * numbers + n
                                store(partial, to, load_one(partial, to) + lane_sum(acc, n * WIDTH))
            else:
                length = (c1 - c0) * inner
                step = (length + WIDTH - 1) // WIDTH * WIDTH
                columns_array = numpy.empty(step * (numbers + 1), dtype)
                columns = pointer(columns_array.ctypes.data, dtype)
                in_columns(columns, slopes, r * channels + c0, c1 - c0, inner, numbers + 1)
                for at in range(0, length, WIDTH):
                    count = min(WIDTH, length - at)
                    for begin in range(o0, o1, RUN):
                        clear(acc, numbers * WIDTH, zero)
                        end = min(begin + RUN, o1)
                        for o in range(begin, end, 2):
                            i = ((r * block[OUTER] + o) * channels + c0) * inner + at
                            j, far = i + channels * inner, count if o + 1 < end else 0
                            v, w = some(x, i, count, room, zero), some(x, j, far, room, zero)
                            a, b = some(g, i, count, room, zero), some(g, j, far, room, zero)
                            a, b = slopes_and_sums(v, w, a, b, form, columns, at, step, False, quotients, acc)
                            put_some(out, i, count, a, room)
                            put_some(out, j, far, b, room)
                        for k in range(count):
                            to = (first + (at + k) // inner) * numbers
                            for n in range(numbers):
                                share = float64(load_one(acc, n * WIDTH + k))
                                store(partial, to + n, load_one(partial, to + n) + share)
                keep_alive(columns_array)
        keep_alive(room_array)

    def finish(address: Any) -> None:
        edition  # noqa: B018  # a mention makes it part of the key that the compiled code is kept under
        block = carray(pointer(address, int64), LENGTH)
        partial, result = pointer(block[PARTIAL], float64), pointer(block[RESULT], dtype)
        matrix = pointer(block[MATRIX], float64)
        channels, terms = block[CHANNELS], block[DEGREE] + 1
        numbers, blocks = numbers_of(terms, lined), block[OUTER_BLOCKS] * block[INNER_BLOCKS]
        row = numpy.empty(terms, numpy.float64)
        for r in range(block[REPLICAS]):
            for c in range(channels):
                row[:] = 0.0
                for n in range(numbers):
                    total = 0.0
                    for b in range(blocks):
                        total += load_one(partial, ((r * blocks + b) * channels + c) * numbers + n)
                    for j in range(terms):  # not by a library, whose threads would change the order of the sum
                        row[j] += total * load_one(matrix, n * terms + j)
                for j in range(terms):
                    store(result, (r * channels + c) * terms + j, row[j])

    def tables(address: Any) -> None:
        edition  # noqa: B018  # a mention makes it part of the key that the compiled code is kept under
        block = carray(pointer(address, int64), LENGTH)
        values, out = pointer(block[X], dtype), pointer(block[OUT], dtype)
        matrix, terms = pointer(block[MATRIX], float64), block[DEGREE] + 1
        numbers, kept = numbers_of(terms, lined), block[INNER]
        row_array = numpy.empty(padded(numbers), numpy.float64)
        row = pointer(row_array.ctypes.data, float64)
        for c in range(block[CHANNELS]):
            multiplied(row, values, c * terms, matrix, terms, numbers, kept)
            put_table(out, c * (numbers + 1), row, terms, numbers, lined, limits)
        keep_alive(row_array)

    return {"tables": tables, "forward": forward, "backward": backward, "finish": finish}
