"""Loops of the range penalty: one pass over x forward, and one backward over those parts that have something outside.

x is seen as (replica, outer, channel, inner). u = x scale + shift is its position in an interval from -1 to 1, s the
part of u beyond +-limit. A task keeps per channel the sum of s^2, the s that is furthest outside, and its place in x.
Every task has its own numbers, which are joined in a fixed order, so the bits do not depend on the threads.
"""

from __future__ import annotations

from typing import Any

from numba import carray, float64, int64

from chebact.kernels.cpu.call_block import (
    CHANNELS,
    CONSTANTS,
    COUNTERS,
    INNER,
    INNER_BLOCKS,
    LENGTH,
    OUT,
    OUTER,
    OUTER_BLOCKS,
    PARTIAL,
    PARTS,
    REPLICAS,
    RESULT,
    X,
)
from chebact.kernels.cpu.lanes import (
    above_zero,
    anywhere,
    below_zero,
    choose,
    differs,
    either,
    fill,
    fma,
    lane,
    lanes_of,
    less,
    like,
    load,
    load_one,
    magnitude,
    next_ticket,
    pointer,
    store,
    wide_pointer,
    widened,
    width_of,
)
from chebact.kernels.cpu.tasks import LONG_ROW, jit, next_task, partial_start, task_bounds

__all__ = ["programs"]

SUM, WORST, PLACE, NUMBERS = range(4)  # what is kept per channel
SCALE, SHIFT, LIMIT, MEAN_FACTOR, WORST_FACTOR = range(5)  # the constants


@jit
def beyond(u, limit):
    """The part of u beyond +-limit, NaN for NaN."""
    return above_zero(u - limit) + below_zero(u + limit)


@jit
def is_outside(u, limit):
    """Whether |u| is above the limit, or NaN."""
    size = magnitude(u)
    return either(less(limit, size), differs(size, size))


@jit
def scales(x, k):
    """Scale, shift and limit as vectors."""
    return fill(x, load_one(k, SCALE)), fill(x, load_one(k, SHIFT)), fill(x, load_one(k, LIMIT))


@jit
def join(kept, at, total, worst, place):
    """Join a sum and a furthest part to those of a channel."""
    store(kept, at + SUM, load_one(kept, at + SUM) + total)
    if abs(worst) > abs(load_one(kept, at + WORST)):
        store(kept, at + WORST, worst)
        store(kept, at + PLACE, place)


@jit
def look(x, i, k, sums, worst, places):
    """Take a vector into the sums, the furthest parts and their places, lane by lane."""
    scale, shift, limit = scales(x, k)
    u = fma(load(x, i), scale, shift)
    if anywhere(is_outside(u, limit)):
        s = beyond(u, limit)
        wide = widened(s)
        further = less(magnitude(worst), magnitude(s))
        return sums + wide * wide, choose(further, s, worst), choose(further, like(places, i), places)
    return sums, worst, places


@jit
def look_at_one(x, i, k, kept, at):
    """Take one number into those of its channel."""
    u = load_one(x, i) * load_one(k, SCALE) + load_one(k, SHIFT)
    size, limit = abs(u), load_one(k, LIMIT)
    if not size <= limit:
        s = u - limit if u > 0 else u + limit
        join(kept, at, s * s, s, float64(i))


@jit
def join_lanes(kept, first, column, inner, sums, worst, places, one_channel):
    """Join the lanes to their channels: all to one, or the lane of a column to channel column // inner."""
    for j in range(lanes_of(sums)):
        part = lane(sums, j)
        if part != 0.0:
            at = first if one_channel else first + (column + j) // inner * NUMBERS
            join(kept, at, part, float64(lane(worst, j)), lane(places, j) + j)


@jit
def nothing(x):
    """Sums, furthest parts and places of no vector."""
    zero = fill(x, 0.0)
    return widened(zero), zero, widened(zero)


@jit
def push(x, out, i, k, factor):
    """Add the factor times the part outside to a vector of the gradient."""
    scale, shift, limit = scales(x, k)
    u = fma(load(x, i), scale, shift)
    if anywhere(is_outside(u, limit)):
        store(out, i, fma(fill(x, factor), beyond(u, limit), load(out, i)))


