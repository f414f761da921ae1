"""The loss of a batch and its gradient. `points` are the share of each point, which add up to one.

A record holds prediction, target, points, gradient, outputs, and room for the share of each output; all lie without
gaps, and in room for whole vectors.
"""

from __future__ import annotations

import math
from typing import Any

from numba import float64, int64

from chebact.kernels.cpu.lanes import (
    choose,
    fill,
    fma,
    less,
    load,
    load_one,
    magnitude,
    moved,
    pointer,
    store,
    total,
    wide_pointer,
    width_of,
)
from chebact.training.fused.ops.exponential import LEAST, exponential
from chebact.training.fused.ops.jit import ARENA, COUNT, LOSS, jit

ABSOLUTE, SQUARED, HUBER, SCALED_HUBER = range(4)


@jit
def clear_tail(start, count):
    """Zeros from start[count] to the end of the vector; how many numbers that makes."""
    width = width_of(start)
    whole = -(-count // width) * width
    for i in range(count, whole):
        store(start, i, 0.0)
    return whole


@jit
def spread_shares(points, count, outputs, shares):
    """shares[b, o] = points[b] / outputs."""
    for b in range(count):
        share = load_one(points, b) / outputs
        for o in range(outputs):
            store(shares, b * outputs + o, share)


@jit
def signed(d, size, like):
    """`size` with the sign of d, 0 where d is 0, NaN where d is NaN."""
    zero = fill(like, 0.0)
    return choose(less(zero, d), size, choose(less(d, zero), -size, d))


def programs(dtype: Any, lanes: int, edition: int, kind: int, delta: float) -> dict[str, Any]:
    """The C function of one of the losses of a distance; `delta` is where Huber's goes over to a line."""

    def distance(record: Any, context: Any) -> None:
        edition  # noqa: B018  # a mention makes it part of the key that the compiled code is kept under
        op, worker = pointer(record, int64), pointer(context, int64)
        arena = wide_pointer(load_one(worker, ARENA), dtype, lanes)
        found, target = moved(arena, load_one(op, 1)), moved(arena, load_one(op, 2))
        gradient, outputs, shares = moved(arena, load_one(op, 4)), load_one(op, 5), moved(arena, load_one(op, 6))
        count = load_one(worker, COUNT)
        spread_shares(moved(arena, load_one(op, 3)), count, outputs, shares)
        whole = clear_tail(found, count * outputs)
        clear_tail(target, count * outputs)
        clear_tail(shares, count * outputs)
        half, bend, sums = fill(arena, 0.5), fill(arena, delta), fill(arena, 0.0)
        if kind == SCALED_HUBER:
            for i in range(0, whole, width_of(arena)):
                sums = fma(load(shares, i), magnitude(load(found, i) - load(target, i)), sums)
            bend, sums = fill(arena, delta * total(sums)), fill(arena, 0.0)
        for i in range(0, whole, width_of(arena)):
            d, share = load(found, i) - load(target, i), load(shares, i)
            far = magnitude(d)
            if kind == ABSOLUTE:
                sums = fma(share, far, sums)
                store(gradient, i, signed(d, share, arena))
            elif kind == SQUARED:
                sums = fma(share * d, d, sums)
                store(gradient, i, (share + share) * d)
            elif kind == SCALED_HUBER:
                near, part = less(far, bend), d / bend
                sums = fma(share, choose(near, half * d * part, far - half * bend), sums)
                store(gradient, i, choose(near, share * part, signed(d, share, arena)))
            else:
                near = less(far, bend)
                sums = fma(share, choose(near, half * d * d, bend * (far - half * bend)), sums)
                store(gradient, i, share * choose(near, d, signed(d, bend, arena)))
        store(pointer(load_one(worker, LOSS), float64), 0, float64(total(sums)))

    return {"distance": distance}


def class_programs(dtype: Any, lanes: int, edition: int) -> dict[str, Any]:
    """The C function of the cross entropy; a target is the number of a class."""
    least = LEAST[dtype.bitwidth]

    def cross_entropy(record: Any, context: Any) -> None:
        edition  # noqa: B018
        op, worker = pointer(record, int64), pointer(context, int64)
        arena = wide_pointer(load_one(worker, ARENA), dtype, lanes)
        found, target = moved(arena, load_one(op, 1)), moved(arena, load_one(op, 2))
        points, gradient, classes = moved(arena, load_one(op, 3)), moved(arena, load_one(op, 4)), load_one(op, 5)
        count = load_one(worker, COUNT)
        for b in range(count):
            largest = load_one(found, b * classes)
            for c in range(1, classes):
                largest = max(largest, load_one(found, b * classes + c))
            for c in range(classes):
                store(gradient, b * classes + c, load_one(found, b * classes + c) - largest)
        for i in range(0, clear_tail(gradient, count * classes), width_of(arena)):
            store(gradient, i, exponential(load(gradient, i), arena, least))
        loss = 0.0
        for b in range(count):
            wanted, share = b * classes + int64(load_one(target, b)), load_one(points, b)
            largest, sums = load_one(found, b * classes), dtype(0)
            for c in range(classes):
                largest = max(largest, load_one(found, b * classes + c))
                sums += load_one(gradient, b * classes + c)
            for c in range(classes):
                store(gradient, b * classes + c, load_one(gradient, b * classes + c) / sums * share)
            store(gradient, wanted, load_one(gradient, wanted) - share)
            loss += float64(share) * (math.log(float64(sums)) - float64(load_one(found, wanted) - largest))
        store(pointer(load_one(worker, LOSS), float64), 0, loss)

    return {"cross_entropy": cross_entropy}
