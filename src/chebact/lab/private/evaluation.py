"""What a trained network is worth: in the clear, without its tails, and on ciphertexts."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import numpy
import torch
from torch import nn

from chebact.private import Agreement, Client, Plan, Server, plan
from chebact.private.encrypted import EncryptedArithmetic
from chebact.private.scheme import Scheme
from chebact.ranges import input_ranges
from chebact.ranges.polynomial import without_tails

__all__ = ["evaluate_clear", "evaluate_encrypted", "time_row"]

Array = Any


def decide(outputs: Array, y: Array) -> float | None:
    """The share of right classes; None where an output is not finite."""
    if not numpy.isfinite(outputs).all():
        return None
    return float((outputs.argmax(axis=1) == y).mean())


def outputs_of(network: nn.Module, x: Array) -> Array:
    """(row, class), float64."""
    with torch.no_grad():
        return network(torch.as_tensor(x)).numpy()


def evaluate_clear(network: nn.Module, part: tuple[Array, Array], y: Array, *, learned: bool) -> dict[str, Any]:
    """The accuracy on the test rows; of learned activations also without tails, and the room left on training rows."""
    train, test = part
    found: dict[str, Any] = {"test_rows": len(test), "accuracy": decide(outputs_of(network, test), y)}
    if learned and found["accuracy"] is not None:
        found["cut_accuracy"] = decide(outputs_of(without_tails(network), test), y)
        ranges = input_ranges(network, torch.as_tensor(train))
        found["headroom"] = min(each.headroom for each in ranges.values())
        used = torch.cat([each.used.flatten() for each in input_ranges(network, torch.as_tensor(test)).values()])
        found["channels_outside"] = float((used > 1).double().mean())
    return found


@lru_cache(maxsize=4)
def client_of(agreement: Agreement) -> Client:
    """Keys for an agreement; making them takes seconds, and the networks of all splits agree on the same."""
    return Client(agreement)


@lru_cache(maxsize=4)
def arithmetic_of(agreement: Agreement) -> EncryptedArithmetic:
    """The server's side of an agreement, with the keys of `client_of`."""
    return EncryptedArithmetic.from_keys(Scheme(agreement), client_of(agreement).keys)


def evaluate_encrypted(polynomial: nn.Module, test: Array, y: Array) -> tuple[dict[str, Any], Plan, Server]:
    """The accuracy on ciphertexts, the rows with the decision of the clear, and the largest difference of an output."""
    made = plan(polynomial)
    client = client_of(made.agreement)
    server = Server(made, arithmetic_of(made.agreement))
    server.arithmetic.encoded.clear()  # of the network before
    outputs = client.decrypt(server.evaluate(client.encrypt(test)))
    clear = outputs_of(polynomial, test)
    same = int((outputs.argmax(axis=1) == clear.argmax(axis=1)).sum())
    error = float(numpy.abs(outputs - clear).max())
    return {"encrypted_accuracy": decide(outputs, y), "same_decisions": same, "largest_error": error}, made, server


def time_row(server: Server, row: Array, repeats: int = 3) -> dict[str, float]:
    """The processor seconds of one row from end to end, and of one ciphertext on the server; the least of three."""
    client = client_of(server.plan.agreement)
    whole, served = [], []
    for _ in range(repeats):
        start = time.process_time()
        message = client.encrypt(row[None])
        middle = time.process_time()
        reply = server.evaluate(message)
        served.append(time.process_time() - middle)
        client.decrypt(reply)
        whole.append(time.process_time() - start)
    return {"row_seconds": round(min(whole), 4), "ciphertext_seconds": round(min(served), 4)}
