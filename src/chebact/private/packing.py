"""Many rows in one ciphertext, and products of matrices with it by rotations.

Channel c of row r is in slot c R + r, with R = slots / width rows, so a rotation by k R moves every row by k channels,
around the end. A matrix is a sum of diagonals, each a product with known numbers after a rotation. A matrix with few
results has few diagonals, because its rows are repeated, and the parts are then added by a doubling of rotations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

__all__ = ["Diagonals", "count_products", "count_rotations", "diagonals_of", "power_above", "steps_of"]

Array = Any


class Diagonals(NamedTuple):
    """A matrix as numbers for products: `numbers[k]` (width,) belongs to the vector moved by k channels.

    k = giant + baby, where giant is a multiple of `stride`: the numbers are moved back by giant, and the sum over the
    babies is moved forward by it. Then `sums` are the moves that add up the parts.
    """

    stride: int
    numbers: dict[int, Array]
    sums: tuple[int, ...]

    @property
    def babies(self) -> int:
        """The largest move of the vector itself, in steps of one."""
        return max((k % self.stride for k in self.numbers), default=0)

    @property
    def giants(self) -> int:
        """The largest move of a partial sum, in steps of `stride`."""
        return max((k // self.stride for k in self.numbers), default=0)


def power_above(size: int) -> int:
    """The smallest power of two that is not below a size.

    >>> power_above(30), power_above(32)
    (32, 32)
    """
    return 1 << (int(size) - 1).bit_length()


def diagonals_of(matrix: Array, width: int) -> Diagonals:
    """The diagonals of a matrix (result, column), both at most `width`, that are not zero.

    >>> found = diagonals_of(numpy.array([[1.0, 2.0, 0.0, 0.0]]), 4)
    >>> {k: each.tolist() for k, each in found.numbers.items()}, found.sums
    ({0: [1.0, 2.0, 0.0, 0.0]}, (1, 2))
    """
    rows = numpy.zeros((power_above(len(matrix)), width))
    rows[: len(matrix), : matrix.shape[1]] = matrix
    is_diagonal = not (matrix - numpy.diag(numpy.diag(matrix)) if len(matrix) == matrix.shape[1] else matrix).any()
    count = width if is_diagonal else len(rows)
    rows = numpy.vstack([rows, numpy.zeros((count - len(rows), width))])
    place, stride = numpy.arange(width), power_above(max(1, round(count**0.5)))
    found = {}
    for k in range(count):
        numbers = rows[place % count, (place + k) % width]
        if numbers.any():
            found[k] = numpy.roll(numbers, k - k % stride)
    return Diagonals(stride, found, tuple(count << i for i in range((width // count).bit_length() - 1)))


def count_products(matrix: Array, width: int) -> int:
    """The products with known numbers."""
    return len(diagonals_of(matrix, width).numbers)


def count_rotations(matrix: Array, width: int) -> int:
    """The rotations: one per step of the vector, of the partial sums, and of the sum of the parts.

    >>> count_rotations(numpy.ones((32, 32)), 32), count_rotations(numpy.ones((2, 32)), 32)
    (10, 5)
    """
    found = diagonals_of(matrix, width)
    return found.babies + found.giants + len(found.sums)


def steps_of(matrices: Any, width: int) -> list[int]:
    """The moves, in channels, that some matrices need keys for."""
    found = [diagonals_of(matrix, width) for matrix in matrices]
    steps = {step for each in found for step in each.sums}
    steps |= {1 for each in found if each.babies} | {each.stride for each in found if each.giants}
    return sorted(steps)
