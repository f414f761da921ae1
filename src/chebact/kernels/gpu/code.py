"""The GPU kernels' code, in Triton: power coefficients up to degree 3, the barycentric form above.

A tensor is (replica, outer, column, inner) in memory order. A program processes a tile of (row, column), where a row is
a pair of an outer and an inner index: row = outer index * inner + inner index. `repeat` adjacent columns belong to one
channel. The tables (replica, number, channel) and the partial sums (replica, block of rows, number, column) have the
channel or column last, so that adjacent elements of a tile are adjacent in memory. Elements outside the tensor are
loaded as zeros with a gradient of zero, and add nothing to a sum.
"""

from __future__ import annotations

import triton
import triton.language as tl

POWER_NUMBERS = tl.constexpr(10)  # numbers in a channel's table up to degree 3; above, see `table_size`
HEADER = tl.constexpr(5)  # constants before the nodes, above degree 3: the ends, the smallest difference, the largest
# number, and 1 if the result at a node is the learned value, or NaN


@triton.jit
def find_tile(row_blocks, column_blocks, COLUMNS: tl.constexpr):
    """The replica, the block of rows and the columns, (1, COLUMNS) or one number, of this program."""
    program = tl.program_id(0)
    column, rest = program % column_blocks * COLUMNS, program // column_blocks  # adjacent memory, adjacent programs
    if COLUMNS > 1:  # a scalar is loaded once per thread, a tensor of one number once per element
        column += tl.arange(0, COLUMNS)[None, :]
    return (rest // row_blocks).to(tl.int64), rest % row_blocks, column


@triton.jit
def offsets(tile, rows, column, columns, inner, ROWS: tl.constexpr, WIDE: tl.constexpr):
    """The offsets of a tile within its replica, and which elements exist: two of (ROWS, COLUMNS)."""
    if WIDE:  # a replica of 2^31 elements or more; 32-bit division is much faster otherwise
        tile = tile.to(tl.int64)
        column = column.to(tl.int64)
    row = tile * ROWS + tl.arange(0, ROWS)[:, None]
    return row // inner * columns * inner + column * inner + row % inner, (row < rows) & (column < columns)


@triton.jit
def entry(table, index, channels, exists):
    """One number of the table of every column."""
    return tl.load(table + index * channels, mask=exists, other=0.0)


@triton.jit
def clamp(v, left, right):
    """v, clamped to the interval; NaN stays."""
    return tl.where(v > right, right, tl.where(v < left, left, v))


@triton.jit
def line(v, end, largest, table, index, channels, exists):
    """The straight line from `end` whose value and slope are the entries `index` and `index` + 1.

    With slope zero it is constant even at an infinite v, where 0 * inf would be NaN.
    """
    slope = entry(table, index + 1, channels, exists)
    far = tl.where(slope == 0, clamp(v, -largest, largest), v)
    return tl.fma(slope, far - end, entry(table, index, channels, exists))


@triton.jit
def with_ends(p, v, left, right, on_left, on_right):
    """p inside the interval, the lines outside, and NaN where v is NaN."""
    return tl.where(v > left, tl.where(v < right, p, on_right), tl.where(v <= left, on_left, v))


@triton.jit
def position(v, constants, TAILS: tl.constexpr, PLAIN: tl.constexpr):
    """The variable u of the power form; `PLAIN` means that the interval is [-1, 1], where u is v.

    Without tails an infinite u is clamped to the largest number.
    """
    c = v
    if TAILS:
        c = clamp(v, tl.load(constants), tl.load(constants + 1))
    if not PLAIN:
        c = ((c - tl.load(constants + 2)) - tl.load(constants + 3)) * tl.load(constants + 4)
    if not TAILS:
        c = clamp(c, -tl.load(constants + 9), tl.load(constants + 9))
    return c


@triton.jit
def powers_forward(
    x, out, table, constants, rows, columns, inner, repeat, row_blocks, column_blocks,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDE: tl.constexpr, TAILS: tl.constexpr, PLAIN: tl.constexpr,
):  # fmt: skip
    """The activation by Horner's rule; at an inner node the learned value, entries 8 and 9."""
    replica, row_block, column = find_tile(row_blocks, column_blocks, COLUMNS)
    at, exists_at = offsets(row_block, rows, column, columns, inner, ROWS, WIDE)
    start, channels, exists = replica * rows * columns, columns // repeat, column < columns
    x, out = x + start, out + start
    table += replica * POWER_NUMBERS * channels + column // repeat
    v = tl.load(x + at, mask=exists_at, other=0.0).to(constants.dtype.element_ty)
    u = position(v, constants, TAILS, PLAIN)
    p = tl.fma(u, entry(table, 3, channels, exists), entry(table, 2, channels, exists))
    p = tl.fma(u, p, entry(table, 1, channels, exists))
    p = tl.fma(u, p, entry(table, 0, channels, exists))
    p = tl.where(v == tl.load(constants + 5), entry(table, 8, channels, exists), p)
    p = tl.where(v == tl.load(constants + 6), entry(table, 9, channels, exists), p)
    if TAILS:
        left, right, largest = tl.load(constants), tl.load(constants + 1), tl.load(constants + 9)
        on_left = line(v, left, largest, table, 4, channels, exists)
        p = with_ends(p, v, left, right, on_left, line(v, right, largest, table, 6, channels, exists))
    else:  # the end nodes are like the inner nodes
        p = tl.where(v == tl.load(constants + 7), entry(table, 4, channels, exists), p)
        p = tl.where(v == tl.load(constants + 8), entry(table, 6, channels, exists), p)
    tl.store(out + at, p, mask=exists_at)


@triton.jit
def keep_sum(partial, index, columns, column, tile):
    """Store the sum over the rows of `tile` as number `index` of its columns."""
    if tile.shape[1] > 1:
        tl.store(partial + index * columns + column, tl.sum(tile, axis=0)[None, :], mask=column < columns)
    else:
        tl.store(partial + index * columns + column, tl.sum(tile))


@triton.jit
def powers_backward(
    x, grad, out, slopes, partial, constants, rows, columns, inner, repeat, row_blocks, column_blocks, steps,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDE: tl.constexpr, TAILS: tl.constexpr, PLAIN: tl.constexpr,
):  # fmt: skip
    """The gradient of x, and the sums of a column over `steps` tiles: g u^0 ... g u^3, then two for each line."""
    replica, row_block, column = find_tile(row_blocks, column_blocks, COLUMNS)
    start, channels, exists = replica * rows * columns, columns // repeat, column < columns
    x, grad, out = x + start, grad + start, out + start
    slopes += replica * POWER_NUMBERS * channels + column // repeat
    d0, d1 = entry(slopes, 0, channels, exists), entry(slopes, 1, channels, exists)
    d2, on_left = entry(slopes, 2, channels, exists), entry(slopes, 4, channels, exists)
    on_right, left, right = entry(slopes, 6, channels, exists), tl.load(constants), tl.load(constants + 1)
    zero = tl.zeros((ROWS, COLUMNS), constants.dtype.element_ty)
    s0, s1, s2, s3, s4, s5, s6, s7 = zero, zero, zero, zero, zero, zero, zero, zero
    for step in range(steps):
        at, exists_at = offsets(row_block * steps + step, rows, column, columns, inner, ROWS, WIDE)
        v = tl.load(x + at, mask=exists_at, other=0.0).to(zero.dtype)
        g = tl.load(grad + at, mask=exists_at, other=0.0).to(zero.dtype)
        u = position(v, constants, TAILS, PLAIN)
        p = tl.fma(u, tl.fma(u, d2, d1), d0)
        h = g
        if TAILS:
            p = with_ends(p, v, left, right, on_left, on_right)
            h = tl.where((v > left) & (v < right), g, zero)
            s4 += tl.where(v > left, zero, g)
            s5 = tl.fma(tl.where(v > left, zero, v - left), g, s5)
            s6 += tl.where(v < right, zero, g)
            s7 = tl.fma(tl.where(v < right, zero, v - right), g, s7)
        tl.store(out + at, g * p, mask=exists_at)
        s0, s1, s2 = s0 + h, tl.fma(h, u, s1), tl.fma(h * u, u, s2)
        s3 = tl.fma(h * u * u, u, s3)
    partial += (replica * row_blocks + row_block) * (8 if TAILS else 4) * columns
    keep_sum(partial, 0, columns, column, s0)
    keep_sum(partial, 1, columns, column, s1)
    keep_sum(partial, 2, columns, column, s2)
    keep_sum(partial, 3, columns, column, s3)
    if TAILS:
        keep_sum(partial, 4, columns, column, s4)
        keep_sum(partial, 5, columns, column, s5)
        keep_sum(partial, 6, columns, column, s6)
        keep_sum(partial, 7, columns, column, s7)


@triton.jit
def divide(a, b):
    """a / b, correctly rounded: Triton's division of float32 has an error of up to two units in the last place."""
    if b.dtype == tl.float32:
        return tl.div_rn(a, b)
    return a / b


@triton.jit
def quotient(c, j, constants, terms):
    """w_j / (c - x_j), where a difference near zero counts as tiny; the node x_j is a high and a low part."""
    tiny = tl.load(constants + 2)
    high, low = tl.load(constants + HEADER + j), tl.load(constants + HEADER + terms + j)
    difference = (c - high) - low
    difference = tl.where(tl.abs(difference) < tiny, tiny, difference)
    return divide(tl.load(constants + HEADER + 2 * terms + j), difference), c == high


@triton.jit
def table_size(terms, TAILS: tl.constexpr):
    """The size of a channel's table: the values, then the lines or the weights of T_0 ...

    The power of two by which they were divided follows and is not counted.
    """
    if TAILS:
        return terms + 4
    return 2 * terms


@triton.jit
def clamp_above(v, most):
    """The smaller of v and `most`; NaN stays."""
    return tl.where(v > most, most, v)


@triton.jit
def growth(v, constants, terms):
    """The growth of T_0 ... outside the interval: the first difference, the sign and the upper bound."""
    start = constants + HEADER + 3 * terms
    most = tl.load(start + 3)
    t = divide((v - tl.load(start)) - tl.load(start + 1), tl.zeros_like(v) + tl.load(start + 2))
    size = tl.abs(t)
    size = clamp_above(tl.where(size < 1, 1.0, size), most)
    return size - 1, tl.where(t < 0, tl.zeros_like(v) - 1, tl.zeros_like(v) + 1), most


@triton.jit
def grow(size, difference, rate, most):
    """|T_k+1| and its difference to the next one, from differences of one sign."""
    size = clamp_above(size + difference, most)
    return size, clamp_above(tl.fma(rate + rate, size, difference), most)


@triton.jit
def series(v, constants, table, channels, exists, terms):
    """The sum of the weights, which follow the values in the table, times T_0 ..., outside the interval."""
    rate, turn, most = growth(v, constants, terms)
    size, difference, sign, total = tl.zeros_like(v) + 1, rate, tl.zeros_like(v) + 1, tl.zeros_like(v)
    for k in range(terms):
        total = tl.fma(size * sign, entry(table, terms + k, channels, exists), total)
        size, difference = grow(size, difference, rate, most)
        sign = sign * turn
    return total


@triton.jit
def barycentric_forward(
    x, out, table, constants, rows, columns, inner, repeat, row_blocks, column_blocks, terms,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDE: tl.constexpr, TAILS: tl.constexpr,
):  # fmt: skip
    """The activation in the second barycentric form; at a node the learned value."""
    replica, row_block, column = find_tile(row_blocks, column_blocks, COLUMNS)
    at, exists_at = offsets(row_block, rows, column, columns, inner, ROWS, WIDE)
    start, channels, exists = replica * rows * columns, columns // repeat, column < columns
    x, out = x + start, out + start
    table += replica * (table_size(terms, TAILS) + 1) * channels + column // repeat
    v = tl.load(x + at, mask=exists_at, other=0.0).to(constants.dtype.element_ty)
    left, right = tl.load(constants), tl.load(constants + 1)
    c = clamp(v, left, right)
    above, below, height = tl.zeros_like(v), tl.zeros_like(v), tl.zeros_like(v)
    found = v != v
    for j in range(terms):
        y = entry(table, j, channels, exists)
        q, here = quotient(c, j, constants, terms)
        above, below = tl.fma(q, y, above), below + q
        height, found = tl.where(here, y, height), found | here
    p, exact = divide(above, below), tl.load(constants + 4)
    p, factor = (
        tl.where(found, tl.where(exact == 1, height, p), p),
        entry(table, table_size(terms, TAILS), channels, exists),
    )
    if TAILS:
        largest = tl.load(constants + 3)
        on_left = line(v, left, largest, table, terms, channels, exists)
        on_right = line(v, right, largest, table, terms + 2, channels, exists)
        p = with_ends(p * factor, v, left, right, on_left, on_right)
    else:
        p = tl.where(v == c, p, series(v, constants, table, channels, exists, terms)) * factor
    tl.store(out + at, p, mask=exists_at)


@triton.jit
def barycentric_backward(
    x, grad, out, slopes, partial, constants, rows, columns, inner, repeat, row_blocks, column_blocks, terms,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDE: tl.constexpr, TAILS: tl.constexpr,
):  # fmt: skip
    """The gradient of x, and the sums of a column over the tile: g times the weight of each value, then the outside.

    Quotients are computed twice: a program has no room for degree + 1 tiles.
    """
    replica, row_block, column = find_tile(row_blocks, column_blocks, COLUMNS)
    at, exists_at = offsets(row_block, rows, column, columns, inner, ROWS, WIDE)
    start, channels, exists = replica * rows * columns, columns // repeat, column < columns
    x, grad, out = x + start, grad + start, out + start
    slopes += replica * (table_size(terms, TAILS) + 1) * channels + column // repeat
    partial += (replica * row_blocks + row_block) * table_size(terms, TAILS) * columns
    v = tl.load(x + at, mask=exists_at, other=0.0).to(constants.dtype.element_ty)
    g = tl.load(grad + at, mask=exists_at, other=0.0).to(v.dtype)
    left, right = tl.load(constants), tl.load(constants + 1)
    c = clamp(v, left, right)
    above, below, zero = tl.zeros_like(v), tl.zeros_like(v), tl.zeros_like(v)
    for j in range(terms):
        q, _ = quotient(c, j, constants, terms)
        above, below = tl.fma(q, entry(slopes, j, channels, exists), above), below + q
    p, inside, factor = divide(above, below), v == c, entry(slopes, table_size(terms, TAILS), channels, exists)
    if TAILS:
        inside = (v > left) & (v < right)
        on_left, on_right = entry(slopes, terms, channels, exists), entry(slopes, terms + 2, channels, exists)
        p = with_ends(p * factor, v, left, right, on_left, on_right)
    else:
        p = tl.where(inside, p, series(v, constants, slopes, channels, exists, terms)) * factor
    tl.store(out + at, g * p, mask=exists_at)
    h, inverse = tl.where(inside, g, zero), divide(zero + 1, below)
    for j in range(terms):
        q, _ = quotient(c, j, constants, terms)
        # the weight first: near a node `inverse * h` may be subnormal and lose digits
        keep_sum(partial, j, columns, column, (q * inverse) * h)
    if TAILS:
        keep_sum(partial, terms, columns, column, tl.where(v > left, zero, g))
        keep_sum(partial, terms + 1, columns, column, tl.where(v > left, zero, v - left) * g)
        keep_sum(partial, terms + 2, columns, column, tl.where(v < right, zero, g))
        keep_sum(partial, terms + 3, columns, column, tl.where(v < right, zero, v - right) * g)
    else:
        rate, turn, most = growth(v, constants, terms)
        size, difference, sign = zero + 1, rate, tl.where(inside, zero, g)
        for k in range(terms):
            keep_sum(partial, terms + k, columns, column, size * sign)
            size, difference = grow(size, difference, rate, most)
            sign = sign * turn
