"""The cosine of x and prototypes w, s = p / (|x| |w| + epsilon), around the products of `linear`.

A record holds first the offsets of x, s, the prototypes (input, prototype), the lengths of x and those of the
prototypes, then columns and inputs, and the numbers named below.
"""

from __future__ import annotations

from typing import Any

from numba import int64

from chebact.kernels.cpu.lanes import (
    choose,
    fill,
    fma,
    less,
    load,
    load_one,
    moved,
    pointer,
    square_root,
    store,
    total,
    wide_pointer,
    width_of,
)
from chebact.training.fused.ops.jit import ARENA, COUNT, jit

EPSILON = 1e-8


@jit
def divide(a, b, like):
    """a / b, and 0 if b is 0: the slope of a length at 0."""
    zero = fill(like, 0.0)
    return choose(less(zero, b), a / b, zero)


@jit
def measure(x, count, columns, w, inputs, x_lengths, w_lengths):
    """The length of each row of x into every lane of a vector, and of each column of w."""
    width = width_of(x)
    for b in range(count):
        squares = fill(x, 0.0)
        for c in range(0, columns, width):
            squares = fma(load(x, b * columns + c), load(x, b * columns + c), squares)
        store(x_lengths, b * width, square_root(fill(x, total(squares))))
    for c in range(0, columns, width):
        squares = fill(w, 0.0)
        for i in range(inputs):
            squares = fma(load(w, i * columns + c), load(w, i * columns + c), squares)
        store(w_lengths, c, square_root(squares))


def programs(dtype: Any, lanes: int, edition: int) -> dict[str, Any]:
    """The C functions for one type and width."""

    def forward(record: Any, context: Any) -> None:
        """Replace the products p by s."""
        edition  # noqa: B018  # makes it part of the cache key
        op, worker = pointer(record, int64), pointer(context, int64)
        arena = wide_pointer(load_one(worker, ARENA), dtype, lanes)
        x, s, w = moved(arena, load_one(op, 1)), moved(arena, load_one(op, 2)), moved(arena, load_one(op, 3))
        x_lengths, w_lengths = moved(arena, load_one(op, 4)), moved(arena, load_one(op, 5))
        columns, count, epsilon = load_one(op, 6), load_one(worker, COUNT), fill(arena, EPSILON)
        measure(x, count, columns, w, load_one(op, 7), x_lengths, w_lengths)
        for b in range(count):
            length = load(x_lengths, b * width_of(x))
            for c in range(0, columns, width_of(x)):
                i = b * columns + c
                store(s, i, load(s, i) / fma(length, load(w_lengths, c), epsilon))

    def slopes(record: Any, context: Any) -> None:
        """Replace the gradient g of s by that of p, and the lengths by their gradients divided by the lengths."""
        edition  # noqa: B018
        op, worker = pointer(record, int64), pointer(context, int64)
        arena = wide_pointer(load_one(worker, ARENA), dtype, lanes)
        s, x_lengths, w_lengths = (
            moved(arena, load_one(op, 2)),
            moved(arena, load_one(op, 4)),
            moved(arena, load_one(op, 5)),
        )
        columns, g, sums = load_one(op, 6), moved(arena, load_one(op, 8)), moved(arena, load_one(op, 9))
        epsilon = fill(arena, EPSILON)
        for c in range(0, columns, width_of(arena)):
            store(sums, c, fill(arena, 0.0))
        for b in range(load_one(worker, COUNT)):
            length, row = load(x_lengths, b * width_of(arena)), fill(arena, 0.0)
            for c in range(0, columns, width_of(arena)):
                i, own = b * columns + c, load(w_lengths, c)
                slope = load(g, i) / fma(length, own, epsilon)
                store(g, i, slope)
                lost = -slope * load(s, i)
                row = fma(lost, own, row)
                store(sums, c, fma(lost, length, load(sums, c)))
            store(x_lengths, b * width_of(arena), divide(fill(arena, total(row)), length, arena))
        for c in range(0, columns, width_of(arena)):
            store(w_lengths, c, divide(load(sums, c), load(w_lengths, c), arena))

    def finish(record: Any, context: Any) -> None:
        """Add the part of the lengths to the gradients of the prototypes and of x, and add `other`."""
        edition  # noqa: B018
        op, worker = pointer(record, int64), pointer(context, int64)
        arena = wide_pointer(load_one(worker, ARENA), dtype, lanes)
        x, w = moved(arena, load_one(op, 1)), moved(arena, load_one(op, 3))
        x_slopes, w_slopes = moved(arena, load_one(op, 4)), moved(arena, load_one(op, 5))
        columns, gradient, own = load_one(op, 6), moved(arena, load_one(op, 8)), moved(arena, load_one(op, 9))
        other, row, out = moved(arena, load_one(op, 10)), load_one(op, 11), moved(arena, load_one(op, 12))
        for i in range(load_one(op, 7)):
            for c in range(0, columns, width_of(arena)):
                k = i * columns + c
                store(gradient, k, fma(load(w, k), load(w_slopes, c), load(gradient, k)))
        for b in range(load_one(worker, COUNT)):
            slope = load(x_slopes, b * width_of(arena))
            for c in range(0, columns, width_of(arena)):
                i = b * columns + c
                store(out, i, fma(slope, load(x, i), load(own, i)) + load(other, b * row + c))

    return {"forward": forward, "slopes": slopes, "finish": finish}
