"""What the loops of the range penalty share: how the work of a call is cut into tasks.

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
from chebact.kernels.cpu.lanes import next_ticket

LONG_ROW = 16  # from this length on one channel's row fills the lanes; below it, neighbouring channels share them

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
