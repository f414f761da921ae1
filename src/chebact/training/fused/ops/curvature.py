"""The gradient of the curvature penalty: gradient[j, :] += sum_k matrix[j, k] heights[k, :].

A record holds the address of the matrix, the offsets of heights and gradient, columns, and the number of heights.
"""

from __future__ import annotations

from typing import Any

from numba import int64

from chebact.kernels.cpu.lanes import fill, fma, load, load_one, moved, pointer, store, wide_pointer, width_of
from chebact.training.fused.ops.jit import ARENA


def programs(dtype: Any, lanes: int, edition: int) -> dict[str, Any]:
    """The C function for one type and width."""

    def bend(record: Any, context: Any) -> None:
        edition  # noqa: B018  # makes it part of the cache key
        op = pointer(record, int64)
        arena, matrix = (
            wide_pointer(load_one(pointer(context, int64), ARENA), dtype, lanes),
            pointer(load_one(op, 1), dtype),
        )
        heights, gradient = moved(arena, load_one(op, 2)), moved(arena, load_one(op, 3))
        columns, terms = load_one(op, 4), load_one(op, 5)
        for column in range(0, columns, width_of(arena)):
            for j in range(terms):
                result = load(gradient, j * columns + column)
                for k in range(terms):
                    factor = fill(arena, load_one(matrix, j * terms + k))
                    result = fma(factor, load(heights, k * columns + column), result)
                store(gradient, j * columns + column, result)

    return {"bend": bend}
