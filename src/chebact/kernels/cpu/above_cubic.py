"""The CPU kernel above degree 3: loops over rows or columns, around powers in float64 or the barycentric form."""

from __future__ import annotations

from typing import Any

import numpy
from numba import carray, float32, float64, int64

from chebact.basis import SMALL_ENOUGH, steps_down
from chebact.kernels.cpu import call_block as b
from chebact.kernels.cpu.above_cubic_tables import multiplied, padded, put_columns, put_table
from chebact.kernels.cpu.barycentric_formula import constant, slopes_and_sums, values_of
from chebact.kernels.cpu.lanes import (
    fill,
    fma,
    lane,
    load,
    load_one,
    moved,
    next_ticket,
    pointer,
    store,
    total,
    wide_pointer,
    widened,
    width_of,
)
from chebact.kernels.cpu.tables import channel_of
from chebact.kernels.cpu.tasks import (
    LONG_ROW,
    NEAR,
    RUN,
    add_blocks,
    clear,
    jit,
    keep_alive,
    next_task,
    partial_start,
    task_bounds,
)
from chebact.kernels.cpu.wide_formula import wide_slopes, wide_values


@jit
def header(k):
    """The first constants of the barycentric form, in every lane."""
    return constant(k, 0), constant(k, 1), constant(k, 2), constant(k, 3), constant(k, 4)


@jit
def run_values(x, out, start, gap, pairs, k, more, table, at, step, terms, wide, short, plain, lined, joined):
    """The pieces at pairs of vectors of the same channels: the vectors are `gap` apart from `start` on."""
    if wide is not None:
        wide_values(x, out, start, gap, pairs, k, more, table, at, step, terms, short, plain, lined, joined)
    else:
        form = k, header(k), terms, lined
        for i in range(start, start + 2 * gap * pairs, 2 * gap):
            v, w = values_of(load(x, i), load(x, i + gap), form, table, at, step)
            store(out, i, v)
            store(out, i + gap, w)


@jit
def run_slopes(
    x, g, out, start, gap, pairs, k, more, table, at, step, terms, acc, room, wide, short, plain, lined, joined, smooth
):
    """The derivative times g at pairs of vectors; their shares are added to acc."""
    if wide is not None:
        wide_slopes(
            x, g, out, start, gap, pairs, k, more, table, at, step, terms, acc, short, plain, lined, joined, smooth
        )
    else:
        form = k, header(k), terms, lined
        for i in range(start, start + 2 * gap * pairs, 2 * gap):
            v, w, h, f = load(x, i), load(x, i + gap), load(g, i), load(g, i + gap)
            v, w = slopes_and_sums(v, w, h, f, form, table, at, step, room, acc)
            store(out, i, v)
            store(out, i + gap, w)


@jit
def copy_some(room, at, start, i, count, zero):
    """Copy `count` numbers from start[i] on to room[at], and fill up a vector with zeros."""
    for n in range(width_of(room)):
        store(room, at + n, load_one(start, i + n) if n < count else zero)


@jit
def put_some(start, i, room, at, count):
    """Copy `count` numbers from room[at] on to start[i]."""
    for n in range(count):
        store(start, i + n, load_one(room, at + n))


@jit
def copy_pair(room, at, start, i, gap, count, other, zero):
    """Copy the `count` numbers at start[i] and the `other` ones at start[i + gap] to two vectors at room[at]."""
    copy_some(room, at, start, i, count, zero)
    copy_some(room, at + width_of(room), start, i + gap, other, zero)


@jit
def put_pair(start, i, gap, room, count, other):
    """What `copy_pair` took, put back."""
    put_some(start, i, room, int64(0), count)
    put_some(start, i + gap, room, width_of(room), other)


@jit
def flush_row(partial, to, acc, sums):
    """Add the running sums of one channel to partial[to] and on, and clear them."""
    for n in range(sums):
        store(partial, to + n, load_one(partial, to + n) + total(widened(load(acc, n * width_of(acc)))))
    clear(acc, sums * width_of(acc), 0.0)


