"""The operations of linear layers. A record holds offsets into the arena and sizes in the order in which they are read
here; a size of -1 is the number of points of the batch.
"""

from __future__ import annotations

from typing import Any

from numba import int64

from chebact.kernels.cpu.lanes import fill, fma, load, load_one, moved, pointer, store, total, wide_pointer, width_of
from chebact.training.fused.ops.jit import ARENA, COUNT, jit
from chebact.training.fused.ops.products import product
from chebact.training.fused.ops.transposition import transpose


@jit
def sum_rows(source, count, columns, out):
    """out[:] = sum_b source[b, :], in full vectors."""
    width = width_of(source)
    for column in range(0, columns, width):
        a, b = fill(source, 0.0), fill(source, 0.0)
        at = column
        for _ in range(count // 2):
            a, b = a + load(source, at), b + load(source, at + columns)
            at += 2 * columns
        if count % 2:
            a = a + load(source, at)
        store(out, column, a + b)


@jit
def dots(x, w, count, inputs, outputs, bias, out):
    """out[b, o] = bias[o] + sum_i x[b, i] w[o, i], without gaps; i in full vectors."""
    width = width_of(x)
    for b in range(count):
        for o in range(outputs):
            sums = fill(x, 0.0)
            for i in range(0, inputs, width):
                sums = fma(load(x, b * inputs + i), load(w, o * inputs + i), sums)
            store(out, b * outputs + o, load_one(bias, o) + total(sums))


def programs(dtype: Any, lanes: int, edition: int) -> dict[str, Any]:
    """The C functions for one type and width; `edition` changes with the source."""

    def transpose_weight(record: Any, context: Any) -> None:
        edition  # noqa: B018  # makes it part of the cache key
        op = pointer(record, int64)
        arena = wide_pointer(load_one(pointer(context, int64), ARENA), dtype, lanes)
        source, rows, columns = moved(arena, load_one(op, 1)), load_one(op, 2), load_one(op, 3)
        transpose(source, rows, columns, moved(arena, load_one(op, 4)))

    def add_rows(record: Any, context: Any) -> None:
        edition  # noqa: B018
        op, worker = pointer(record, int64), pointer(context, int64)
        arena = wide_pointer(load_one(worker, ARENA), dtype, lanes)
        source, columns, out = moved(arena, load_one(op, 1)), load_one(op, 2), moved(arena, load_one(op, 3))
        sum_rows(source, load_one(worker, COUNT), columns, out)

    def multiply_last(record: Any, context: Any) -> None:
        edition  # noqa: B018
        op, worker = pointer(record, int64), pointer(context, int64)
        arena = wide_pointer(load_one(worker, ARENA), dtype, lanes)
        x, w, inputs, outputs = (
            moved(arena, load_one(op, 1)),
            moved(arena, load_one(op, 2)),
            load_one(op, 3),
            load_one(op, 4),
        )
        bias, out = moved(arena, load_one(op, 5)), moved(arena, load_one(op, 6))
        dots(x, w, load_one(worker, COUNT), inputs, outputs, bias, out)

    def add_last_rows(record: Any, context: Any) -> None:
        edition  # noqa: B018
        op, worker = pointer(record, int64), pointer(context, int64)
        arena = wide_pointer(load_one(worker, ARENA), dtype, lanes)
        source, outputs, out = load_one(op, 1), load_one(op, 2), load_one(op, 3)
        for o in range(outputs):
            result = dtype(0)
            for b in range(load_one(worker, COUNT)):
                result += load_one(arena, source + b * outputs + o)
            store(arena, out + o, result)

    def halve(record: Any, context: Any) -> None:
        edition  # noqa: B018
        op, worker = pointer(record, int64), pointer(context, int64)
        arena = wide_pointer(load_one(worker, ARENA), dtype, lanes)
        x, half = moved(arena, load_one(op, 1)), fill(arena, 0.5)
        for i in range(0, load_one(worker, COUNT) * load_one(op, 2), width_of(arena)):
            store(x, i, half * load(x, i))

    return {
        "halve": halve,
        "transpose_weight": transpose_weight,
        "add_rows": add_rows,
        "multiply_last": multiply_last,
        "add_last_rows": add_last_rows,
    }


def product_programs(dtype: Any, lanes: int, edition: int, tall: int) -> dict[str, Any]:
    """The C function of a product; `tall` is 1 if there are registers for tiles of eight rows."""

    def multiply(record: Any, context: Any) -> None:
        edition  # noqa: B018
        op, worker = pointer(record, int64), pointer(context, int64)
        arena = wide_pointer(load_one(worker, ARENA), dtype, lanes)
        left, left_row, left_step = moved(arena, load_one(op, 1)), load_one(op, 2), load_one(op, 3)
        right, right_step, count = moved(arena, load_one(op, 4)), load_one(op, 5), load_one(op, 6)
        first, other, other_row = moved(arena, load_one(op, 7)), moved(arena, load_one(op, 8)), load_one(op, 9)
        scale = dtype(0.5) if load_one(op, 10) else dtype(1)
        out, rows, columns = moved(arena, load_one(op, 11)), load_one(op, 12), load_one(op, 13)
        batch = load_one(worker, COUNT)
        count, rows = batch if count < 0 else count, batch if rows < 0 else rows
        factors = (left, left_row, left_step, right, right_step, count)
        product(tall, factors, first, other, other_row, scale, out, rows, columns)

    return {"multiply": multiply}
