"""The two sides of private inference: the client has the keys and the rows, the server has the network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy

from chebact.checks import must_be
from chebact.private.agreement import Agreement
from chebact.private.document import load
from chebact.private.encrypted import Encrypted, EncryptedArithmetic
from chebact.private.planning import Plan, evaluate_stages
from chebact.private.scheme import Scheme, join_bytes, split_bytes

__all__ = ["Client", "Server"]

Array = Any


class Client:
    """Makes the keys, encrypts rows and decrypts outputs. The secret key never leaves the object. Needs TenSEAL.

    `agreement` is what the server says of its network, sizes and parameters: `agreement` of its plan, also as JSON
    (`Agreement.from_numbers`). `keys` are the bytes for the server: the keys for products and for rotations.
    """

    def __init__(self, agreement: Agreement) -> None:
        self.agreement, self._scheme = agreement, Scheme(agreement)
        seal, context = self._scheme.seal, self._scheme.context
        made = seal.KeyGenerator(context)
        self._secret_key = made.secret_key()
        self._encryptor = seal.Encryptor(context, self._secret_key)
        self._decryptor = seal.Decryptor(context, self._secret_key)
        elements = [self._scheme.galois_element(step) for step in agreement.steps]
        keys = [made.create_relin_keys()] + ([made.create_galois_keys(elements)] if elements else [])
        self.keys = join_bytes([self._scheme.to_bytes(key) for key in keys])

    def encrypt(self, x: Array) -> bytes:
        """Rows (row, input) as one message for the server, `rows_per_ciphertext` rows per ciphertext."""
        rows = numpy.asarray(x, dtype=numpy.float64)
        if rows.ndim != 2 or rows.shape[1] != self.agreement.inputs or not len(rows):
            raise ValueError(must_be("x", f"(row, {self.agreement.inputs}) with one row or more", rows.shape))
        if not numpy.isfinite(rows).all():
            raise ValueError("x must be finite, got inf or nan; clip and fill the rows before encryption")
        most = self.agreement.rows_per_ciphertext
        parts = [self._encrypt_part(rows[start : start + most]) for start in range(0, len(rows), most)]
        return join_bytes(parts, rows=len(rows))

    def _encrypt_part(self, rows: Array) -> bytes:
        slots = numpy.zeros((self.agreement.width, self.agreement.rows_per_ciphertext))
        slots[: rows.shape[1], : len(rows)] = rows.T
        plain = self._scheme.encode_slots(slots.ravel(), None, self._scheme.scale)
        return self._scheme.to_bytes(self._encryptor.encrypt_symmetric(plain))

    def decrypt(self, reply: bytes) -> Array:
        """The outputs (row, output) of the rows of a reply."""
        parts, rows = _split_rows(reply, self.agreement)
        return numpy.concatenate([self._decrypt_part(part) for part in parts])[:rows]

    def _decrypt_part(self, part: bytes) -> Array:
        plain = self._scheme.seal.Plaintext()
        self._decryptor.decrypt(self._scheme.from_bytes("Ciphertext", part), plain)
        slots = numpy.array(self._scheme.encoder.decode_double(plain))
        return slots.reshape(self.agreement.width, -1)[: self.agreement.outputs].T


class Server:
    """Evaluates a network on encrypted rows. Needs TenSEAL.

    `model` is a plan, or the path of a file of `export`. `keys` are those of the client, `Client.keys`, or the
    arithmetic that another server of the same agreement has made from them.
    """

    def __init__(self, model: Plan | Path | str, keys: bytes | EncryptedArithmetic) -> None:
        self.plan = model if isinstance(model, Plan) else load(model)
        agreement = self.plan.agreement
        made = keys if isinstance(keys, EncryptedArithmetic) else EncryptedArithmetic.from_keys(Scheme(agreement), keys)
        if made.scheme.agreement != agreement:
            raise ValueError(
                "keys must be those of the agreement of the model, got another; make a Client for this one"
            )
        if agreement.steps and made.rotation_keys is None:
            raise ValueError("keys must include those for rotations, got those for products alone; send Client.keys")
        self.arithmetic = made

    def evaluate(self, message: bytes) -> bytes:
        """The outputs of encrypted rows, encrypted."""
        parts, rows = _split_rows(message, self.plan.agreement)
        return join_bytes([self._evaluate_part(part) for part in parts], rows=rows)

    def _evaluate_part(self, part: bytes) -> bytes:
        scheme = self.arithmetic.scheme
        ciphertext = scheme.from_bytes("Ciphertext", part)
        if ciphertext.parms_id() != scheme.context.first_parms_id() or ciphertext.scale != scheme.scale:
            raise ValueError("message must hold ciphertexts of Client.encrypt, got one of another level or scale")
        outputs = evaluate_stages(self.plan.stages, self.arithmetic, Encrypted(ciphertext, 0))[-1]
        return scheme.to_bytes(outputs.ciphertext)


def _split_rows(content: bytes, agreement: Agreement) -> tuple[list[bytes], int]:
    """The ciphertexts of a message and the number of its rows, which must belong together."""
    parts, numbers = split_bytes(content)
    rows, most = numbers.get("rows"), agreement.rows_per_ciphertext
    if type(rows) is not int or rows < 1 or -(-rows // most) != len(parts):
        what = f"a message with the number of its rows, {most} per ciphertext"
        raise ValueError(must_be("content", what, (rows, len(parts)), "send it again"))
    return parts, rows
