"""Transposition of square blocks in registers."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from chebact.kernels.cpu.lanes import moved, width_of
from chebact.training.fused.ops.jit import jit


@intrinsic
def transpose_block(typingctx: Any, source: Any, source_row: Any, target: Any, target_row: Any) -> Any:
    """target[j, i] = source[i, j] for a block of as many rows as there are lanes.

    Rows whose numbers differ in one bit exchange half of their lanes, bit after bit.
    """
    width = source.width

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source_at, source_row, target_at, target_row = args
        vector, word = ir.VectorType(context.get_data_type(source.dtype), width), ir.IntType(64)

        def row_at(start: Any, stride: Any, row: int) -> Any:
            at = builder.gep(start, [builder.mul(stride, ir.Constant(word, row))])
            return builder.bitcast(at, vector.as_pointer())

        rows = [builder.load(row_at(source_at, source_row, row)) for row in range(width)]
        for row in rows:
            row.align = source.dtype.bitwidth // 8
        bit = width // 2
        while bit:
            rows = _exchanged(builder, rows, bit)
            bit //= 2
        for number, row in enumerate(rows):
            builder.store(row, row_at(target_at, target_row, number)).align = source.dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(source, types.int64, source, types.int64), codegen


def _exchanged(builder: Any, rows: list[Any], bit: int) -> list[Any]:
    """Rows i and i + bit after swapping the lanes with this bit of one and those without it of the other."""
    width, result = len(rows), list(rows)
    lower = [lane if not lane & bit else width + lane - bit for lane in range(width)]
    upper = [lane + bit if not lane & bit else width + lane for lane in range(width)]
    for row in range(width):
        if not row & bit:
            pair = rows[row], rows[row + bit]
            result[row] = builder.shuffle_vector(*pair, _mask(lower))
            result[row + bit] = builder.shuffle_vector(*pair, _mask(upper))
    return result


def _mask(lanes: list[int]) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)


@jit
def transpose(source, rows, columns, target):
    """target (columns, rows) of source (rows, columns), both in full blocks."""
    width = width_of(source)
    for row in range(0, rows, width):
        for column in range(0, columns, width):
            transpose_block(moved(source, row * columns + column), columns, moved(target, column * rows + row), rows)
