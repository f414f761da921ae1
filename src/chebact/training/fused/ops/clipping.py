"""Bounds the norm of the gradient of a replica: the sum of squares, then one factor for all parameters.

A record of `add_squares` holds the offsets of gradient and sum, the length, and whether this is the first part; a
record of `shrink` holds the offsets of gradient and sum, the length, and the address of the bound (float64).
"""

from __future__ import annotations

import math
from typing import Any

from numba import float64, int64

from chebact.kernels.cpu.lanes import fill, fma, load, load_one, moved, pointer, store, total, wide_pointer, width_of
from chebact.training.fused.ops.jit import ARENA


def programs(dtype: Any, lanes: int, edition: int) -> dict[str, Any]:
    """The C functions for one type and width."""

    def add_squares(record: Any, context: Any) -> None:
        edition  # noqa: B018  # makes it part of the cache key
        op = pointer(record, int64)
        arena = wide_pointer(load_one(pointer(context, int64), ARENA), dtype, lanes)
        gradient, place = moved(arena, load_one(op, 1)), load_one(op, 2)
        sums = fill(arena, 0.0)
        for i in range(0, load_one(op, 3), width_of(arena)):
            sums = fma(load(gradient, i), load(gradient, i), sums)
        before = dtype(0) if load_one(op, 4) else load_one(arena, place)
        store(arena, place, before + total(sums))

    def shrink(record: Any, context: Any) -> None:
        edition  # noqa: B018
        op = pointer(record, int64)
        arena = wide_pointer(load_one(pointer(context, int64), ARENA), dtype, lanes)
        gradient, norm = moved(arena, load_one(op, 1)), math.sqrt(load_one(arena, load_one(op, 2)))
        bound = load_one(pointer(load_one(op, 4), float64), 0)
        if norm <= bound:
            return
        factor = fill(arena, bound / norm)
        for i in range(0, load_one(op, 3), width_of(arena)):
            store(gradient, i, factor * load(gradient, i))

    return {"add_squares": add_squares, "shrink": shrink}
