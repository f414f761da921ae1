"""The operations that a plan is made of, and two kinds of them: on NumPy arrays, and on levels, which only counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from chebact.private.packing import count_products, count_rotations

__all__ = ["Arithmetic", "Counts", "LevelArithmetic", "NumpyArithmetic", "Term", "Vector"]

Array = Any
Vector = Any
Term = tuple[Vector, Array]
"""A vector and the matrix (result, vector) that multiplies it."""


class Arithmetic(Protocol):
    """What can be done with encrypted vectors: sums and products. Numbers have one entry per channel."""

    def linear(self, terms: Sequence[Term], bias: Array) -> Vector:
        """The sum of matrices times vectors, and a bias."""

    def multiply(self, left: Vector, right: Vector) -> Vector:
        """The product of two vectors, element by element."""

    def multiply_plain(self, vector: Vector, numbers: Array) -> Vector:
        """The product of a vector with known numbers."""

    def add(self, left: Vector, right: Vector) -> Vector:
        """The sum of two vectors."""

    def add_plain(self, vector: Vector, numbers: Array) -> Vector:
        """The sum of a vector and known numbers."""


class NumpyArithmetic:
    """Vectors are arrays (row, channel) of float64."""

    def linear(self, terms: Sequence[Term], bias: Array) -> Array:
        """(row, result)."""
        return sum((vector @ matrix.T for vector, matrix in terms), start=bias)

    def multiply(self, left: Array, right: Array) -> Array:
        """(row, channel)."""
        return left * right

    multiply_plain = multiply

    def add(self, left: Array, right: Array) -> Array:
        """(row, channel)."""
        return left + right

    add_plain = add


@dataclass
class Counts:
    """How many operations of each kind there were."""

    ciphertext_products: int = 0
    plaintext_products: int = 0
    rotations: int = 0

    def __sub__(self, other: Counts) -> Counts:
        return Counts(*(mine - its for mine, its in zip(self.numbers, other.numbers, strict=True)))

    @property
    def numbers(self) -> tuple[int, int, int]:
        """In the order of the fields."""
        return self.ciphertext_products, self.plaintext_products, self.rotations


@dataclass
class LevelArithmetic:
    """A vector is the number of levels that it has used; what is done with it is counted, for vectors of `width`."""

    width: int
    counts: Counts = field(default_factory=Counts)

    def linear(self, terms: Sequence[Term], bias: Array) -> int:
        """One level below the deepest vector."""
        for _, matrix in terms:
            self.counts.plaintext_products += count_products(matrix, self.width)
            self.counts.rotations += count_rotations(matrix, self.width)
        return 1 + max(int(level) for level, _ in terms)

    def multiply(self, left: int, right: int) -> int:
        """One level."""
        self.counts.ciphertext_products += 1
        return 1 + max(left, right)

    def multiply_plain(self, vector: int, numbers: Array) -> int:
        """One level."""
        self.counts.plaintext_products += 1
        return 1 + vector

    def add(self, left: int, right: int) -> int:
        """No level; a vector that has used fewer is multiplied by one, to bring it to the scale of the other."""
        self.counts.plaintext_products += left != right
        return max(left, right)

    def add_plain(self, vector: int, numbers: Array) -> int:
        """No level."""
        return vector
