"""The CKKS scheme of SEAL, as TenSEAL brings it: parameters, encoding, and objects as bytes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy

from chebact.checks import must_be
from chebact.private.agreement import Agreement

__all__ = ["Scheme", "import_seal", "join_bytes", "split_bytes"]

Array = Any


def import_seal() -> Any:
    """The module `tenseal.sealapi`, or an ImportError that says what to install."""
    try:
        from tenseal import sealapi
    except ImportError as error:
        raise ImportError(
            "tenseal must be installed to encrypt, got none; install the extra chebact[private]"
        ) from error
    return sealapi


class Scheme:
    """What client and server make from their agreement; no keys."""

    def __init__(self, agreement: Agreement) -> None:
        self.agreement, self.seal = agreement, import_seal()
        given = agreement.parameters
        options = self.seal.EncryptionParameters(self.seal.SCHEME_TYPE.CKKS)
        options.set_poly_modulus_degree(given.ring)
        options.set_coeff_modulus(self.seal.CoeffModulus.Create(given.ring, list(given.modulus_bits)))
        self.context = self.seal.SEALContext(options, True, self.seal.SEC_LEVEL_TYPE.TC128)
        if not self.context.parameters_set():
            raise ValueError(
                f"parameters must be those of 128-bit security, got {given}: {self.context.parameters_error_message()}"
            )
        self.encoder, self.scale = self.seal.CKKSEncoder(self.context), 2.0**given.scale_bits

    def encode(self, numbers: Array, like: Any, scale: float) -> Any:
        """Numbers (channel,), the same for all rows, for the level of a ciphertext or for a new one (None)."""
        padded = numpy.zeros(self.agreement.width)
        padded[: len(numbers)] = numbers
        return self.encode_slots(numpy.repeat(padded, self.agreement.rows_per_ciphertext), like, scale)

    def encode_slots(self, slots: Array, like: Any, scale: float) -> Any:
        """All slots as a plaintext."""
        plain = self.seal.Plaintext()
        level = self.context.first_parms_id() if like is None else like.parms_id()
        try:
            self.encoder.encode(slots.tolist(), level, scale, plain)
        except ValueError as error:
            most = float(numpy.abs(slots).max())
            raise ValueError(must_be("numbers", "small enough for the moduli", most, "scale or clip them")) from error
        return plain

    def last_modulus(self, ciphertext: Any) -> float:
        """The modulus that the next level takes away."""
        return float(self.context.get_context_data(ciphertext.parms_id()).parms().coeff_modulus()[-1].value())

    def galois_element(self, channels: int) -> int:
        """The automorphism that moves every row by so many channels: X -> X^element."""
        slots = channels * self.agreement.rows_per_ciphertext
        return pow(3, slots, 2 * self.agreement.parameters.ring)

    def to_bytes(self, thing: Any) -> bytes:
        """A ciphertext or key as bytes."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "object"
            thing.save(str(path))
            return path.read_bytes()

    def from_bytes(self, kind: str, content: bytes) -> Any:
        """The object of a SEAL class from bytes; SEAL checks that it belongs to these parameters."""
        thing = getattr(self.seal, kind)()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "object"
            path.write_bytes(content)
            try:
                thing.load(self.context, str(path))
            except (RuntimeError, ValueError) as error:
                raise ValueError(
                    f"content must be a {kind} of the agreed parameters, got {len(content)} bytes: {error}"
                ) from error
        return thing


def join_bytes(parts: Sequence[bytes], **numbers: Any) -> bytes:
    """Parts and some numbers as one message: a line of JSON, then the parts.

    >>> split_bytes(join_bytes([b"one", b""], rows=3))
    ([b'one', b''], {'rows': 3})
    """
    return json.dumps({"sizes": [len(part) for part in parts], **numbers}).encode() + b"\n" + b"".join(parts)


def split_bytes(content: bytes) -> tuple[list[bytes], dict[str, Any]]:
    """The parts and the numbers of a message."""
    head, _, rest = content.partition(b"\n")
    try:
        numbers = json.loads(head)
        sizes = [int(size) for size in numbers.pop("sizes")]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"content must be a message of chebact.private, got {len(content)} other bytes") from None
    if sum(sizes) != len(rest) or any(size < 0 for size in sizes):
        raise ValueError(f"content must hold {sum(sizes)} bytes after its head, got {len(rest)}; send it again")
    ends = [sum(sizes[: k + 1]) for k in range(len(sizes))]
    return [rest[end - size : end] for end, size in zip(ends, sizes, strict=True)], numbers
