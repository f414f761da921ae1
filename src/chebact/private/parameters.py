"""The parameters of the encryption that a number of levels needs, by the table of the encryption standard."""

from __future__ import annotations

from dataclasses import dataclass

from chebact.checks import check_integer, must_be

__all__ = ["MOST_BITS", "Parameters", "suggest_parameters"]

MOST_BITS = {1024: 27, 2048: 54, 4096: 109, 8192: 218, 16384: 438, 32768: 881}
"""The most bits of all moduli together by ring dimension: 128 bits of security against classical computers, with a
ternary secret, by the Homomorphic Encryption Standard of 2018."""

LEAST_SCALE, MOST_SCALE = 32, 40  # bits of a level: below, outputs are not right to 1e-3; above, there is no use
HEADROOM = 10  # bits of the first modulus before the point: outputs up to 2^9 in size


@dataclass(frozen=True)
class Parameters:
    """The ring dimension, the bits of a level, and the bits of all moduli: the first, the levels, the one for keys."""

    ring: int
    scale_bits: int
    modulus_bits: tuple[int, ...]

    @property
    def slots(self) -> int:
        """The numbers that one ciphertext holds."""
        return self.ring // 2

    @property
    def levels(self) -> int:
        """The levels that a computation may use."""
        return len(self.modulus_bits) - 2


def suggest_parameters(levels: int, width: int = 1) -> Parameters:
    """The smallest ring with room for so many levels and for a row of `width` numbers, and the most bits in it.

    >>> suggest_parameters(5)
    Parameters(ring=16384, scale_bits=40, modulus_bits=(50, 40, 40, 40, 40, 40, 50))
    """
    check_integer("levels", levels, least=0)
    for ring, most in MOST_BITS.items():
        bits = min(MOST_SCALE, (most - 2 * HEADROOM) // (levels + 2))
        if bits >= LEAST_SCALE and ring >= 2 * width:
            ends = bits + HEADROOM
            return Parameters(ring, bits, (ends, *(bits,) * levels, ends))
    raise ValueError(
        must_be(
            "model",
            f"at most {(max(MOST_BITS.values()) - 2 * HEADROOM) // LEAST_SCALE - 2} levels deep and "
            f"{max(MOST_BITS) // 2} numbers wide, to fit into the largest ring of the table",
            (levels, width),
            "take fewer layers, a lower degree or fewer features",
        )
    )
