"""The CPU kernel above degree 3: the second barycentric form, with every node kept as a high and a low part.

P(x) = sum(w_j y_j / (x - x_j)) / sum(w_j / (x - x_j)) is as accurate as its data at any degree, and the derivative is
the same formula with the slopes at the nodes in place of the heights. The sums for the parameters' gradient reuse the
quotients. The table of a channel is its pieces: degree + 1 heights, then height and slope of either line.
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
    clear,
    jit,
    keep_alive,
    lane_sum,
    next_task,
    partial_start,
    task_bounds,
)  # fmt: skip
from chebact.kernels.lanes import (
    WIDTH,
    choose,
    either,
    fma,
    less,
    load,
    load_one,
    next_ticket,
    pointer,
    same,
    splat,
    store,
)

HEADER = 3  # the constants begin with left end, right end and the number that stands for a difference of zero
LINES = 4


@jit
def held(v, left, right):
    """v, held to the interval."""
    low = choose(less(right, v), right, v)
    return choose(less(low, left), left, low)


@jit
def with_lines(p, v, left, right, lines):
    """p between the ends, the straight lines outside."""
    p = choose(less(v, right), p, fma(lines[3], v - right, lines[2]))
    return choose(less(left, v), p, fma(lines[1], v - left, lines[0]))


@jit
def four_splat(t, i):
    """Four numbers from t[i] on, each in every lane."""
    return splat(load_one(t, i)), splat(load_one(t, i + 1)), splat(load_one(t, i + 2)), splat(load_one(t, i + 3))


@jit
def four_columns(t, i, step):
    """Four vectors, `step` apart."""
    return load(t, i), load(t, i + step), load(t, i + 2 * step), load(t, i + 3 * step)


@jit
def quotient(c, constants, j, terms, tiny):
    """w_j / (c - x_j), where a difference near zero counts as tiny; and whether c is the node, rounded to its type."""
    high = splat(load_one(constants, HEADER + j))
    difference = (c - high) - splat(load_one(constants, HEADER + terms + j))
    zero = tiny - tiny
    size = choose(less(difference, zero), zero - difference, difference)
    difference = choose(less(size, tiny), tiny, difference)
    return splat(load_one(constants, HEADER + 2 * terms + j)) / difference, same(c, high)


@jit
def in_columns(columns, table, first, count, repeat, numbers):
    """The tables of `count` channels a row a number, every channel `repeat` times, padded to whole vectors."""
    step = (count * repeat + WIDTH - 1) // WIDTH * WIDTH
    for k in range(numbers):
        for i in range(step):
            c = min(i // repeat, count - 1)
            store(columns, k * step + i, load_one(table, (first + c) * numbers + k))


@jit
def compensated(total, term):
    """The sum, and what of `term` was lost in it, to be taken from the next term."""
    grown = total + term
    return grown, (grown - total) - term


@jit
def value_of(v, constants, ends, rows, at, step, by_rows, terms):
    """The pieces at v. Kahan's sums: a thousand terms in a row would lose digits."""
    left, right, tiny = ends
    c = held(v, left, right)
    zero = tiny - tiny
    above, below, hit = zero, zero, zero
    found = less(tiny, tiny)
    lost_above, lost_below = zero, zero
    for j in range(terms):
        y = splat(load_one(rows, at + j)) if by_rows else load(rows, at + j * step)
        q, here = quotient(c, constants, j, terms, tiny)
        above, lost_above = compensated(above, fma(q, y, zero - lost_above))
        below, lost_below = compensated(below, q - lost_below)
        hit = choose(here, y, hit)
        found = either(found, here)
    lines = four_splat(rows, at + terms) if by_rows else four_columns(rows, at + terms * step, step)
    return with_lines(choose(found, hit, above / below), v, left, right, lines)


@jit
def some(start, i, count, room):
    """`count` numbers from start[i] on in a vector; the rest repeats the first of them."""
    if count == WIDTH:
        return load(start, i)
    for k in range(WIDTH):
        store(room, k, load_one(start, i + (k if k < count else 0)))
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
def slope_and_sums(v, g, slope_rows, at, step, by_rows, constants, ends, terms, quotients, acc):
    """The derivative at v times g; the quotients' share is added to acc, the lines' share behind it."""
    left, right, tiny = ends
    zero = tiny - tiny
    c = held(v, left, right)
    above, below = zero, zero
    lost_above, lost_below = zero, zero
    for j in range(terms):
        d = splat(load_one(slope_rows, at + j)) if by_rows else load(slope_rows, at + j * step)
        q, _ = quotient(c, constants, j, terms, tiny)
        above, lost_above = compensated(above, fma(q, d, zero - lost_above))
        below, lost_below = compensated(below, q - lost_below)
        store(quotients, j * WIDTH, q)
    on_left, on_right = less(left, v), less(v, right)
    share = choose(on_left, choose(on_right, g, zero), zero)
    inverse = (tiny / tiny) / below  # the basis functions first: a small g over a large sum would lose its digits
    for j in range(terms):
        store(acc, j * WIDTH, fma(load(quotients, j * WIDTH) * inverse, share, load(acc, j * WIDTH)))
    at_lines = terms * WIDTH
    store(acc, at_lines, load(acc, at_lines) + choose(on_left, zero, g))
    store(acc, at_lines + WIDTH, fma(choose(on_left, zero, v - left), g, load(acc, at_lines + WIDTH)))
    store(acc, at_lines + 2 * WIDTH, load(acc, at_lines + 2 * WIDTH) + choose(on_right, zero, g))
    store(acc, at_lines + 3 * WIDTH, fma(choose(on_right, zero, v - right), g, load(acc, at_lines + 3 * WIDTH)))
    lines = four_splat(slope_rows, at + terms) if by_rows else four_columns(slope_rows, at + terms * step, step)
    return g * with_lines(above / below, v, left, right, lines)


