"""Activations without parameters: forward out = f(x), backward out = g f'(x) + other.

A record holds x, out, columns; backward x, f(x), g, other, the stride of other's rows, out, columns.
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
    same,
    store,
    wide_pointer,
    width_of,
)
from chebact.training.fused.ops.exponential import hyperbolic_tangent
from chebact.training.fused.ops.jit import ARENA, COUNT, jit

RELU, TANH, CUBE, IDENTITY = range(4)


@jit
def relu(x, like):
    """max(x, 0), and NaN of NaN."""
    zero = fill(like, 0.0)
    return choose(less(x, zero), zero, x)


@jit
def relu_backward(x, y, g, like):
    """g where y is not 0."""
    zero = fill(like, 0.0)
    return choose(same(y, zero), zero, g)


@jit
def tanh_backward(x, y, g, like):
    """g (1 - y^2)."""
    return g * fma(-y, y, fill(like, 1.0))


@jit
def cube_backward(x, y, g, like):
    """g 3 x^2."""
    return g * (fill(like, 3.0) * x * x)


def programs(dtype: Any, lanes: int, edition: int, kind: int) -> dict[str, Any]:
    """The C functions of one of these activations."""

    def forward(record: Any, context: Any) -> None:
        edition  # noqa: B018  # makes it part of the cache key
        op, worker = pointer(record, int64), pointer(context, int64)
        arena = wide_pointer(load_one(worker, ARENA), dtype, lanes)
        x, out = moved(arena, load_one(op, 1)), moved(arena, load_one(op, 2))
        for i in range(0, load_one(worker, COUNT) * load_one(op, 3), width_of(x)):
            v = load(x, i)
            if kind == RELU:
                store(out, i, relu(v, x))
            elif kind == TANH:
                store(out, i, hyperbolic_tangent(v, x))
            elif kind == CUBE:
                store(out, i, v * v * v)
            else:
                store(out, i, v)

    def backward(record: Any, context: Any) -> None:
        edition  # noqa: B018
        op, worker = pointer(record, int64), pointer(context, int64)
        arena = wide_pointer(load_one(worker, ARENA), dtype, lanes)
        x, y, g = moved(arena, load_one(op, 1)), moved(arena, load_one(op, 2)), moved(arena, load_one(op, 3))
        other, row, out = moved(arena, load_one(op, 4)), load_one(op, 5), moved(arena, load_one(op, 6))
        columns = load_one(op, 7)
        for b in range(load_one(worker, COUNT)):
            for c in range(0, columns, width_of(x)):
                i = b * columns + c
                v, f, h = load(x, i), load(y, i), load(g, i)
                if kind == RELU:
                    share = relu_backward(v, f, h, x)
                elif kind == TANH:
                    share = tanh_backward(v, f, h, x)
                elif kind == CUBE:
                    share = cube_backward(v, f, h, x)
                else:
                    share = h
                store(out, i, share + load(other, b * row + c))

    return {"forward": forward, "backward": backward}
