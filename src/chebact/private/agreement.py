"""What client and server agree on before anything is encrypted: the shape and the parameters, and no weights."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from chebact.checks import check_integer
from chebact.private.packing import power_above
from chebact.private.parameters import MOST_BITS, Parameters

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
    def from_numbers(cls, numbers: Any) -> Agreement:
        """From plain values; a ValueError if they are none of an agreement, since they come from the other side."""
        try:
            return _checked(numbers)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"numbers must be those of Agreement.numbers, got others ({type(error).__name__}: {error}); "
                "ask the server for its agreement again"
            ) from error


def _checked(numbers: dict[str, Any]) -> Agreement:
    given = numbers["parameters"]
    bits = tuple(check_integer("modulus_bits", each, least=2, most=60) for each in given["modulus_bits"])
    parameters = Parameters(
        check_integer("ring", given["ring"], least=min(MOST_BITS), most=max(MOST_BITS)),
        check_integer("scale_bits", given["scale_bits"], least=1, most=60),
        bits,
    )
    if parameters.ring not in MOST_BITS or sum(bits) > MOST_BITS[parameters.ring]:
        raise ValueError(f"moduli must be safe in a ring of {parameters.ring}, got {sum(bits)} bits")
    width = check_integer("width", numbers["width"], least=1, most=parameters.slots)
    if width != power_above(width):
        raise ValueError(f"width must be a power of two, got {width}")
    inputs, outputs = (check_integer(name, numbers[name], least=1, most=width) for name in ("inputs", "outputs"))
    steps = tuple(check_integer("steps", each, least=1, most=width - 1) for each in numbers["steps"])
    return Agreement(inputs, outputs, width, steps, parameters)