@jit
def without_rest(h, count, room, zero):
    """The first `count` lanes of h, and zeros."""
    store(room, int64(0), h)
    for k in range(count, WIDTH):
        store(room, k, zero)
    return load(room, int64(0))


def programs(dtype: Any, edition: int) -> dict[str, Any]:
    """The C functions for one type; see `cpu_cubic.programs`."""

    def forward(address: Any) -> None:
        edition  # noqa: B018  # a mention makes it part of the key that the compiled code is kept under
        block = carray(pointer(address, int64), 23)
        x, out = pointer(block[X], dtype), pointer(block[OUT], dtype)
        table, constants = pointer(block[TABLE], dtype), pointer(block[CONSTANTS], dtype)
        ends = (splat(load_one(constants, 0)), splat(load_one(constants, 1)), splat(load_one(constants, 2)))
        channels, inner, terms = block[CHANNELS], block[INNER], block[DEGREE] + 1
        numbers = terms + LINES
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
                        at = (r * channels + c) * numbers
                        for i in range(row + i0, row + i1, WIDTH):
                            count = min(WIDTH, row + i1 - i)
                            v = some(x, i, count, room)
                            put_some(
                                out, i, count, value_of(v, constants, ends, table, at, int64(0), True, terms), room
                            )
            else:
                length = (c1 - c0) * inner
                step = (length + WIDTH - 1) // WIDTH * WIDTH
                columns_array = numpy.empty(step * numbers, dtype)
                columns = pointer(columns_array.ctypes.data, dtype)
                in_columns(columns, table, r * channels + c0, c1 - c0, inner, numbers)
                for o in range(o0, o1):
                    start = ((r * block[OUTER] + o) * channels + c0) * inner
                    for at in range(0, length, WIDTH):
                        count = min(WIDTH, length - at)
                        v = some(x, start + at, count, room)
                        put_some(
                            out, start + at, count, value_of(v, constants, ends, columns, at, step, False, terms), room
                        )
                keep_alive(columns_array)
        keep_alive(room_array)

    def backward(address: Any) -> None:
        edition  # noqa: B018  # a mention makes it part of the key that the compiled code is kept under
        zero, block = dtype(0), carray(pointer(address, int64), 23)
        x, g, out = pointer(block[X], dtype), pointer(block[GRAD], dtype), pointer(block[OUT], dtype)
        slopes, constants = pointer(block[SLOPES], dtype), pointer(block[CONSTANTS], dtype)
        partial = pointer(block[PARTIAL], float64)
        ends = (splat(load_one(constants, 0)), splat(load_one(constants, 1)), splat(load_one(constants, 2)))
        channels, inner, terms = block[CHANNELS], block[INNER], block[DEGREE] + 1
        numbers = terms + LINES
        room_array = numpy.empty(WIDTH * (1 + terms + numbers), dtype)
        room = pointer(room_array.ctypes.data, dtype)
        quotients = pointer(room_array.ctypes.data + WIDTH * room_array.itemsize, dtype)
        acc = pointer(room_array.ctypes.data + WIDTH * (1 + terms) * room_array.itemsize, dtype)
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
                        at = (r * channels + c) * numbers
                        for start in range(row + i0, row + i1, RUN * WIDTH):
                            stop = min(row + i1, start + RUN * WIDTH)
                            clear(acc, numbers * WIDTH, zero)
                            for i in range(start, stop, WIDTH):
                                count = min(WIDTH, stop - i)
                                v, h = some(x, i, count, room), some(g, i, count, room)
                                if count < WIDTH:
                                    h = without_rest(h, count, room, zero)
                                h = slope_and_sums(
                                    v, h, slopes, at, int64(0), True, constants, ends, terms, quotients, acc
                                )
                                put_some(out, i, count, h, room)
                            for n in range(numbers):
                                to = (first + c - c0) * numbers + n
                                store(partial, to, load_one(partial, to) + lane_sum(acc, n * WIDTH))
            else:
                length = (c1 - c0) * inner
                step = (length + WIDTH - 1) // WIDTH * WIDTH
                columns_array = numpy.empty(step * numbers, dtype)
                columns = pointer(columns_array.ctypes.data, dtype)
                in_columns(columns, slopes, r * channels + c0, c1 - c0, inner, numbers)
                for at in range(0, length, WIDTH):
                    count = min(WIDTH, length - at)
                    for begin in range(o0, o1, RUN):
                        clear(acc, numbers * WIDTH, zero)
                        for o in range(begin, min(begin + RUN, o1)):
                            i = ((r * block[OUTER] + o) * channels + c0) * inner + at
                            v, h = some(x, i, count, room), some(g, i, count, room)
                            h = slope_and_sums(v, h, columns, at, step, False, constants, ends, terms, quotients, acc)
                            put_some(out, i, count, h, room)
                        for k in range(count):
                            to = (first + (at + k) // inner) * numbers
                            for n in range(numbers):
                                share = float64(load_one(acc, n * WIDTH + k))
                                store(partial, to + n, load_one(partial, to + n) + share)
                keep_alive(columns_array)
        keep_alive(room_array)

    def finish(address: Any) -> None:
        edition  # noqa: B018  # a mention makes it part of the key that the compiled code is kept under
        block = carray(pointer(address, int64), 23)
        partial, result = pointer(block[PARTIAL], float64), pointer(block[RESULT], dtype)
        matrix = pointer(block[MATRIX], float64)
        channels, terms = block[CHANNELS], block[DEGREE] + 1
        numbers, blocks = terms + LINES, block[OUTER_BLOCKS] * block[INNER_BLOCKS]
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

    return {"forward": forward, "backward": backward, "finish": finish}
