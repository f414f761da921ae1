"""The ten numbers of a channel in the power form: built from its parameters, read by rows or by columns.

A table is ten numbers and padding to two vectors. Where one channel's row fills the lanes, every number of its table is
spread over a vector; where neighbouring channels share the lanes, eight tables are computed side by side.
"""

from __future__ import annotations

import math
from typing import Any

import numpy
from numba import float64, int64, types
from numba.extending import overload

from chebact.kernels.cpu.lanes import (
    WIDTH,
    choose,
    fma,
    lane,
    less,
    load,
    load_one,
    narrowed,
    pack,
    splat,
    store,
    store_rounded,
    widened,
)  # fmt: skip
from chebact.kernels.cpu.tasks import jit

TABLE_LENGTH = 16


def largest_of(number: Any) -> float:
    """The largest finite number of the type of `number`; known when the loop is compiled."""
    return float(numpy.finfo(type(number)).max)


@overload(largest_of)
def _largest_of(number):  # Numba compares this signature with the lambda's
    largest = float(numpy.finfo(numpy.float32 if number == types.float32 else numpy.float64).max)
    return lambda number: largest


@jit
def ten_of(t, i):
    """Ten numbers from t[i] on."""
    return (load_one(t, i), load_one(t, i + 1), load_one(t, i + 2), load_one(t, i + 3), load_one(t, i + 4),
            load_one(t, i + 5), load_one(t, i + 6), load_one(t, i + 7), load_one(t, i + 8),
            load_one(t, i + 9))  # fmt: skip


