"""What the CPU loops share: how the work of a call is cut into tasks, and sums.

A tensor is seen as (replica, outer, channel, inner). The cut depends on the sizes alone; threads draw tickets until no
task is left, and every task keeps sums of its own, so the result has the same bits for any number of threads.
"""

from __future__ import annotations

from typing import Any

import numba

from chebact.kernels.cpu.call_block import (
    CHANNEL_BLOCK,
    CHANNEL_BLOCKS,
    CHANNELS,
    COUNTERS,
    INNER,
    INNER_BLOCK,
    INNER_BLOCKS,
    OUTER,
    OUTER_BLOCK,
    OUTER_BLOCKS,
    PARTS,
    TASKS,
)
from chebact.kernels.cpu.lanes import fill, load_one, next_ticket, store, width_of

LONG_ROW = 16  # from this length on one channel's row fills the lanes; below it, neighbouring channels share them

NEAR = 256  # elements of the few rows that are worked on side by side, so that memory is still read in its order

RUN = 100  # terms that a lane adds up before the sum goes on in float64

jit: Any = numba.njit(error_model="numpy", nogil=True)


@jit
def next_task(block, worker, turn):
    """The next task of a worker, or -1; and its turn, to be handed in again.

    The tasks are cut into as many parts as there are workers, and everyone begins with a part of its own, the same in
    every call: what it computed on is still in its cache. Done with that, it helps the others.
    """
    while turn < block[PARTS]:
        part = (worker + turn) % block[PARTS]
        first, last = part * block[TASKS] // block[PARTS], (part + 1) * block[TASKS] // block[PARTS]
        task = first + next_ticket(block[COUNTERS] + 8 * (part + 1))
        if task < last:
            return task, turn
        turn += 1
    return -1, turn


@jit
def task_bounds(block, task):
    """The replica and the ranges of outer, channel and inner that one task covers."""
    inner_index = task % block[INNER_BLOCKS]
    task //= block[INNER_BLOCKS]
    channel_index = task % block[CHANNEL_BLOCKS]
    task //= block[CHANNEL_BLOCKS]
    outer_index = task % block[OUTER_BLOCKS]
    outer_start = outer_index * block[OUTER_BLOCK]
    channel_start = channel_index * block[CHANNEL_BLOCK]
    inner_start = inner_index * block[INNER_BLOCK]
    return (
        task // block[OUTER_BLOCKS],
        outer_start,
        min(outer_start + block[OUTER_BLOCK], block[OUTER]),
        channel_start,
        min(channel_start + block[CHANNEL_BLOCK], block[CHANNELS]),
        inner_start,
        min(inner_start + block[INNER_BLOCK], block[INNER]),
    )


@jit
def partial_start(block, replica, outer_start, inner_start):
    """The index of the first channel's sums that a task writes, counted in channels."""
    outer_index = outer_start // block[OUTER_BLOCK]
    inner_index = inner_start // block[INNER_BLOCK]
    return ((replica * block[OUTER_BLOCKS] + outer_index) * block[INNER_BLOCKS] + inner_index) * block[CHANNELS]


@jit
def lane_sum(start, index):
    """The sum of the lanes at `start[index]`, in float64 and in a fixed order."""
    total = 0.0
    for k in range(width_of(start)):
        total += numba.float64(load_one(start, index + k))
    return total


@jit
def clear(start, count, zero):
    """Put `count` zeros (a multiple of the width) at `start`."""
    for index in range(0, count, width_of(start)):
        store(start, index, fill(start, zero))


@jit
def keep_alive(array):
    """Call this after the last use of a pointer into `array`: Numba frees an array after its last mention."""
    return array.size


@jit
def add_blocks(partial, blocks, count):
    """Add the `count` sums of every block of tasks to those of the first, in the order of the blocks."""
    for b in range(1, blocks):
        for n in range(count):
            store(partial, n, load_one(partial, n) + load_one(partial, b * count + n))