@jit
def flush(partial, first, acc, length, repeat, sums):
    """Add the running sums of neighbouring channels to theirs in `partial`, and clear them."""
    width = width_of(acc)
    for at in range(length):
        to, start = (first + channel_of(at, repeat)) * sums, at // width * width * sums + at % width
        for n in range(sums):
            store(partial, to + n, load_one(partial, to + n) + float64(load_one(acc, start + n * width)))
    clear(acc, (length + width - 1) // width * width * sums, 0.0)


def programs(
    dtype: Any, lanes: int, edition: int, form: str, plain: bool, lined: bool, joined: bool, smooth: bool
) -> dict[str, Any]:
    """The C functions for one type, width of vectors and form (see `form_of`). For the rest see `cubic.programs`."""
    numpy_type = numpy.float32 if dtype is float32 else numpy.float64
    limits = (float(numpy.finfo(numpy_type).max), SMALL_ENOUGH, *steps_down(numpy_type))
    inside = float64 if form == "wide" else dtype  # the type that tables and running sums are in
    with_factor = int(form != "wide")  # the last number of a table
    divided, most = with_factor or None, limits[0] if form == "nodes" else numpy.inf
    run = 2**40 if form == "wide" else RUN  # terms that a lane adds up in it
    wide, short, plain, lined, joined, smooth = (  # type: ignore[assignment]
        choice or None for choice in (form != "nodes", form == "short", plain, lined, joined, smooth)
    )

    def forward(address: Any) -> None:
        edition  # noqa: B018  # a mention makes it part of the key that the compiled code is kept under
        zero, block = dtype(0), carray(pointer(address, int64), b.LENGTH)
        none, one, width = int64(0), int64(1), int64(lanes)  # literals would be compiled for each alone
        x, out = wide_pointer(block[b.X], dtype, lanes), wide_pointer(block[b.OUT], dtype, lanes)
        table, k = wide_pointer(block[b.TABLE], inside, lanes), wide_pointer(block[b.CONSTANTS], dtype, lanes)
        more = wide_pointer(block[b.SLOPES], float64, lanes)
        values, matrix = pointer(block[b.VALUES], dtype), pointer(block[b.TABLE_MATRIX], float64)
        channels, inner, terms, numbers = block[b.CHANNELS], block[b.INNER], block[b.DEGREE] + 1, block[b.NUMBERS]
        room_array = numpy.empty(2 * lanes, dtype)
        room = wide_pointer(room_array.ctypes.data, dtype, lanes)
        worker, turn = next_ticket(block[b.COUNTERS]), 0
        while True:
            task, turn = next_task(block, worker, turn)
            if task < 0:
                break
            r, o0, o1, c0, c1, i0, i1 = task_bounds(block, task)
            if inner >= LONG_ROW:
                pairs, rest = (i1 - i0) // (2 * lanes), (i1 - i0) % (2 * lanes)
                for o in range(o0, o1):
                    for c in range(c0, c1):
                        i = ((r * block[b.OUTER] + o) * channels + c) * inner + i0
                        at = (r * channels + c) * numbers
                        run_values(
                            x, out, i, width, pairs, k, more, table, at, None, terms, wide, short, plain, lined, joined
                        )
                        if rest:
                            i, near = i + 2 * lanes * pairs, min(rest, lanes)
                            copy_pair(room, none, x, i, width, near, rest - near, zero)
                            run_values(
                                room, room, none, width, one, k, more, table, at, None, terms, wide, short, plain,
                                lined, joined,
                            )  # fmt: skip
                            put_pair(out, i, width, room, near, rest - near)
            else:
                length, gap = (c1 - c0) * inner, channels * inner
                step = padded(x, length)
                columns_array = numpy.empty(step * numbers, inside)
                columns = wide_pointer(columns_array.ctypes.data, inside, lanes)
                bent = (numbers - 1 if lined is None else terms) if wide is None else (terms + 1) // 2 * 2
                put_columns(
                    columns, values, r * channels + c0, c1 - c0, inner, matrix, terms, numbers - with_factor, bent,
                    most, block[b.KEPT], divided, limits,
                )  # fmt: skip
                near = RUN if wide is None else max(4, NEAR // length)
                for begin in range(o0, o1, near):
                    end = min(begin + near, o1)
                    for at in range(0, length, lanes):
                        i = ((r * block[b.OUTER] + begin) * channels + c0) * inner + at
                        count = min(lanes, length - at)
                        pairs = (end - begin) // 2 if count == lanes else 0
                        run_values(
                            x, out, i, gap, pairs, k, more, columns, at, step, terms, wide, short, plain, lined, joined
                        )
                        for o in range(begin + 2 * pairs, end, 2):
                            i, far = ((r * block[b.OUTER] + o) * channels + c0) * inner + at, count * (o + 1 < end)
                            copy_pair(room, none, x, i, gap, count, far, zero)
                            run_values(
                                room, room, none, width, one, k, more, columns, at, step, terms, wide, short, plain,
                                lined, joined,
                            )  # fmt: skip
                            put_pair(out, i, gap, room, count, far)
                keep_alive(columns_array)
        keep_alive(room_array)

    def backward(address: Any) -> None:
        edition  # noqa: B018  # a mention makes it part of the key that the compiled code is kept under
        zero, block = dtype(0), carray(pointer(address, int64), b.LENGTH)
        none, one, width = int64(0), int64(1), int64(lanes)  # literals would be compiled for each alone
        x, g = wide_pointer(block[b.X], dtype, lanes), wide_pointer(block[b.GRAD], dtype, lanes)
        out, partial = wide_pointer(block[b.OUT], dtype, lanes), pointer(block[b.PARTIAL], float64)
        table, k = wide_pointer(block[b.TABLE], inside, lanes), wide_pointer(block[b.CONSTANTS], dtype, lanes)
        more = wide_pointer(block[b.SLOPES], float64, lanes)
        values, matrix = pointer(block[b.VALUES], dtype), pointer(block[b.TABLE_MATRIX], float64)
        channels, inner, terms = block[b.CHANNELS], block[b.INNER], block[b.DEGREE] + 1
        sums, numbers = block[b.SUMS], block[b.NUMBERS]
        room_array = numpy.empty(lanes * (4 + 2 * terms), dtype)
        room = wide_pointer(room_array.ctypes.data, dtype, lanes)
        grads, quotients = moved(room, 2 * lanes), moved(room, 4 * lanes)
        worker, turn = next_ticket(block[b.COUNTERS]), 0
        while True:
            task, turn = next_task(block, worker, turn)
            if task < 0:
                break
            r, o0, o1, c0, c1, i0, i1 = task_bounds(block, task)
            by_rows, length = inner >= LONG_ROW, (c1 - c0) * inner
            step = padded(x, length)
            acc_array = numpy.zeros(sums * (lanes if by_rows else step), inside)
            acc = wide_pointer(acc_array.ctypes.data, inside, lanes)
            first = partial_start(block, r, o0, i0) + c0
            for n in range((c1 - c0) * sums):
                store(partial, first * sums + n, 0.0)
            if by_rows:
                for c in range(c0, c1):
                    at, summed = (r * channels + c) * numbers, 0
                    for o in range(o0, o1):
                        row = ((r * block[b.OUTER] + o) * channels + c) * inner
                        for i in range(row + i0, row + i1, run * lanes):
                            count = min(row + i1 - i, run * lanes)
                            pairs, rest = count // (2 * lanes), count % (2 * lanes)
                            run_slopes(
                                x, g, out, i, width, pairs, k, more, table, at, None, terms, acc, quotients, wide,
                                short, plain, lined, joined, smooth,
                            )  # fmt: skip
                            if rest:
                                j, near = i + 2 * lanes * pairs, min(rest, lanes)
                                copy_pair(room, none, x, j, width, near, rest - near, zero)
                                copy_pair(grads, none, g, j, width, near, rest - near, zero)
                                run_slopes(
                                    room, grads, room, none, width, one, k, more, table, at, None, terms, acc,
                                    quotients, wide, short, plain, lined, joined, smooth,
                                )  # fmt: skip
                                put_pair(out, j, width, room, near, rest - near)
                            summed += count
                            if summed + inner > run * lanes or o == o1 - 1:
                                summed = 0
                                flush_row(partial, (first + c - c0) * sums, acc, sums)
            else:
                gap = channels * inner
                columns_array = numpy.empty(step * numbers, inside)
                columns = wide_pointer(columns_array.ctypes.data, inside, lanes)
                bent = (numbers - 1 if lined is None else terms) if wide is None else (terms + 1) // 2 * 2
                put_columns(
                    columns, values, r * channels + c0, c1 - c0, inner, matrix, terms, numbers - with_factor, bent,
                    most, block[b.KEPT], divided, limits,
                )  # fmt: skip
                near, summed = RUN if wide is None else min(RUN, max(4, NEAR // length)), 0
                for begin in range(o0, o1, near):
                    end = min(begin + near, o1)
                    for at in range(0, length, lanes):
                        i = ((r * block[b.OUTER] + begin) * channels + c0) * inner + at
                        count, own = min(lanes, length - at), moved(acc, at * sums)
                        pairs = (end - begin) // 2 if count == lanes else 0
                        run_slopes(
                            x, g, out, i, gap, pairs, k, more, columns, at, step, terms, own, quotients, wide, short,
                            plain, lined, joined, smooth,
                        )  # fmt: skip
                        for o in range(begin + 2 * pairs, end, 2):
                            i, far = ((r * block[b.OUTER] + o) * channels + c0) * inner + at, count * (o + 1 < end)
                            copy_pair(room, none, x, i, gap, count, far, zero)
                            copy_pair(grads, none, g, i, gap, count, far, zero)
                            run_slopes(
                                room, grads, room, none, width, one, k, more, columns, at, step, terms, own, quotients,
                                wide, short, plain, lined, joined, smooth,
                            )  # fmt: skip
                            put_pair(out, i, gap, room, count, far)
                    summed += end - begin
                    if summed + near > run or end == o1:
                        summed = 0
                        flush(partial, first, acc, length, inner, sums)
                keep_alive(columns_array)
            keep_alive(acc_array)
        keep_alive(room_array)

    def finish(address: Any) -> None:
        edition  # noqa: B018  # a mention makes it part of the key that the compiled code is kept under
        block = carray(pointer(address, int64), b.LENGTH)
        result, matrix = pointer(block[b.RESULT], dtype), pointer(block[b.MATRIX], float64)
        channels, terms, sums = block[b.CHANNELS], block[b.DEGREE] + 1, block[b.SUMS]
        blocks, length = block[b.OUTER_BLOCKS] * block[b.INNER_BLOCKS], padded(matrix, block[b.DEGREE] + 1)
        for r in range(block[b.REPLICAS]):
            partial = moved(pointer(block[b.PARTIAL], float64), r * blocks * channels * sums)
            add_blocks(partial, blocks, channels * sums)
            for c in range(channels):  # not by a library, whose threads would change the order of the sum
                for j in range(0, terms, width_of(matrix)):
                    share = fill(matrix, 0.0)
                    for n in range(sums):
                        share = fma(fill(matrix, load_one(partial, c * sums + n)), load(matrix, n * length + j), share)
                    for k in range(min(width_of(matrix), terms - j)):
                        store(result, (r * channels + c) * terms + j + k, lane(share, k))

    def tables(address: Any) -> None:
        edition  # noqa: B018  # a mention makes it part of the key that the compiled code is kept under
        block = carray(pointer(address, int64), b.LENGTH)
        values, out = pointer(block[b.VALUES], dtype), pointer(block[b.TABLE], inside)
        matrix, terms = pointer(block[b.TABLE_MATRIX], float64), block[b.DEGREE] + 1
        numbers = block[b.NUMBERS] - with_factor
        bent = (numbers if lined is None else terms) if wide is None else (terms + 1) // 2 * 2
        row_array = numpy.empty(padded(matrix, numbers), numpy.float64)
        row = pointer(row_array.ctypes.data, float64)
        for c in range(block[b.REPLICAS] * block[b.CHANNELS]):
            multiplied(row, values, c * terms, matrix, terms, numbers, block[b.KEPT])
            put_table(out, c * block[b.NUMBERS], row, bent, most, numbers, divided, limits)
        keep_alive(row_array)

    return {"tables": tables, "forward": forward, "backward": backward, "finish": finish}
