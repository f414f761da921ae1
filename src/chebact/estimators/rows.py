"""The rows that are trained on: equal rows as one with their weights added, and those that each replica leaves out.

So a weight of 2 is the same as a row that stands there twice, and a weight of 0 as one that does not, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

__all__ = ["Rows", "distinct_rows", "left_out_rows"]

Array = Any


@dataclass(frozen=True)
class Rows:
    """x (row, column), y (row, target) and weights (row,), no two rows alike."""

    x: Array
    y: Array
    weights: Array


def distinct_rows(x: Array, y: Array, weights: Array | None) -> Rows:
    """The rows of positive weight, in an order that depends on their numbers alone, equal ones once.

    >>> rows = distinct_rows(numpy.array([[1.0], [0.0], [1.0]]), numpy.array([[2.0], [3.0], [2.0]]), None)
    >>> rows.x.tolist(), rows.weights.tolist()
    ([[0.0], [1.0]], [1.0, 2.0])
    """
    own = numpy.ones(len(x)) if weights is None else weights
    kept = own > 0
    together = numpy.concatenate([x[kept], y[kept]], axis=1)
    order = numpy.lexsort(together.T[::-1])
    ordered = together[order]
    new = numpy.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    sums = numpy.add.reduceat(own[kept][order], numpy.flatnonzero(new))
    return Rows(ordered[new, : x.shape[1]], ordered[new, x.shape[1] :], sums)


def left_out_rows(order: Array, replicas: int, fraction: float) -> Array:
    """Which rows each replica leaves out, (replica, count): the same share along `order`, which holds every row once,
    so that together the replicas leave out each row about equally often. (replica, 0) where a share is no whole row.

    >>> left_out_rows(numpy.arange(6), 3, 1 / 3).tolist()
    [[0, 3], [1, 4], [2, 5]]
    """
    count = int(len(order) * fraction + 1e-9)
    if count == 0:
        return numpy.zeros((replicas, 0), dtype=numpy.int64)
    step = len(order) / count
    starts = numpy.arange(replicas) % step
    return order[numpy.floor(starts[:, None] + numpy.arange(count) * step + 1e-9).astype(int) % len(order)]
