"""The operations of a learned polynomial with straight tails, for one degree and kind of tails.

From the heights of a channel come the numbers of its table, rows of one number per channel: `degree` + 1 coefficients
of the polynomial, `degree` of its derivative, the slopes of the left and the right line in u and in x. u =
x scale + shift is the position of x in an interval from -1 to 1. `constants` are scale, shift, and the matrix that
maps heights to the table (see `table_constants` in activations.py).
"""

from __future__ import annotations

from typing import Any

from numba import int64

from chebact.kernels.cpu.lanes import (
    above_zero,
    below_zero,
    choose,
    fill,
    fma,
    less,
    load,
    load_one,
    moved,
    pointer,
    same,
    store,
    wide_pointer,
    width_of,
)
from chebact.training.fused.ops.jit import ARENA, COUNT, jit
from chebact.training.fused.ops.polynomial import load_each, no_sums, slope_and_sums, store_each, value_at

NONE, EXTRAPOLATE, REGRESSION = range(3)
MATRIX = 2  # the first index of the matrix among the constants


@jit
def make_table(heights, constants, rows, terms, columns, table):
    """table[k, :] = sum_j matrix[k, j] heights[j, :]."""
    for column in range(0, columns, width_of(table)):
        for k in range(rows):
            result = fill(table, 0.0)
            for j in range(terms):
                factor = fill(table, load_one(constants, MATRIX + k * terms + j))
                result = fma(factor, load(heights, j * columns + column), result)
            store(table, k * columns + column, result)


@jit
def to_heights(sums, constants, rows, terms, columns, out):
    """out[j, :] = sum_k matrix[k, j] sums[k, :]; the sums of unused rows are zero."""
    for column in range(0, columns, width_of(sums)):
        for j in range(terms):
            result = fill(sums, 0.0)
            for k in range(rows):
                factor = fill(sums, load_one(constants, MATRIX + k * terms + j))
                result = fma(factor, load(sums, k * columns + column), result)
            store(out, j * columns + column, result)


@jit
def inside(u, like):
    """u, clamped to -1 ... 1; NaN stays NaN."""
    one = fill(like, 1.0)
    below = choose(less(one, u), one, u)
    return choose(less(below, -one), -one, below)


@jit
def regression_slope(u, slope, left, right, like):
    """The slope of the line if u is on one or at its start, otherwise `slope`; NaN of NaN."""
    one = fill(like, 1.0)
    result = choose(less(u, one), slope, right)
    result = choose(less(-one, u), result, left)
    return choose(same(u, u), result, u)


def programs(dtype: Any, lanes: int, edition: int, degree: int, tails: int, plain: int) -> dict[str, Any]:
    """The C functions for one degree; `tails` is one of the three above, `plain` is 1 if u is x."""
    terms, rows = degree + 1, 2 * degree + 5

    def forward(record: Any, context: Any) -> None:
        edition  # noqa: B018  # makes it part of the cache key
        op, worker = pointer(record, int64), pointer(context, int64)
        arena, constants = wide_pointer(load_one(worker, ARENA), dtype, lanes), pointer(load_one(op, 1), dtype)
        x, out, columns = moved(arena, load_one(op, 2)), moved(arena, load_one(op, 3)), load_one(op, 4)
        heights, table, count = moved(arena, load_one(op, 5)), moved(arena, load_one(op, 6)), load_one(worker, COUNT)
        make_table(heights, constants, rows, terms, columns, table)
        scale, shift = fill(x, load_one(constants, 0)), fill(x, load_one(constants, 1))
        for column in range(0, columns, width_of(x)):
            t = load_each(table, column, columns, terms)
            left = load(table, (terms + degree) * columns + column)
            right = load(table, (terms + degree + 1) * columns + column)
            for i in range(column, count * columns, columns):
                u = load(x, i)
                if plain == 0:
                    u = fma(u, scale, shift)
                if tails == NONE:
                    store(out, i, value_at(u, t))
                else:
                    c = inside(u, x)
                    result = fma(below_zero(u - c), left, value_at(c, t))
                    store(out, i, fma(above_zero(u - c), right, result))

    def backward(record: Any, context: Any) -> None:
        edition  # noqa: B018
        op, worker = pointer(record, int64), pointer(context, int64)
        arena, constants = wide_pointer(load_one(worker, ARENA), dtype, lanes), pointer(load_one(op, 1), dtype)
        x, g, other, row = (
            moved(arena, load_one(op, 2)),
            moved(arena, load_one(op, 3)),
            load_one(op, 4),
            load_one(op, 5),
        )
        out, columns, table = moved(arena, load_one(op, 6)), load_one(op, 7), moved(arena, load_one(op, 8))
        other, gradient, count = moved(arena, other), moved(arena, load_one(op, 9)), load_one(worker, COUNT)
        scale, shift = fill(x, load_one(constants, 0)), fill(x, load_one(constants, 1))
        for column in range(0, columns, width_of(x)):
            d = load_each(table, terms * columns + column, columns, degree)
            left = load(table, (terms + degree + 2) * columns + column)
            right = load(table, (terms + degree + 3) * columns + column)
            sums = no_sums(x, terms)
            left_sum, right_sum = fill(x, 0.0), fill(x, 0.0)
            for b in range(count):
                i = b * columns + column
                u, h = load(x, i), load(g, i)
                if plain == 0:
                    u = fma(u, scale, shift)
                c = u if tails == NONE else inside(u, x)
                slope, sums = slope_and_sums(c, h, d, sums)
                if tails != NONE:
                    left_sum = fma(below_zero(u - c), h, left_sum)
                    right_sum = fma(above_zero(u - c), h, right_sum)
                if tails == REGRESSION:
                    slope = regression_slope(u, slope, left, right, x)
                store(out, i, fma(h, slope, load(other, b * row + column)))
            store_each(table, column, columns, sums)
            for k in range(terms, rows):
                store(table, k * columns + column, fill(x, 0.0))
            store(table, (terms + degree) * columns + column, left_sum)
            store(table, (terms + degree + 1) * columns + column, right_sum)
        to_heights(table, constants, rows, terms, columns, gradient)

    return {"forward": forward, "backward": backward}
