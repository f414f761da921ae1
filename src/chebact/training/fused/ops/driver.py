"""The loop around the operations: every worker takes a replica, makes its steps, and takes the next one.

The state of a replica (parameters and optimizer state) is copied to the memory of the worker, so that everything that
its steps use is in the L1 and L2 caches. The numbers do not depend on the worker.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import float64, int32, int64, types
from numba.extending import intrinsic

from chebact.kernels.cpu.lanes import load_one, moved, next_ticket, pointer, store, wide_pointer
from chebact.training.fused.ops.jit import ARENA, CONTEXT_LENGTH, COUNT, LOSS, RATES, RECORD_LENGTH, STEP, jit

(COUNTERS, REPLICAS, FIRST_STEP, LAST_STEP, STEPS_PER_EPOCH, FIRST_EPOCH, BATCH, POINTS, ORDER, ORDER_ROW, X, X_REPLICA,
 FEATURES, X_PLACE, Y, Y_REPLICA, TARGETS, Y_PLACE, WEIGHTS, WEIGHTS_REPLICA, SHARES_PLACE, STATE, STATE_LENGTH, ARENAS,
 ARENA_LENGTH, OPERATIONS, OPERATION_COUNT, ALL_RATES, RATES_ROW, LOSSES, STEPS_MADE) = range(31)  # fmt: skip
LENGTH = 31
"""The integers that describe a call: addresses, counts and strides in numbers of their type.

Steps are counted over all epochs, STEPS_PER_EPOCH for the replica with the most points. POINTS (replica,)
int64; ORDER (epoch from FIRST_EPOCH on, replica, ORDER_ROW) int32; WEIGHTS (replica, point) or 0; ALL_RATES (step from
FIRST_STEP on, RATES_ROW) float64; LOSSES (epoch, replica) float64 takes sums; STEPS_MADE (replica,) int64.
"""


@intrinsic
def call(typingctx: Any, address: Any, record: Any, context: Any) -> Any:
    """Call the C function at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        function = ir.FunctionType(ir.VoidType(), [word, word])
        builder.call(builder.inttoptr(args[0], function.as_pointer()), args[1:])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@intrinsic
def like_pointer(typingctx: Any, address: Any, like: Any) -> Any:
    """The integer `address` as a pointer of the type of `like`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_data_type(like))

    return like(types.int64, like), codegen


@jit
def gather(source, width, order, count, target):
    """target[b, :] = source[order[b], :]."""
    for b in range(count):
        row = int64(load_one(order, b)) * width
        for i in range(width):
            store(target, b * width + i, load_one(source, row + i))


@jit
def make_shares(weights, order, count, target):
    """Write the share of each point of the batch, its weight divided by their sum; returns the sum."""
    summed = 0.0
    for b in range(count):
        summed += load_one(weights, int64(load_one(order, b)))
    for b in range(count):
        share = load_one(weights, int64(load_one(order, b))) / summed if summed > 0.0 else 0.0
        store(target, b, share)
    return summed


@jit
def equal_shares(count, target):
    """Write equal shares for all points; returns their number."""
    for b in range(count):
        store(target, b, 1.0 / count)
    return float64(count)


@jit
def copy(source, target, length):
    """target[:length] = source[:length]."""
    for i in range(length):
        store(target, i, load_one(source, i))


@jit
def replica_pointer(address, stride, replica, like):
    """A pointer to the numbers of one replica, of the type of `like`."""
    return moved(like_pointer(address, like), replica * stride)


@jit
def make_step(block, context, context_address, arena, replica, step):
    """One step of one replica; nothing if it has no batch left in this epoch."""
    epoch = step // load_one(block, STEPS_PER_EPOCH)
    start = (step - epoch * load_one(block, STEPS_PER_EPOCH)) * load_one(block, BATCH)
    points = load_one(pointer(load_one(block, POINTS), int64), replica)
    count = min(load_one(block, BATCH), points - start)
    if count <= 0:
        return
    row = (epoch - load_one(block, FIRST_EPOCH)) * load_one(block, REPLICAS) + replica
    order = moved(pointer(load_one(block, ORDER), int32), row * load_one(block, ORDER_ROW) + start)
    x = replica_pointer(load_one(block, X), load_one(block, X_REPLICA), replica, arena)
    y = replica_pointer(load_one(block, Y), load_one(block, Y_REPLICA), replica, arena)
    gather(x, load_one(block, FEATURES), order, count, moved(arena, load_one(block, X_PLACE)))
    gather(y, load_one(block, TARGETS), order, count, moved(arena, load_one(block, Y_PLACE)))
    shares = moved(arena, load_one(block, SHARES_PLACE))
    if load_one(block, WEIGHTS):
        weights = replica_pointer(load_one(block, WEIGHTS), load_one(block, WEIGHTS_REPLICA), replica, arena)
        summed = make_shares(weights, order, count, shares)
    else:
        summed = equal_shares(count, shares)
    made = pointer(load_one(block, STEPS_MADE), int64)
    store(made, replica, load_one(made, replica) + 1)
    store(context, COUNT, count)
    store(context, STEP, load_one(made, replica))
    row = (step - load_one(block, FIRST_STEP)) * load_one(block, RATES_ROW)
    store(context, RATES, load_one(block, ALL_RATES) + 8 * row)
    for number in range(load_one(block, OPERATION_COUNT)):
        record = load_one(block, OPERATIONS) + 8 * RECORD_LENGTH * number
        call(load_one(pointer(record, int64), 0), record, context_address)
    losses = pointer(load_one(block, LOSSES), float64)
    at = epoch * load_one(block, REPLICAS) + replica
    store(losses, at, load_one(losses, at) + load_one(pointer(load_one(context, LOSS), float64), 0) * summed)


def programs(dtype: Any, lanes: int, edition: int) -> dict[str, Any]:
    """The C function for one type and width."""
    size = dtype.bitwidth // 8

    def train(address: Any) -> None:
        edition  # noqa: B018  # makes it part of the cache key
        block = pointer(address, int64)
        worker = next_ticket(load_one(block, COUNTERS))
        context_address = load_one(block, COUNTERS) + 8 * (2 + worker * CONTEXT_LENGTH)
        context = pointer(context_address, int64)
        arena_address = load_one(block, ARENAS) + worker * load_one(block, ARENA_LENGTH) * size
        arena = wide_pointer(arena_address, dtype, lanes)
        store(context, ARENA, arena_address)
        store(context, LOSS, context_address + 8 * (CONTEXT_LENGTH - 1))
        while True:
            replica = next_ticket(load_one(block, COUNTERS) + 8)
            if replica >= load_one(block, REPLICAS):
                break
            state = wide_pointer(load_one(block, STATE) + replica * load_one(block, STATE_LENGTH) * size, dtype, lanes)
            copy(state, arena, load_one(block, STATE_LENGTH))
            for step in range(load_one(block, FIRST_STEP), load_one(block, LAST_STEP)):
                make_step(block, context, context_address, arena, replica, step)
            copy(arena, state, load_one(block, STATE_LENGTH))

    return {"train": train}
