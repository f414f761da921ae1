"""The CPU kernel up to degree 3: power coefficients and Horner's rule, bound by memory and not by arithmetic.

The table of a channel has ten numbers: four power coefficients in u = (x - middle) * scale, the left line's height and
slope, the right line's, and the heights at the two nodes between the ends, so that at a node the value itself comes
out. `matrix` takes the parameters of a channel to its table; its transpose takes sums back to parameters.
"""

from __future__ import annotations

from typing import Any

import numpy
from numba import carray, float64, int64

from chebact.kernels.cpu_code import (
    CHANNELS,
    CONSTANTS,
    COUNTERS,
    DEGREE,
    GRAD,
    INNER,
    INNER_BLOCKS,
    LONG_ROW,
    MATRIX,
    OUT,
    OUTER,
    OUTER_BLOCKS,
    PARTIAL,
    REPLICAS,
    RESULT,
    RUN,
    SLOPES,
    TABLE,
    X,
    jit,
    keep_alive,
    lane_sum,
    next_task,
    partial_start,
    task_bounds,
)  # fmt: skip
from chebact.kernels.cpu_tables import (
    TABLE_LENGTH,
    add_eight,
    add_lanes,
    add_numbers,
    add_widened,
    build_tables,
    channels_at,
    eight_of,
    keep_eight,
    lanes_to_parameters,
    spread,
    ten_lanes,
    ten_of,
)  # fmt: skip
from chebact.kernels.lanes import WIDTH, choose, fma, less, load, load_one, next_ticket, pointer, same, splat, store

SUMS = 8  # four power sums, and the height's and the slope's share of either line


@jit
def inside(v, ends):
    """v, held to the interval."""
    low = choose(less(ends[1], v), ends[1], v)
    return choose(less(low, ends[0]), ends[0], low)


@jit
def value_at(v, u, t, nodes, ends, tailed):
    """The pieces at v; u is its position in the power form. Without tails the end nodes are nodes like the others."""
    p = fma(u, fma(u, fma(u, t[3], t[2]), t[1]), t[0])
    p = choose(same(v, nodes[0]), t[8], p)
    p = choose(same(v, nodes[1]), t[9], p)
    if tailed is None:
        p = choose(same(v, nodes[2]), t[4], p)
        return choose(same(v, nodes[3]), t[6], p)
    p = choose(less(v, ends[1]), p, fma(t[7], v - ends[1], t[6]))
    return choose(less(ends[0], v), p, fma(t[5], v - ends[0], t[4]))


@jit
def slope_at(v, u, d, ends):
    """The derivative's pieces at v: three power coefficients and a constant on either side."""
    p = fma(u, fma(u, d[2], d[1]), d[0])
    p = choose(less(v, ends[1]), p, d[6])
    return choose(less(ends[0], v), p, d[4])


@jit
def add_joined_sums(a, v, c, u, g, zero):
    """The sums a with the share of one element (or of one vector) added, where the lines go on from the polynomial.

    Then sigma(v) = P(c) + slope (v - c) with c = v held to the interval: no element has to be told from another.
    """
    gu = g * u
    guu = gu * u
    beyond = v - c
    return (
        a[0] + g,
        a[1] + gu,
        a[2] + guu,
        fma(guu, u, a[3]),
        a[4],
        fma(choose(less(beyond, zero), beyond, zero), g, a[5]),
        a[6],
        fma(choose(less(zero, beyond), beyond, zero), g, a[7]),
    )


@jit
def add_sums(a, v, u, g, zero, ends):
    """The sums a with the share of one element (or of one vector) added, where the lines have heights of their own."""
    left, right = less(ends[0], v), less(v, ends[1])
    h = choose(left, choose(right, g, zero), zero)
    hu = h * u
    huu = hu * u
    return (
        a[0] + h,
        a[1] + hu,
        a[2] + huu,
        fma(huu, u, a[3]),
        a[4] + choose(left, zero, g),
        fma(choose(left, zero, v - ends[0]), g, a[5]),
        a[6] + choose(right, zero, g),
        fma(choose(right, zero, v - ends[1]), g, a[7]),
    )


@jit
def to_parameters(result, sums, matrix, channel, terms):
    """The gradient of one channel's parameters from its eight sums."""
    for j in range(terms):
        total = 0.0
        for k in range(SUMS):
            total += sums[k] * load_one(matrix, j * TABLE_LENGTH + k)
        store(result, channel * terms + j, total)


@jit
def slope(v, u, d, ends, smooth):
    """The derivative at v; None or True for `smooth` settles the branch when the loop is compiled."""
    if smooth is None:
        return slope_at(v, u, d, ends)
    return fma(u, fma(u, d[2], d[1]), d[0])


