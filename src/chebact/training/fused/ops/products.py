"""Products of small matrices, in tiles whose sums stay in registers: everything that a linear layer needs.

One tile implements the three products of a layer. Activations are (batch, channel), rows a multiple of the lanes:
forward       out[b, :] = bias + sum_i x[b, i] w[i, :]
weights       gradient[i, :] = sum_b x[b, i] g[b, :]
inputs        gradient[b, :] = sum_o g[b, o] transposed[o, :]
Each is rows[r, :] = first + sum_k left[r, k] right[k, :], where left is read number by number and right by vectors.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from chebact.kernels.cpu.lanes import moved, width_of
from chebact.kernels.cpu.vector_code import call_llvm, in_every_lane
from chebact.training.fused.ops.jit import jit


@intrinsic(prefer_literal=True)
def tile(
    typingctx: Any,
    rows: Any,
    vectors: Any,
    left: Any,
    left_row: Any,
    left_step: Any,
    right: Any,
    right_step: Any,
    count: Any,
    first: Any,
    other: Any,
    other_row: Any,
    scale: Any,
    out: Any,
    out_row: Any,
) -> Any:
    """out[r, :] = (first + sum_k left[r, k] right[k, :] + other[r, :]) scale, for `rows` rows of `vectors` vectors.

    `rows` and `vectors` are constants; `count` is how many k there are, one at least. The sums run over k in order.
    """
    height, across, width = rows.literal_value, vectors.literal_value, left.width

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (_, _, left_at, left_row, left_step, right_at, right_step, count, first_at, other_at, other_row, factor, out_at,
         out_row) = args  # fmt: skip
        number, word = context.get_data_type(left.dtype), ir.IntType(64)
        vector, size = ir.VectorType(number, width), left.dtype.bitwidth // 8

        def place(start: Any, index: Any, column: int) -> Any:
            at = builder.gep(start, [builder.add(index, ir.Constant(word, column * width))])
            return builder.bitcast(at, vector.as_pointer())

        def vector_at(start: Any, index: Any, column: int) -> Any:
            result = builder.load(place(start, index, column))
            result.align = size
            return result

        zero = ir.Constant(word, 0)
        begin = [vector_at(first_at, zero, column) for column in range(across)]
        before, body, after = builder.block, builder.append_basic_block("tile"), builder.append_basic_block("tile.end")
        builder.branch(body)
        builder.position_at_end(body)
        k = builder.phi(word)
        k.add_incoming(zero, before)
        sums = [[builder.phi(vector) for _ in range(across)] for _ in range(height)]
        for row in sums:
            for column, one in enumerate(row):
                one.add_incoming(begin[column], before)
        factors = [vector_at(right_at, builder.mul(k, right_step), column) for column in range(across)]
        at = builder.mul(k, left_step)
        for r, row in enumerate(sums):
            single = builder.load(builder.gep(left_at, [builder.add(at, builder.mul(left_row, ir.Constant(word, r)))]))
            spread = in_every_lane(builder, single, width)
            for column, one in enumerate(row):
                one.add_incoming(call_llvm(builder, "fma", [spread, factors[column], one]), body)
        following = builder.add(k, ir.Constant(word, 1))
        k.add_incoming(following, body)
        builder.cbranch(builder.icmp_signed("<", following, count), body, after)
        builder.position_at_end(after)
        scale_vector = in_every_lane(builder, factor, width)
        for r, row in enumerate(sums):
            in_other = builder.mul(other_row, ir.Constant(word, r))
            in_out = builder.mul(out_row, ir.Constant(word, r))
            for column, one in enumerate(row):
                final = one.incomings[1][0]
                sum_of_both = builder.fadd(final, vector_at(other_at, in_other, column))
                scaled = builder.fmul(sum_of_both, scale_vector)
                builder.store(scaled, place(out_at, in_out, column)).align = size
        return context.get_dummy_value()

    word = types.int64
    return (
        types.void(rows, vectors, left, word, word, left, word, word, left, left, word, left.dtype, left, word),
        codegen,
    )


@jit
def product(tall, factors, first, other, other_row, scale, out, rows, columns):
    """The product of `rows` rows of `columns` numbers (full vectors), tile by tile; rows of out have no gaps.

    `factors` are left, the strides of its rows and columns, right, the stride of its rows, and how many those are;
    `tall` is 1 if there are registers for tiles of eight rows.
    """
    left, left_row, left_step, right, right_step, count = factors
    width = width_of(left)
    column = 0
    while column < columns:
        two = columns - column >= 2 * width
        row = 0
        while row < rows:
            r = moved(right, column)
            f = moved(first, column)
            x = moved(left, row * left_row)
            o = moved(other, row * other_row + column)
            y = moved(out, row * columns + column)
            row += strip(
                tall, two, rows - row, x, left_row, left_step, r, right_step, count, f, o, other_row, scale, y, columns
            )
        column += 2 * width if two else width


@jit
def strip(tall, two, rows, x, x_row, x_step, r, r_step, count, f, o, o_row, scale, y, y_row):
    """One tile, as high as the rows allow; returns its height."""
    if rows >= 8 and tall == 1:
        if two:
            tile(8, 2, x, x_row, x_step, r, r_step, count, f, o, o_row, scale, y, y_row)
        else:
            tile(8, 1, x, x_row, x_step, r, r_step, count, f, o, o_row, scale, y, y_row)
        return 8
    if rows >= 4:
        if two:
            tile(4, 2, x, x_row, x_step, r, r_step, count, f, o, o_row, scale, y, y_row)
        else:
            tile(4, 1, x, x_row, x_step, r, r_step, count, f, o, o_row, scale, y, y_row)
        return 4
    if two:
        tile(1, 2, x, x_row, x_step, r, r_step, count, f, o, o_row, scale, y, y_row)
    else:
        tile(1, 1, x, x_row, x_step, r, r_step, count, f, o, o_row, scale, y, y_row)
    return 1
