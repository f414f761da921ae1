"""The GPU kernels' code, in Triton: power coefficients up to degree 3, the barycentric form above.

A tensor is seen as (replica, outer, columns, inner) in the order of memory, and a program's tile as (row, column), where
a row is a pair of an outer and an inner index: row = outer index * inner + inner index. `repeat` neighbouring columns
belong to one channel. Tables, nodes and sums lie with the channels or columns last, so that neighbours in a tile are
neighbours in memory. Masked elements are loaded as zeros with a gradient of zero and add nothing to a sum.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def own_tile(columns, row_blocks, column_blocks, COLUMNS: tl.constexpr):
    """The replica, the block of rows and the column indices (1, COLUMNS) of this program; columns vary fastest."""
    program = tl.program_id(0)
    column = program % column_blocks * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    rest = program // column_blocks
    return (rest // row_blocks).to(tl.int64), rest % row_blocks, column


@triton.jit
def offsets(first, rows, column, columns, inner, ROWS: tl.constexpr, WIDE: tl.constexpr):
    """Where a tile from row `first` on lies within its replica, and which of it exists: 2 x (ROWS, COLUMNS)."""
    row = first + tl.arange(0, ROWS)[:, None]
    there = (row < rows) & (column < columns)
    if WIDE:  # a replica of 2^31 elements and more; 64-bit division is slow, so only there
        row = row.to(tl.int64)
        column = column.to(tl.int64)
    return row // inner * columns * inner + column * inner + row % inner, there


@triton.jit
def entry(table, index, channels, channel, there):
    """One number of the table of every column, (1, COLUMNS); the table of a replica is (numbers, channels)."""
    return tl.load(table + index * channels + channel, mask=there, other=0.0)


@triton.jit
def held(v, left, right):
    """v, held to the interval."""
    return tl.where(v > right, right, tl.where(v < left, left, v))


@triton.jit
def with_line(p, v, between, end, table, first, channels, channel, there):
    """p where `between`, elsewhere the straight line through `end` whose height and slope are entries `first`, + 1."""
    height = entry(table, first, channels, channel, there)
    return tl.where(between, p, tl.fma(entry(table, first + 1, channels, channel, there), v - end, height))


@triton.jit
def divided(a, b):
    """a / b, correctly rounded: Triton's own division of float32 errs by two units in the last place."""
    if b.dtype == tl.float32:
        return tl.div_rn(a, b)
    return a / b


@triton.jit
def position(v, constants, TAILS: tl.constexpr, PLAIN: tl.constexpr):
    """The variable u of the power form; `PLAIN` says that it is v itself, held to the interval."""
    c = v
    if TAILS:
        c = held(v, tl.load(constants), tl.load(constants + 1))
    if PLAIN:
        return c
    return ((c - tl.load(constants + 2)) - tl.load(constants + 3)) * tl.load(constants + 4)


@triton.jit
def powers_forward(
    x, out, table, constants, rows, columns, inner, repeat, row_blocks, column_blocks, numbers, steps,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDE: tl.constexpr, TAILS: tl.constexpr, PLAIN: tl.constexpr,
):  # fmt: skip
    """The activation by Horner's rule; at a node between the ends the height itself, from entries 8 and 9."""
    replica, row_block, column = own_tile(columns, row_blocks, column_blocks, COLUMNS)
    x, out, table = x + replica * rows * columns, out + replica * rows * columns, table + replica * numbers * columns // repeat
    channel, channels, exists = column // repeat, columns // repeat, column < columns
    for step in range(steps):
        at, there = offsets((row_block * steps + step) * ROWS, rows, column, columns, inner, ROWS, WIDE)
        v = tl.load(x + at, mask=there, other=0.0).to(table.dtype.element_ty)
        u = position(v, constants, TAILS, PLAIN)
        p = tl.fma(u, entry(table, 3, channels, channel, exists), entry(table, 2, channels, channel, exists))
        p = tl.fma(u, p, entry(table, 1, channels, channel, exists))
        p = tl.fma(u, p, entry(table, 0, channels, channel, exists))
        p = tl.where(v == tl.load(constants + 5), entry(table, 8, channels, channel, exists), p)
        p = tl.where(v == tl.load(constants + 6), entry(table, 9, channels, channel, exists), p)
        if TAILS:
            left, right = tl.load(constants), tl.load(constants + 1)
            p = with_line(p, v, v < right, right, table, 6, channels, channel, exists)
            p = with_line(p, v, v > left, left, table, 4, channels, channel, exists)
        tl.store(out + at, p, mask=there)


@triton.jit
def keep_sum(partial, index, columns, column, tile):
    """Store the sum over the rows of `tile` as number `index` of its columns."""
    tl.store(partial + index * columns + column, tl.sum(tile, axis=0)[None, :], mask=column < columns)


@triton.jit
def powers_backward(
    x, grad, out, slopes, partial, constants, rows, columns, inner, repeat, row_blocks, column_blocks, numbers, steps,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDE: tl.constexpr, TAILS: tl.constexpr, PLAIN: tl.constexpr,
):  # fmt: skip
    """The gradient of x, and this program's sums of g, g u, g u^2, g u^3 and of each line's share, a column."""
    replica, row_block, column = own_tile(columns, row_blocks, column_blocks, COLUMNS)
    ...
