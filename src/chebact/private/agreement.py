"""What client and server agree on before anything is encrypted: the shape and the parameters, and no weights."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from chebact.private.parameters import Parameters

__all__ = ["Agreement"]


@dataclass(frozen=True)
class Agreement:
    """The sizes of a row and of its outputs, the slots per row, the rotations that need keys, and the parameters.

    >>> agreement = Agreement(2, 1, 4, (1, 2), Parameters(4096, 29, (39, 29, 39)))
    >>> agreement.rows_per_ciphertext, Agreement.from_numbers(agreement.numbers) == agreement
    (512, True)
    """

    inputs: int
    outputs: int
    width: int
    steps: tuple[int, ...]
    parameters: Parameters

    @property
    def rows_per_ciphertext(self) -> int:
        """The rows that one ciphertext holds."""
        return self.parameters.slots // self.width

    @property
    def numbers(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_numbers(cls, numbers: dict[str, Any]) -> Agreement:
        """From plain values."""
        given = numbers["parameters"]
        parameters = Parameters(given["ring"], given["scale_bits"], tuple(given["modulus_bits"]))
        return cls(numbers["inputs"], numbers["outputs"], numbers["width"], tuple(numbers["steps"]), parameters)
