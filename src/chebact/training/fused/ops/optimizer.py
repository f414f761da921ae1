"""One step of an optimizer over a run of parameters.

A record holds parameter, gradient, first and second state, length, and the index of the group, whose numbers for this
step are a row of `RATES` (see `ROW`).
"""

from __future__ import annotations

from typing import Any

from numba import float64, int64

from chebact.kernels.cpu.lanes import (
    fill,
    fma,
    load,
    load_one,
    moved,
    pointer,
    square_root,
    store,
    wide_pointer,
    width_of,
)
from chebact.training.fused.ops.jit import ARENA, RATES, STEP

RATE, DECAY, MOMENTUM, NESTEROV = range(4)
"""The row of a group for SGD."""
BETA_1, BETA_2, EPSILON, DECOUPLED = range(2, 6)
"""What follows rate and decay in the row of a group for Adam and AdamW."""
ROW = 8


def programs(dtype: Any, lanes: int, edition: int) -> dict[str, Any]:
    """The C functions for one type and width."""

    def sgd(record: Any, context: Any) -> None:
        edition  # noqa: B018  # makes it part of the cache key
        op, worker = pointer(record, int64), pointer(context, int64)
        arena, rates = wide_pointer(load_one(worker, ARENA), dtype, lanes), pointer(load_one(worker, RATES), float64)
        parameter, gradient = moved(arena, load_one(op, 1)), moved(arena, load_one(op, 2))
        memory, length, group = moved(arena, load_one(op, 3)), load_one(op, 5), ROW * load_one(op, 6)
        rate, decay = fill(arena, -load_one(rates, group + RATE)), fill(arena, load_one(rates, group + DECAY))
        momentum = fill(arena, load_one(rates, group + MOMENTUM))
        nesterov = load_one(rates, group + NESTEROV) != 0
        for i in range(0, length, width_of(arena)):
            p = load(parameter, i)
            d = fma(decay, p, load(gradient, i))
            m = fma(momentum, load(memory, i), d)
            store(memory, i, m)
            if nesterov:
                m = fma(momentum, m, d)
            store(parameter, i, fma(rate, m, p))

    def adam(record: Any, context: Any) -> None:
        edition  # noqa: B018
        op, worker = pointer(record, int64), pointer(context, int64)
        arena, rates = wide_pointer(load_one(worker, ARENA), dtype, lanes), pointer(load_one(worker, RATES), float64)
        parameter, gradient = moved(arena, load_one(op, 1)), moved(arena, load_one(op, 2))
        first, second = moved(arena, load_one(op, 3)), moved(arena, load_one(op, 4))
        length, group = load_one(op, 5), ROW * load_one(op, 6)
        rate, decay, step = load_one(rates, group + RATE), load_one(rates, group + DECAY), load_one(worker, STEP)
        beta_1, beta_2 = load_one(rates, group + BETA_1), load_one(rates, group + BETA_2)
        decoupled = load_one(rates, group + DECOUPLED) != 0
        size, spread = -rate / (1.0 - beta_1**step), (1.0 - beta_2**step) ** -0.5
        kept = fill(arena, 1.0 - rate * decay if decoupled else 1.0)
        added = fill(arena, 0.0 if decoupled else decay)
        old, new = fill(arena, beta_1), fill(arena, 1.0 - beta_1)
        old_square, new_square = fill(arena, beta_2), fill(arena, 1.0 - beta_2)
        move, shrink, epsilon = fill(arena, size), fill(arena, spread), fill(arena, load_one(rates, group + EPSILON))
        for i in range(0, length, width_of(arena)):
            p = load(parameter, i)
            g = fma(added, p, load(gradient, i))
            m = fma(new, g, old * load(first, i))
            v = fma(new_square * g, g, old_square * load(second, i))
            store(first, i, m)
            store(second, i, v)
            store(parameter, i, fma(move, m / fma(square_root(v), shrink, epsilon), kept * p))

    return {"sgd": sgd, "adam": adam}
