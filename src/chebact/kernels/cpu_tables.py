"""The ten numbers of a channel in the power form: built from its parameters, read by rows or by columns.

A table is ten numbers and padding to two vectors. Where one channel's row fills the lanes, every number of its table is
spread over a vector; where neighbouring channels share the lanes, their tables are stored a row a number.
"""

from __future__ import annotations

from numba import float64

from chebact.kernels.cpu_code import jit
from chebact.kernels.lanes import WIDTH, fma, load, load_one, splat, store, store_rounded

TABLE_LENGTH = 16


@jit
def ten_of(t, i):
    """Ten numbers from t[i] on."""
    return (load_one(t, i), load_one(t, i + 1), load_one(t, i + 2), load_one(t, i + 3), load_one(t, i + 4),
            load_one(t, i + 5), load_one(t, i + 6), load_one(t, i + 7), load_one(t, i + 8),
            load_one(t, i + 9))  # fmt: skip


@jit
def ten_columns(t, i, step):
    """Ten vectors: eight neighbouring channels' tables, stored a row a number."""
    return (load(t, i), load(t, i + step), load(t, i + 2 * step), load(t, i + 3 * step), load(t, i + 4 * step),
            load(t, i + 5 * step), load(t, i + 6 * step), load(t, i + 7 * step), load(t, i + 8 * step),
            load(t, i + 9 * step))  # fmt: skip


@jit
def ten_single(t, i, step):
    """One channel's table, stored a row a number."""
    return (load_one(t, i), load_one(t, i + step), load_one(t, i + 2 * step), load_one(t, i + 3 * step),
            load_one(t, i + 4 * step), load_one(t, i + 5 * step), load_one(t, i + 6 * step),
            load_one(t, i + 7 * step), load_one(t, i + 8 * step), load_one(t, i + 9 * step))  # fmt: skip


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
        store_rounded(tables, c * TABLE_LENGTH, one)
        store_rounded(tables, c * TABLE_LENGTH + WIDTH, two)


@jit
def in_columns(columns, tables, count, repeat, step):
    """The tables once more, a row a number and every channel `repeat` times."""
    for c in range(count):
        for k in range(10):
            number = load_one(tables, c * TABLE_LENGTH + k)
            for i in range(repeat):
                store(columns, k * step + c * repeat + i, number)


@jit
def eight_of(start, i):
    """Eight vectors from start[i] on."""
    return (load(start, i), load(start, i + WIDTH), load(start, i + 2 * WIDTH), load(start, i + 3 * WIDTH),
            load(start, i + 4 * WIDTH), load(start, i + 5 * WIDTH), load(start, i + 6 * WIDTH),
            load(start, i + 7 * WIDTH))  # fmt: skip


@jit
def keep_eight(start, i, a):
    """Put eight vectors at start[i] and on."""
    store(start, i, a[0])
    store(start, i + WIDTH, a[1])
    store(start, i + 2 * WIDTH, a[2])
    store(start, i + 3 * WIDTH, a[3])
    store(start, i + 4 * WIDTH, a[4])
    store(start, i + 5 * WIDTH, a[5])
    store(start, i + 6 * WIDTH, a[6])
    store(start, i + 7 * WIDTH, a[7])


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
