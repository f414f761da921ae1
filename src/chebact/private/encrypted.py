"""The operations of a plan on ciphertexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from chebact.checks import must_be
from chebact.private.arithmetic import Counts, Term
from chebact.private.packing import diagonals_of
from chebact.private.scheme import Scheme, split_bytes

__all__ = ["Encrypted", "EncryptedArithmetic"]

Array = Any


@dataclass(frozen=True)
class Encrypted:
    """A ciphertext of many rows, and the levels that it has used."""

    ciphertext: Any
    level: int


class EncryptedArithmetic:
    """Sums and products of ciphertexts with the public keys of the client; what was done is counted.

    The scale of a ciphertext is tracked exactly: a product with known numbers brings it back to that of the agreement,
    since the scale of the numbers is free, and only sums of ciphertexts of different levels need a product for it.
    """

    def __init__(self, scheme: Scheme, relinearization_keys: Any, rotation_keys: Any) -> None:
        self.scheme, self.seal = scheme, scheme.seal
        self.relinearization_keys, self.rotation_keys = relinearization_keys, rotation_keys
        self.evaluator = self.seal.Evaluator(scheme.context)
        self.counts = Counts()
        self.encoded: dict[tuple[bytes, int, float], Any] = {}

    @classmethod
    def from_keys(cls, scheme: Scheme, keys: bytes) -> EncryptedArithmetic:
        """With the keys that a client sent: those for products, and those for rotations where there are any."""
        parts, _ = split_bytes(keys)
        kinds = ("RelinKeys", "GaloisKeys")
        found = [scheme.from_bytes(kind, part) for kind, part in zip(kinds, parts, strict=False)]
        if not found:
            raise ValueError(must_be("keys", "those of Client.keys", keys))
        return cls(scheme, found[0], found[1] if len(found) > 1 else None)

    def linear(self, terms: Sequence[Term], bias: Array) -> Encrypted:
        """The sum of matrices times vectors, and a bias: one level."""
        level = max(vector.level for vector, _ in terms)
        parts = [self._product(self._lowered(vector, level), matrix) for vector, matrix in terms]
        total = parts[0]
        for part in parts[1:]:
            self.evaluator.add_inplace(total, part)
        return self.add_plain(self._rescaled(total, level), bias)

    def multiply(self, left: Encrypted, right: Encrypted) -> Encrypted:
        """The product of two vectors: one level."""
        level, result = max(left.level, right.level), self.seal.Ciphertext()
        if left is right:
            self.evaluator.square(left.ciphertext, result)
        else:
            factors = (self._lowered(left, level).ciphertext, self._lowered(right, level).ciphertext)
            self.evaluator.multiply(*factors, result)
        self.evaluator.relinearize_inplace(result, self.relinearization_keys)
        self.counts.ciphertext_products += 1
        return self._rescaled(result, level)

    def multiply_plain(self, vector: Encrypted, numbers: Array) -> Encrypted:
        """The product with known numbers: one level."""
        return self._rescaled(self._times(vector, numbers), vector.level)

    def add(self, left: Encrypted, right: Encrypted) -> Encrypted:
        """The sum of two vectors; the one of fewer levels is brought to the scale of the other."""
        low, high = sorted((left, right), key=lambda each: each.level)
        if low.level < high.level:
            one, scale = numpy.ones(self.scheme.agreement.width), high.ciphertext.scale
            above = self._lowered(low, high.level - 1)
            low = self._rescaled(self._times(above, one, scale), above.level, scale)
        result = self.seal.Ciphertext()
        self.evaluator.add(low.ciphertext, high.ciphertext, result)
        return Encrypted(result, high.level)

    def add_plain(self, vector: Encrypted, numbers: Array) -> Encrypted:
        """The sum with known numbers."""
        plain, result = self._encode(numbers, vector, vector.ciphertext.scale), self.seal.Ciphertext()
        self.evaluator.add_plain(vector.ciphertext, plain, result)
        return Encrypted(result, vector.level)

    def _product(self, vector: Encrypted, matrix: Array) -> Any:
        """A matrix times a vector, before the level is taken away."""
        found, level = diagonals_of(matrix, self.scheme.agreement.width), vector.level
        moved = [vector]
        for _ in range(found.babies):
            moved.append(Encrypted(self._rotated(moved[-1].ciphertext, 1), level))
        total = None
        for giant in range(found.giants, -1, -1):
            total = None if total is None else self._rotated(total, found.stride)
            for baby, each in enumerate(moved):
                numbers = found.numbers.get(giant * found.stride + baby)
                if numbers is not None and baby < found.stride:
                    total = self._sum(total, self._times(each, numbers))
        for step in found.sums:
            self.evaluator.add_inplace(total, self._rotated(total, step))
        return total

    def _sum(self, total: Any, part: Any) -> Any:
        if total is not None:
            self.evaluator.add_inplace(part, total)
        return part

    def _times(self, vector: Encrypted, numbers: Array, scale: float | None = None) -> Any:
        """The product with known numbers, whose scale is the modulus of the level times `scale`."""
        target = (scale or self.scheme.scale) * self.scheme.last_modulus(vector.ciphertext)
        plain, result = self._encode(numbers, vector, target / vector.ciphertext.scale), self.seal.Ciphertext()
        self.evaluator.multiply_plain(vector.ciphertext, plain, result)
        result.scale = target
        self.counts.plaintext_products += 1
        return result

    def _encode(self, numbers: Array, like: Encrypted, scale: float) -> Any:
        """Known numbers as a plaintext, kept for the next rows."""
        key = (numpy.asarray(numbers, dtype=numpy.float64).tobytes(), like.level, scale)
        if key not in self.encoded:
            self.encoded[key] = self.scheme.encode(numbers, like.ciphertext, scale)
        return self.encoded[key]

    def _rotated(self, ciphertext: Any, channels: int) -> Any:
        result = self.seal.Ciphertext()
        slots = channels * self.scheme.agreement.rows_per_ciphertext
        self.evaluator.rotate_vector(ciphertext, slots, self.rotation_keys, result)
        self.counts.rotations += 1
        return result

    def _rescaled(self, ciphertext: Any, level: int, scale: float | None = None) -> Encrypted:
        """One level further; the scale is divided by the modulus."""
        exact = scale or ciphertext.scale / self.scheme.last_modulus(ciphertext)
        self.evaluator.rescale_to_next_inplace(ciphertext)
        ciphertext.scale = exact
        return Encrypted(ciphertext, level + 1)

    def _lowered(self, vector: Encrypted, level: int) -> Encrypted:
        """The same numbers at a level further on."""
        ciphertext = vector.ciphertext
        for _ in range(level - vector.level):
            lower = self.seal.Ciphertext()
            self.evaluator.mod_switch_to_next(ciphertext, lower)
            ciphertext = lower
        return Encrypted(ciphertext, level)
