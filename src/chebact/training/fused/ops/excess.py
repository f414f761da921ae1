"""The gradient of the range penalty, added to that of an activation's input x.

u = x scale + shift is the position of x in an interval from -1 to 1, s the part of u beyond +-limit. The gradient of an
element is factor s (share + 1 if it is the worst element of its channel), where `share` is that of its point and
`factor` is 2 weight scale / channels, and 0 for channels that only fill a vector.

A record holds the address of scale, shift and limit, then the factors; the offsets of x, gradient and shares; columns.
"""

from __future__ import annotations

from typing import Any

from numba import int64

from chebact.kernels.cpu.lanes import (
    above_zero,
    anywhere,
    below_zero,
    choose,
    fill,
    fma,
    lane,
    less,
    load,
    load_one,
    magnitude,
    moved,
    pointer,
    store,
    wide_pointer,
    width_of,
)
from chebact.training.fused.ops.jit import ARENA, COUNT, jit

FACTORS = 16  # the first index of the factors


@jit
def add_worst(gradient, columns, column, rows, steps, width):
    """Add steps to the elements of the gradient in these rows, one per lane; a row is negative if there is none."""
    for i in range(width):
        row = int64(lane(rows, i))
        if row >= 0:
            at = row * columns + column + i
            store(gradient, at, load_one(gradient, at) + lane(steps, i))


def programs(dtype: Any, lanes: int, edition: int) -> dict[str, Any]:
    """The C function for one type and width."""

    def push(record: Any, context: Any) -> None:
        edition  # noqa: B018  # makes it part of the cache key
        op, worker = pointer(record, int64), pointer(context, int64)
        arena, constants = (
            wide_pointer(load_one(worker, ARENA), dtype, lanes),
            wide_pointer(load_one(op, 1), dtype, lanes),
        )
        x, gradient, shares = (
            moved(arena, load_one(op, 2)),
            moved(arena, load_one(op, 3)),
            moved(arena, load_one(op, 4)),
        )
        columns, count = load_one(op, 5), load_one(worker, COUNT)
        scale, shift = fill(x, load_one(constants, 0)), fill(x, load_one(constants, 1))
        limit = fill(x, load_one(constants, 2))
        for column in range(0, columns, width_of(x)):
            factor = load(constants, FACTORS + column)
            worst, rows, found = fill(x, 0.0), fill(x, -1.0), False
            for b in range(count):
                i = b * columns + column
                u = fma(load(x, i), scale, shift)
                if anywhere(less(limit, magnitude(u))):
                    found = True
                    s = above_zero(u - limit) + below_zero(u + limit)
                    further = less(magnitude(worst), magnitude(s))
                    worst, rows = choose(further, s, worst), choose(further, fill(x, b), rows)
                    store(gradient, i, fma(factor * fill(x, load_one(shares, b)), s, load(gradient, i)))
            if found:
                add_worst(gradient, columns, column, rows, factor * worst, width_of(x))

    return {"push": push}