@jit
def add(a, v, c, u, g, zero, ends, joined):
    """The sums with one more share, by the shorter way where the lines are joined to the polynomial."""
    if joined is None:
        return add_sums(a, v, u, g, zero, ends)
    return add_joined_sums(a, v, c, u, g, zero)


@jit
def position(c, place, plain):
    """Where c is in the power form."""
    if plain is None:
        return ((c - place[0]) - place[1]) * place[2]
    return c


@jit
def constants(k):
    """The ends, the place of the interval and the nodes between its ends."""
    ends = (load_one(k, 0), load_one(k, 1))
    place = (load_one(k, 2), load_one(k, 3), load_one(k, 4))
    return ends, place, (load_one(k, 5), load_one(k, 6), load_one(k, 7), load_one(k, 8))


@jit
def spread_constants(ends, place, between):
    """The constants in every lane."""
    return (
        (splat(ends[0]), splat(ends[1])),
        (splat(place[0]), splat(place[1]), splat(place[2])),
        (splat(between[0]), splat(between[1]), splat(between[2]), splat(between[3])),
    )


@jit
def forward_row(x, out, start, stop, table, k, plain, tailed):
    """One channel's row from start to stop."""
    ends, place, between = k
    lane_ends, lane_place, lane_between = spread_constants(ends, place, between)
    t = spread(table)
    whole = start + (stop - start) // WIDTH * WIDTH
    for i in range(start, whole, WIDTH):
        v = load(x, i)
        store(
            out, i, value_at(v, position(inside(v, lane_ends), lane_place, plain), t, lane_between, lane_ends, tailed)
        )
    for i in range(whole, stop):
        v = load_one(x, i)
        store(out, i, value_at(v, position(inside(v, ends), place, plain), table, between, ends, tailed))


