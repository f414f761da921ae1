"""Heights that adjacent channels share.

A record holds the offset and length of the rows of the groups, the number of groups and of channels per group, the
offset and length of the rows of the channels, and the number of rows.
"""

from __future__ import annotations

from typing import Any

from numba import int64

from chebact.kernels.cpu.lanes import load_one, pointer, store, wide_pointer
from chebact.training.fused.ops.jit import ARENA


def programs(dtype: Any, lanes: int, edition: int) -> dict[str, Any]:
    """The C functions for one type and width."""

    def spread(record: Any, context: Any) -> None:
        edition  # noqa: B018  # makes it part of the cache key
        op = pointer(record, int64)
        arena = wide_pointer(load_one(pointer(context, int64), ARENA), dtype, lanes)
        each = load_one(op, 4)
        for row in range(load_one(op, 7)):
            groups, channels = load_one(op, 1) + row * load_one(op, 2), load_one(op, 5) + row * load_one(op, 6)
            for channel in range(load_one(op, 3) * each):
                store(arena, channels + channel, load_one(arena, groups + channel // each))

    def add(record: Any, context: Any) -> None:
        edition  # noqa: B018
        op = pointer(record, int64)
        arena = wide_pointer(load_one(pointer(context, int64), ARENA), dtype, lanes)
        each = load_one(op, 4)
        for row in range(load_one(op, 7)):
            groups, channels = load_one(op, 1) + row * load_one(op, 2), load_one(op, 5) + row * load_one(op, 6)
            for group in range(load_one(op, 3)):
                result = dtype(0)
                for channel in range(group * each, (group + 1) * each):
                    result += load_one(arena, channels + channel)
                store(arena, groups + group, result)

    return {"spread": spread, "add": add}