@jit
def channels_at(at, repeat):
    """The channels of eight neighbouring positions, where every channel has `repeat` of them."""
    if repeat == 1:
        return (at, at + 1, at + 2, at + 3, at + 4, at + 5, at + 6, at + 7)
    return (at // repeat, (at + 1) // repeat, (at + 2) // repeat, (at + 3) // repeat, (at + 4) // repeat,
            (at + 5) // repeat, (at + 6) // repeat, (at + 7) // repeat)  # fmt: skip


@jit
def gathered(parameters, c, terms, j):
    """The j-th parameter of eight channels, as float64 lanes."""
    j = int64(j)
    return widened(
        pack(
            load_one(parameters, c[0] * terms + j),
            load_one(parameters, c[1] * terms + j),
            load_one(parameters, c[2] * terms + j),
            load_one(parameters, c[3] * terms + j),
            load_one(parameters, c[4] * terms + j),
            load_one(parameters, c[5] * terms + j),
            load_one(parameters, c[6] * terms + j),
            load_one(parameters, c[7] * terms + j),
        )
    )


@jit
def finite_in(v, zero):
    """Float64 lanes that are finite, bounded to the largest number of the type of `zero`."""
    most, endless = splat(largest_of(zero)), splat(math.inf)
    high = choose(less(most, v), choose(less(v, endless), most, v), v)
    return choose(less(high, -most), choose(less(-endless, high), -most, high), high)


@jit
def table_entry(y, matrix, k, terms, zero):
    """The k-th number of eight channels' tables; a channel has two to four parameters."""
    total = y[0] * splat(load_one(matrix, k))
    total = fma(y[1], splat(load_one(matrix, TABLE_LENGTH + k)), total)
    if terms > 2:
        total = fma(y[2], splat(load_one(matrix, 2 * TABLE_LENGTH + k)), total)
    if terms > 3:
        total = fma(y[3], splat(load_one(matrix, 3 * TABLE_LENGTH + k)), total)
    return narrowed(finite_in(total, zero), zero)


@jit
def ten_lanes(parameters, c, matrix, terms, zero):
    """The tables of the eight channels c, ten vectors."""
    last = terms - 1
    y = (
        gathered(parameters, c, terms, 0),
        gathered(parameters, c, terms, 1),
        gathered(parameters, c, terms, min(2, last)),
        gathered(parameters, c, terms, min(3, last)),
    )
    m, n = matrix, terms
    return (
        table_entry(y, m, 0, n, zero), table_entry(y, m, 1, n, zero), table_entry(y, m, 2, n, zero),
        table_entry(y, m, 3, n, zero), table_entry(y, m, 4, n, zero), table_entry(y, m, 5, n, zero),
        table_entry(y, m, 6, n, zero), table_entry(y, m, 7, n, zero), table_entry(y, m, 8, n, zero),
        table_entry(y, m, 9, n, zero),
    )  # fmt: skip


@jit
def lanes_to_parameters(result, a, matrix, first, terms):
    """The gradients of eight neighbouring channels' parameters from their eight sums, each a vector."""
    w = (widened(a[0]), widened(a[1]), widened(a[2]), widened(a[3]), widened(a[4]), widened(a[5]), widened(a[6]),
         widened(a[7]))  # fmt: skip
    for j in range(terms):
        row = j * TABLE_LENGTH
        total = w[0] * splat(load_one(matrix, row))
        total = fma(w[1], splat(load_one(matrix, row + 1)), total)
        total = fma(w[2], splat(load_one(matrix, row + 2)), total)
        total = fma(w[3], splat(load_one(matrix, row + 3)), total)
        total = fma(w[4], splat(load_one(matrix, row + 4)), total)
        total = fma(w[5], splat(load_one(matrix, row + 5)), total)
        total = fma(w[6], splat(load_one(matrix, row + 6)), total)
        total = fma(w[7], splat(load_one(matrix, row + 7)), total)
        for k in range(WIDTH):
            store(result, (first + k) * terms + j, lane(total, k))


@jit
def add_lanes(sums, c, a):
    """Add eight channels' sums, each a vector, to their rows of eight in `sums`."""
    for k in range(WIDTH):
        row = c[k] * WIDTH
        sums[row] += float64(lane(a[0], k))
        sums[row + 1] += float64(lane(a[1], k))
        sums[row + 2] += float64(lane(a[2], k))
        sums[row + 3] += float64(lane(a[3], k))
        sums[row + 4] += float64(lane(a[4], k))
        sums[row + 5] += float64(lane(a[5], k))
        sums[row + 6] += float64(lane(a[6], k))
        sums[row + 7] += float64(lane(a[7], k))


@jit
def add_numbers(sums, channel, a):
    """Add one channel's sums to its row of eight in `sums`."""
    row = channel * WIDTH
    sums[row] += float64(a[0])
    sums[row + 1] += float64(a[1])
    sums[row + 2] += float64(a[2])
    sums[row + 3] += float64(a[3])
    sums[row + 4] += float64(a[4])
    sums[row + 5] += float64(a[5])
    sums[row + 6] += float64(a[6])
    sums[row + 7] += float64(a[7])


@jit
def spread(t):
    """Every number of ten in every lane."""
    return (splat(t[0]), splat(t[1]), splat(t[2]), splat(t[3]), splat(t[4]), splat(t[5]), splat(t[6]), splat(t[7]),
            splat(t[8]), splat(t[9]))  # fmt: skip


@jit
def build_tables(tables, parameters, matrix, first, count, terms):
    """The tables of `count` channels from channel `first` on, 16 numbers each."""
    for c in range(count):
        one, two = splat(float64(0)), splat(float64(0))
        for j in range(terms):
            y = splat(float64(load_one(parameters, (first + c) * terms + j)))
            one = fma(y, load(matrix, j * TABLE_LENGTH), one)
            two = fma(y, load(matrix, j * TABLE_LENGTH + WIDTH), two)
        store_rounded(tables, c * TABLE_LENGTH, finite_in(one, load_one(parameters, first)))
        store_rounded(tables, c * TABLE_LENGTH + WIDTH, finite_in(two, load_one(parameters, first)))


@jit
def kept_sums(start, i, none, joined):
    """Eight vectors of sums from start[i] on; `none` stands for those of the heights of joined lines."""
    left, right = none, none
    if joined is None:
        left, right = load(start, i + 4 * WIDTH), load(start, i + 6 * WIDTH)
    return (load(start, i), load(start, i + WIDTH), load(start, i + 2 * WIDTH), load(start, i + 3 * WIDTH), left,
            load(start, i + 5 * WIDTH), right, load(start, i + 7 * WIDTH))  # fmt: skip


@jit
def keep_sums(start, i, a, joined):
    """Put eight vectors of sums at start[i] and on."""
    store(start, i, a[0])
    store(start, i + WIDTH, a[1])
    store(start, i + 2 * WIDTH, a[2])
    store(start, i + 3 * WIDTH, a[3])
    store(start, i + 5 * WIDTH, a[5])
    store(start, i + 7 * WIDTH, a[7])
    if joined is None:
        store(start, i + 4 * WIDTH, a[4])
        store(start, i + 6 * WIDTH, a[6])


@jit
def keep_ten(start, i, t):
    """Put ten vectors at start[i] and on."""
    for k, vector in enumerate(t):
        store(start, i + k * WIDTH, vector)


@jit
def kept_ten(start, i):
    """Ten vectors from start[i] on."""
    return (load(start, i), load(start, i + WIDTH), load(start, i + 2 * WIDTH), load(start, i + 3 * WIDTH),
            load(start, i + 4 * WIDTH), load(start, i + 5 * WIDTH), load(start, i + 6 * WIDTH),
            load(start, i + 7 * WIDTH), load(start, i + 8 * WIDTH), load(start, i + 9 * WIDTH))  # fmt: skip


@jit
def add_widened(start, sums, count, zero):
    """Add `count` numbers (a multiple of the width) to as many in float64, and put zeros in their place."""
    for i in range(0, count, WIDTH):
        store(sums, i, load(sums, i) + widened(load(start, i)))
        store(start, i, splat(zero))


@jit
def add_eight(start, i, step, a):
    """Add eight numbers to start[i], start[i + step] and on."""
    store(start, i, load_one(start, i) + a[0])
    store(start, i + step, load_one(start, i + step) + a[1])
    store(start, i + 2 * step, load_one(start, i + 2 * step) + a[2])
    store(start, i + 3 * step, load_one(start, i + 3 * step) + a[3])
    store(start, i + 4 * step, load_one(start, i + 4 * step) + a[4])
    store(start, i + 5 * step, load_one(start, i + 5 * step) + a[5])
    store(start, i + 6 * step, load_one(start, i + 6 * step) + a[6])
    store(start, i + 7 * step, load_one(start, i + 7 * step) + a[7])