@jit
def push_one(x, out, i, k, factor):
    """Add the factor times the part outside to one number of the gradient."""
    u, limit = load_one(x, i) * load_one(k, SCALE) + load_one(k, SHIFT), load_one(k, LIMIT)
    if not abs(u) <= limit:
        store(out, i, load_one(out, i) + factor * (u - limit if u > 0 else u + limit))


@jit
def scan_rows(x, k, kept, first, block, r, o0, o1, c0, c1, i0, i1):
    """The rows of the channels of a task, each one contiguous."""
    channels, inner = block[CHANNELS], block[INNER]
    for c in range(c0, c1):
        at = first + c * NUMBERS
        sums, worst, places = nothing(x)
        for o in range(o0, o1):
            start = ((r * block[OUTER] + o) * channels + c) * inner
            whole = start + i0 + (i1 - i0) // width_of(x) * width_of(x)
            for i in range(start + i0, whole, width_of(x)):
                sums, worst, places = look(x, i, k, sums, worst, places)
            for i in range(whole, start + i1):
                look_at_one(x, i, k, kept, at)
        join_lanes(kept, at, 0, inner, sums, worst, places, True)


@jit
def scan_columns(x, k, kept, first, block, r, o0, o1, c0, c1):
    """Neighbouring channels side by side, for short rows: a column is one position of one channel."""
    inner, step = block[INNER], block[CHANNELS] * block[INNER]
    whole = c0 * inner + (c1 - c0) * inner // width_of(x) * width_of(x)
    for column in range(c0 * inner, whole, width_of(x)):
        sums, worst, places = nothing(x)
        for o in range(o0, o1):
            sums, worst, places = look(x, (r * block[OUTER] + o) * step + column, k, sums, worst, places)
        join_lanes(kept, first, column, inner, sums, worst, places, False)
    for column in range(whole, c1 * inner):
        at = first + column // inner * NUMBERS
        for o in range(o0, o1):
            look_at_one(x, (r * block[OUTER] + o) * step + column, k, kept, at)


@jit
def push_rows(x, out, k, kept, first, factor, block, r, o0, o1, c0, c1, i0, i1):
    """As `scan_rows`, for the gradient; channels with nothing outside are skipped."""
    channels, inner = block[CHANNELS], block[INNER]
    for c in range(c0, c1):
        if load_one(kept, first + c * NUMBERS + SUM) != 0.0:
            for o in range(o0, o1):
                start = ((r * block[OUTER] + o) * channels + c) * inner
                whole = start + i0 + (i1 - i0) // width_of(x) * width_of(x)
                for i in range(start + i0, whole, width_of(x)):
                    push(x, out, i, k, factor)
                for i in range(whole, start + i1):
                    push_one(x, out, i, k, factor)