@jit
def forward_columns(
    x, out, start, step, rows, length, repeat, parameters, tables, matrix, terms, k, plain, tailed, zero
):
    """Neighbouring channels side by side, a block of rows."""
    ends, place, between = k
    lane_ends, lane_place, lane_between = spread_constants(ends, place, between)
    whole = length // WIDTH * WIDTH
    for at in range(0, whole, WIDTH):
        t = ten_lanes(parameters, channels_at(at, repeat), matrix, terms, zero)
        for row in range(rows):
            i = start + row * step + at
            v = load(x, i)
            store(
                out,
                i,
                value_at(v, position(inside(v, lane_ends), lane_place, plain), t, lane_between, lane_ends, tailed),
            )
    for at in range(whole, length):
        s = ten_of(tables, at // repeat * TABLE_LENGTH)
        for row in range(rows):
            i = start + row * step + at
            w = load_one(x, i)
            store(out, i, value_at(w, position(inside(w, ends), place, plain), s, between, ends, tailed))


@jit
def backward_row(x, g, out, start, stop, table, acc, at, k, plain, joined, smooth, zero):
    """One channel's row from start to stop; its sums are vectors kept at acc[at]."""
    ends, place, _ = k
    lane_ends, lane_place, _ = spread_constants(ends, place, (zero, zero, zero, zero))
    d = spread(table)
    none = splat(zero)
    a = eight_of(acc, at)
    whole = start + (stop - start) // WIDTH * WIDTH
    for i in range(start, whole, WIDTH):
        v, h = load(x, i), load(g, i)
        c = inside(v, lane_ends)
        u = position(c, lane_place, plain)
        store(out, i, h * slope(v, u, d, lane_ends, smooth))
        a = add(a, v, c, u, h, none, lane_ends, joined)
    keep_eight(acc, at, a)
    if whole < stop:
        b = (zero, zero, zero, zero, zero, zero, zero, zero)
        for i in range(whole, stop):
            w, f = load_one(x, i), load_one(g, i)
            e = inside(w, ends)
            s = position(e, place, plain)
            store(out, i, f * slope(w, s, table, ends, smooth))
            b = add(b, w, e, s, f, zero, ends, joined)
        add_eight(acc, at, WIDTH, b)


@jit
def backward_columns(
    x, g, out, start, step, rows, length, repeat, parameters, tables, slopes, matrix, terms, sums, result, k,
    plain, joined, smooth, zero,
):  # fmt: skip
    """Eight neighbouring positions at a time; a `result` takes the gradients at once, else `sums` grow."""
    ends, place, _ = k
    lane_ends, lane_place, _ = spread_constants(ends, place, (zero, zero, zero, zero))
    none = splat(zero)
    whole = length // WIDTH * WIDTH
    for at in range(0, whole, WIDTH):
        own = channels_at(at, repeat)
        d = ten_lanes(parameters, own, slopes, terms, zero)
        for begin in range(0, rows, RUN):
            a = (none, none, none, none, none, none, none, none)
            for row in range(begin, min(begin + RUN, rows)):
                i = start + row * step + at
                v, h = load(x, i), load(g, i)
                c = inside(v, lane_ends)
                u = position(c, lane_place, plain)
                store(out, i, h * slope(v, u, d, lane_ends, smooth))
                a = add(a, v, c, u, h, none, lane_ends, joined)
            if sums.size:
                add_lanes(sums, own, a)
            else:
                lanes_to_parameters(result, a, matrix, at, terms)
    for at in range(whole, length):
        s = ten_of(tables, at // repeat * TABLE_LENGTH)
        for begin in range(0, rows, RUN):
            b = (zero, zero, zero, zero, zero, zero, zero, zero)
            for row in range(begin, min(begin + RUN, rows)):
                i = start + row * step + at
                w, f = load_one(x, i), load_one(g, i)
                e = inside(w, ends)
                n = position(e, place, plain)
                store(out, i, f * slope(w, n, s, ends, smooth))
                b = add(b, w, e, n, f, zero, ends, joined)
            add_numbers(sums, at // repeat, b)


def programs(dtype: Any, edition: int, plain: bool, tailed: bool, joined: bool, smooth: bool) -> dict[str, Any]:
    """The C functions for one type.

    `plain`: the interval is [-1, 1], where u is x itself. `tailed`: there are lines outside. `joined`: they begin where
    the polynomial ends. `smooth`: so do the lines of the derivative. What these functions close over is plain data, and
    not other compiled functions, so that Numba finds them on disk again; `edition` changes with the source.
    """
    plain, tailed, joined, smooth = (  # type: ignore[assignment]
        choice or None for choice in (plain, tailed, joined, smooth)
    )

    def forward(address: Any) -> None:
        edition  # noqa: B018  # a mention makes it part of the key that the compiled code is kept under
        zero, block = dtype(0), carray(pointer(address, int64), 23)
        x, out = pointer(block[X], dtype), pointer(block[OUT], dtype)
        parameters, matrix = pointer(block[TABLE], dtype), pointer(block[MATRIX], float64)
        k = constants(pointer(block[CONSTANTS], dtype))
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
                        forward_row(
                            x, out, row + i0, row + i1, ten_of(tables, (c - c0) * TABLE_LENGTH), k, plain, tailed
                        )
            else:
                start = ((r * block[OUTER] + o0) * channels + c0) * inner
                own = pointer(block[TABLE] + (r * channels + c0) * terms * room.itemsize, dtype)
                forward_columns(
                    x,
                    out,
                    start,
                    channels * inner,
                    o1 - o0,
                    length,
                    inner,
                    own,
                    tables,
                    matrix,
                    terms,
                    k,
                    plain,
                    tailed,
                    zero,
                )
            keep_alive(room)

    def backward(address: Any) -> None:
        edition  # noqa: B018  # a mention makes it part of the key that the compiled code is kept under
        zero, block = dtype(0), carray(pointer(address, int64), 23)
        x, g, out = pointer(block[X], dtype), pointer(block[GRAD], dtype), pointer(block[OUT], dtype)
        parameters = pointer(block[TABLE], dtype)
        slopes, matrix = pointer(block[SLOPES], float64), pointer(block[MATRIX], float64)
        partial, result = pointer(block[PARTIAL], float64), pointer(block[RESULT], dtype)
        k = constants(pointer(block[CONSTANTS], dtype))
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
                            table, at = ten_of(tables, c * TABLE_LENGTH), c * SUMS * WIDTH
                            backward_row(
                                x, g, out, row + start, row + stop, table, acc, at, k, plain, joined, smooth, zero
                            )
                        summed += stop - start
                        if summed >= RUN * WIDTH:
                            add_widened(acc, total, count * SUMS * WIDTH)
                            summed = 0
                add_widened(acc, total, count * SUMS * WIDTH)
                for n in range(count * SUMS):
                    sums[n] = lane_sum(total, n * WIDTH)
                keep_alive(total_room)
                keep_alive(acc_room)
            else:
                start = ((r * block[OUTER] + o0) * channels + c0) * inner
                offset = (r * channels + c0) * terms * room.itemsize
                own, own_result = pointer(block[TABLE] + offset, dtype), pointer(block[RESULT] + offset, dtype)
                backward_columns(
                    x, g, out, start, channels * inner, o1 - o0, length, inner, own, tables, slopes, matrix, terms,
                    sums, own_result, k, plain, joined, smooth, zero,
                )  # fmt: skip
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
        block = carray(pointer(address, int64), 23)
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
