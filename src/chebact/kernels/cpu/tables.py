"""The ten numbers of a channel in the power form: built from its parameters, read by rows or by columns.

A table is ten numbers and padding to 16. Where one channel's row fills the lanes, every number of its table is spread
over a vector; where neighbouring channels share the lanes, as many tables are computed side by side.
"""

from __future__ import annotations

import math
from typing import Any

import numpy
from numba import float64, int64, types
from numba.extending import overload

from chebact.kernels.cpu.lanes import (
    choose,
    fill,
    fma,
    lane,
    lanes_of,
    less,
    like,
    load,
    load_one,
    narrowed,
    store,
    store_rounded,
    widened,
    width_of,
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
def channel_of(position, repeat):
    """The channel of a position, where every channel has `repeat` of them; a division takes as long as ten products."""
    return position if repeat == 1 else position // repeat


@jit
def gathered(room, parameters, at, repeat, terms, j):
    """The j-th parameter at neighbouring positions, as float64 lanes; every channel has `repeat` positions."""
    for k in range(width_of(room)):
        store(room, k, load_one(parameters, channel_of(at + k, repeat) * terms + j))
    return widened(load(room, int64(0)))


@jit
def finite_in(v, zero):
    """Float64 lanes that are finite, bounded to the largest number of the type of `zero`."""
    most, endless = like(v, largest_of(zero)), like(v, math.inf)
    high = choose(less(most, v), choose(less(v, endless), most, v), v)
    return choose(less(high, -most), choose(less(-endless, high), -most, high), high)


@jit
def table_entry(y, matrix, k, terms, zero):
    """The k-th number of neighbouring channels' tables; a channel has two to four parameters."""
    total = y[0] * like(y[0], load_one(matrix, k))
    total = fma(y[1], like(total, load_one(matrix, TABLE_LENGTH + k)), total)
    if terms > 2:
        total = fma(y[2], like(total, load_one(matrix, 2 * TABLE_LENGTH + k)), total)
    if terms > 3:
        total = fma(y[3], like(total, load_one(matrix, 3 * TABLE_LENGTH + k)), total)
    return narrowed(finite_in(total, zero), zero)


@jit
def ten_lanes(room, parameters, at, repeat, matrix, terms, zero):
    """The tables of the channels of neighbouring positions from `at` on, ten vectors."""
    last = terms - 1
    y = (
        gathered(room, parameters, at, repeat, terms, int64(0)),
        gathered(room, parameters, at, repeat, terms, int64(1)),
        gathered(room, parameters, at, repeat, terms, min(int64(2), last)),
        gathered(room, parameters, at, repeat, terms, min(int64(3), last)),
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
    """The gradients of neighbouring channels' parameters from their eight sums, each a vector."""
    w = (widened(a[0]), widened(a[1]), widened(a[2]), widened(a[3]), widened(a[4]), widened(a[5]), widened(a[6]),
         widened(a[7]))  # fmt: skip
    for j in range(terms):
        row = j * TABLE_LENGTH
        total = w[0] * like(w[0], load_one(matrix, row))
        total = fma(w[1], like(total, load_one(matrix, row + 1)), total)
        total = fma(w[2], like(total, load_one(matrix, row + 2)), total)
        total = fma(w[3], like(total, load_one(matrix, row + 3)), total)
        total = fma(w[4], like(total, load_one(matrix, row + 4)), total)
        total = fma(w[5], like(total, load_one(matrix, row + 5)), total)
        total = fma(w[6], like(total, load_one(matrix, row + 6)), total)
        total = fma(w[7], like(total, load_one(matrix, row + 7)), total)
        for k in range(lanes_of(total)):
            store(result, (first + k) * terms + j, lane(total, k))


@jit
def add_lanes(sums, at, repeat, a):
    """Add neighbouring positions' sums, each a vector, to their channels' rows of eight in `sums`."""
    for k in range(lanes_of(a[0])):
        row = channel_of(at + k, repeat) * 8
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
    row = channel * 8
    sums[row] += float64(a[0])
    sums[row + 1] += float64(a[1])
    sums[row + 2] += float64(a[2])
    sums[row + 3] += float64(a[3])
    sums[row + 4] += float64(a[4])
    sums[row + 5] += float64(a[5])
    sums[row + 6] += float64(a[6])
    sums[row + 7] += float64(a[7])


@jit
def spread(x, t):
    """Every number of ten in every lane of vectors such as x points to."""
    return (fill(x, t[0]), fill(x, t[1]), fill(x, t[2]), fill(x, t[3]), fill(x, t[4]), fill(x, t[5]), fill(x, t[6]),
            fill(x, t[7]), fill(x, t[8]), fill(x, t[9]))  # fmt: skip


@jit
def build_tables(tables, parameters, matrix, first, count, terms):
    """The tables of `count` channels from channel `first` on, 16 numbers each."""
    for c in range(count):
        one, two = fill(matrix, 0.0), fill(matrix, 0.0)
        for j in range(terms):
            y = fill(matrix, load_one(parameters, (first + c) * terms + j))
            one = fma(y, load(matrix, j * TABLE_LENGTH), one)
            two = fma(y, load(matrix, j * TABLE_LENGTH + 8), two)
        store_rounded(tables, c * TABLE_LENGTH, finite_in(one, load_one(parameters, first)))
        store_rounded(tables, c * TABLE_LENGTH + 8, finite_in(two, load_one(parameters, first)))


@jit
def kept_sums(start, i, none, joined):
    """Eight vectors of sums from start[i] on; `none` stands for those of the heights of joined lines."""
    left, right, w = none, none, width_of(start)
    if joined is None:
        left, right = load(start, i + 4 * w), load(start, i + 6 * w)
    return (load(start, i), load(start, i + w), load(start, i + 2 * w), load(start, i + 3 * w), left,
            load(start, i + 5 * w), right, load(start, i + 7 * w))  # fmt: skip


@jit
def keep_sums(start, i, a, joined):
    """Put eight vectors of sums at start[i] and on."""
    w = width_of(start)
    store(start, i, a[0])
    store(start, i + w, a[1])
    store(start, i + 2 * w, a[2])
    store(start, i + 3 * w, a[3])
    store(start, i + 5 * w, a[5])
    store(start, i + 7 * w, a[7])
    if joined is None:
        store(start, i + 4 * w, a[4])
        store(start, i + 6 * w, a[6])


@jit
def keep_ten(start, i, t):
    """Put ten vectors at start[i] and on."""
    for k, vector in enumerate(t):
        store(start, i + k * width_of(start), vector)


@jit
def kept_ten(start, i):
    """Ten vectors from start[i] on."""
    w = width_of(start)
    return (load(start, i), load(start, i + w), load(start, i + 2 * w), load(start, i + 3 * w), load(start, i + 4 * w),
            load(start, i + 5 * w), load(start, i + 6 * w), load(start, i + 7 * w), load(start, i + 8 * w),
            load(start, i + 9 * w))  # fmt: skip


@jit
def add_widened(start, sums, count, zero):
    """Add `count` numbers (a multiple of the width) to as many in float64, and put zeros in their place."""
    for i in range(0, count, width_of(start)):
        store(sums, i, load(sums, i) + widened(load(start, i)))
        store(start, i, fill(start, zero))


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