@jit
def push_columns(x, out, k, kept, first, factor, block, r, o0, o1, c0, c1):
    """As `scan_columns`, for the gradient."""
    inner, step = block[INNER], block[CHANNELS] * block[INNER]
    whole = c0 * inner + (c1 - c0) * inner // width_of(x) * width_of(x)
    for column in range(c0 * inner, whole, width_of(x)):
        found = False
        for c in range(column // inner, (column + width_of(x) - 1) // inner + 1):
            found = found or load_one(kept, first + c * NUMBERS + SUM) != 0.0
        if found:
            for o in range(o0, o1):
                push(x, out, (r * block[OUTER] + o) * step + column, k, factor)
    for column in range(whole, c1 * inner):
        for o in range(o0, o1):
            push_one(x, out, (r * block[OUTER] + o) * step + column, k, factor)


@jit
def join_tasks(block, kept, worst):
    """Join the tasks of every channel into `worst`; the penalty of all replicas."""
    channels, blocks = block[CHANNELS], block[OUTER_BLOCKS] * block[INNER_BLOCKS]
    elements = float64(block[OUTER] * channels * block[INNER])
    total = 0.0
    for r in range(block[REPLICAS]):
        squares, furthest = 0.0, 0.0
        for c in range(channels):
            own = (r * channels + c) * NUMBERS
            for b in range(blocks):
                at = ((r * blocks + b) * channels + c) * NUMBERS
                if load_one(kept, at + SUM) != 0.0:
                    join(worst, own, load_one(kept, at + SUM), load_one(kept, at + WORST), load_one(kept, at + PLACE))
            squares += load_one(worst, own + SUM)
            furthest += load_one(worst, own + WORST) ** 2
        total += squares / elements + furthest / channels
    return total


@jit
def push_worst(block, out, worst, factor):
    """Add the factor times the furthest part of every channel to the gradient at its place."""
    for n in range(block[REPLICAS] * block[CHANNELS]):
        s = load_one(worst, n * NUMBERS + WORST)
        if s != 0.0:
            i = int64(load_one(worst, n * NUMBERS + PLACE))
            store(out, i, load_one(out, i) + factor * s)


def programs(dtype: Any, lanes: int, edition: int) -> dict[str, Any]:
    """The C functions for one type and width. RESULT has the penalty or its factor, then the numbers per channel."""

    def finish(address: Any) -> None:
        edition  # noqa: B018  # makes it part of the cache key
        block = carray(pointer(address, int64), LENGTH)
        value = pointer(block[RESULT], float64)
        store(value, 0, join_tasks(block, pointer(block[PARTIAL], float64), pointer(block[RESULT] + 8, float64)))

    def scan(address: Any) -> None:
        edition  # noqa: B018
        block = carray(pointer(address, int64), LENGTH)
        x, k = wide_pointer(block[X], dtype, lanes), pointer(block[CONSTANTS], float64)
        kept, by_rows = pointer(block[PARTIAL], float64), block[INNER] >= LONG_ROW
        worker = next_ticket(block[COUNTERS])
        task, turn = next_task(block, worker, 0)
        while task >= 0:
            r, o0, o1, c0, c1, i0, i1 = task_bounds(block, task)
            first = partial_start(block, r, o0, i0) * NUMBERS
            if by_rows:
                scan_rows(x, k, kept, first, block, r, o0, o1, c0, c1, i0, i1)
            else:
                scan_columns(x, k, kept, first, block, r, o0, o1, c0, c1)
            task, turn = next_task(block, worker, turn)
        if block[PARTS] == 1:
            value = pointer(block[RESULT], float64)
            store(value, 0, join_tasks(block, kept, pointer(block[RESULT] + 8, float64)))

    def push_all(address: Any) -> None:
        edition  # noqa: B018
        block = carray(pointer(address, int64), LENGTH)
        x, k = wide_pointer(block[X], dtype, lanes), pointer(block[CONSTANTS], float64)
        out, kept = wide_pointer(block[OUT], dtype, lanes), pointer(block[PARTIAL], float64)
        by_rows, factor = block[INNER] >= LONG_ROW, load_one(pointer(block[RESULT], float64), 0)
        mean, worker = factor * load_one(k, MEAN_FACTOR), next_ticket(block[COUNTERS])
        task, turn = next_task(block, worker, 0)
        while task >= 0:
            r, o0, o1, c0, c1, i0, i1 = task_bounds(block, task)
            first = partial_start(block, r, o0, i0) * NUMBERS
            if by_rows:
                push_rows(x, out, k, kept, first, mean, block, r, o0, o1, c0, c1, i0, i1)
            else:
                push_columns(x, out, k, kept, first, mean, block, r, o0, o1, c0, c1)
            task, turn = next_task(block, worker, turn)
        if block[PARTS] == 1:
            push_worst(block, out, pointer(block[RESULT] + 8, float64), factor * load_one(k, WORST_FACTOR))

    def push_last(address: Any) -> None:
        edition  # noqa: B018
        block = carray(pointer(address, int64), LENGTH)
        factor = load_one(pointer(block[RESULT], float64), 0) * load_one(
            pointer(block[CONSTANTS], float64), WORST_FACTOR
        )
        push_worst(block, pointer(block[OUT], dtype), pointer(block[RESULT] + 8, float64), factor)

    return {"scan": scan, "finish": finish, "push": push_all, "push_last": push_last}
