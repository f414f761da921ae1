"""Networks on ciphertexts: the outputs of the network, the operations that were planned, and nothing secret sent."""

from collections import Counter

import numpy
import pytest
import torch
from support.polynomial_networks import one_hidden, residual, rows, two_hidden
from support.sealed import need_seal

from chebact.private import Agreement, Client, Server, export, plan
from chebact.private.scheme import join_bytes, split_bytes


@pytest.fixture(autouse=True, scope="module")
def seal():
    need_seal()


class Watched:
    """SEAL's evaluator with a count of what is asked of it."""

    def __init__(self, evaluator):
        self.evaluator, self.calls = evaluator, Counter()

    def __getattr__(self, name):
        self.calls[name] += 1
        return getattr(self.evaluator, name)


MODELS = {
    "line": lambda: two_hidden(1),
    "degree 7": lambda: one_hidden(7),
    "square": lambda: two_hidden(2),
    "cubic": lambda: one_hidden(3, spread=0.0),
    "tree": lambda: one_hidden(5),
    "residual": lambda: residual(2, "mean", blocks=1),
}


@pytest.mark.parametrize("name", MODELS)
def test_encrypted_outputs_are_those_of_the_network_and_cost_what_was_planned(name, tmp_path):
    model, x = MODELS[name](), 0.3 * rows(9)  # inside the intervals, where a network is meant to be used
    made = export(model, tmp_path / "model.json")
    client = Client(Agreement.from_numbers(made.agreement.numbers))
    server = Server(tmp_path / "model.json", client.keys)
    watched = server.arithmetic.evaluator = Watched(server.arithmetic.evaluator)
    reply = server.evaluate(client.encrypt(x))
    found = client.decrypt(reply)
    assert found.shape == (9, 3)
    assert numpy.abs(found - model(x).detach().numpy()).max() < 1e-4
    calls = watched.calls
    counted = (calls["multiply"] + calls["square"], calls["multiply_plain"], calls["rotate_vector"])
    assert counted == (made.ciphertext_products, made.plaintext_products, made.rotations)
    assert server.arithmetic.counts.numbers == counted
    assert levels_left(client, reply) == 0  # the moduli are for the levels of the plan, and no more


def levels_left(client, reply):
    """By SEAL's own chain of moduli."""
    (part,), _ = split_bytes(reply)
    ciphertext = client._scheme.from_bytes("Ciphertext", part)
    return client._scheme.context.get_context_data(ciphertext.parms_id()).chain_index()


def test_one_number_in_and_out_needs_no_rotation():
    model = torch.nn.Sequential(torch.nn.Linear(1, 1)).double()
    made = plan(model)
    client = Client(made.agreement)
    found = client.decrypt(Server(made, client.keys).evaluate(client.encrypt(rows(3, 1))))
    assert made.steps == []
    assert found == pytest.approx(model(rows(3, 1)).detach().numpy(), abs=1e-4)


def test_more_rows_than_a_ciphertext_holds_come_back_in_order():
    model = torch.nn.Sequential(torch.nn.Linear(5, 3)).double()
    made = plan(model)
    x = rows(made.rows_per_ciphertext + 3)
    client = Client(made.agreement)
    found = client.decrypt(Server(made, client.keys).evaluate(client.encrypt(x)))
    assert numpy.abs(found - model(x).detach().numpy()).max() < 1e-3


def test_no_message_holds_the_secret_key_and_others_cannot_read_a_reply():
    made = plan(torch.nn.Sequential(torch.nn.Linear(5, 3)).double())
    client, other, x = Client(made.agreement), Client(made.agreement), rows(4)
    secret = client._scheme.to_bytes(client._secret_key)[-2000:]
    message = client.encrypt(x)
    assert secret not in client.keys
    assert message != client.encrypt(x)
    reply = Server(made, client.keys).evaluate(message)
    assert numpy.abs(client.decrypt(reply) - made.evaluate(x)).max() < 1e-3
    assert numpy.abs(other.decrypt(reply) - made.evaluate(x)).max() > 10


def test_bytes_of_another_kind_are_refused():
    made = plan(torch.nn.Sequential(torch.nn.Linear(5, 3)).double())
    client = Client(made.agreement)
    with pytest.raises(ValueError, match="content must be a Ciphertext of the agreed parameters, got"):
        client.decrypt(join_bytes(split_bytes(client.keys)[0][:1], rows=1))
    with pytest.raises(ValueError, match="content must be a RelinKeys of the agreed parameters, got"):
        Server(made, client.encrypt(rows(1)))
    with pytest.raises(ValueError, match=r"x must be \(row, 5\) with one row or more, got"):
        client.encrypt(rows(2, 4))
    with pytest.raises(ValueError, match="x must be finite, got inf or nan"):
        client.encrypt(rows(2) * torch.inf)


def test_messages_whose_parts_do_not_belong_together_are_refused():
    made = plan(torch.nn.Sequential(torch.nn.Linear(5, 3)).double())
    client = Client(made.agreement)
    server = Server(made, client.keys)
    (part,), _ = split_bytes(client.encrypt(rows(1)))
    (products, _), _ = split_bytes(client.keys)
    for message in (
        join_bytes([], rows=1),
        join_bytes([part]),
        join_bytes([part], rows=0),
        join_bytes([part], rows=10**6),
    ):
        for read in (server.evaluate, client.decrypt):
            with pytest.raises(ValueError, match="content must be a message with the number of its rows"):
                read(message)
    assert client.decrypt(server.evaluate(b'{"parts": 3, ' + join_bytes([part], rows=1)[1:])).shape == (1, 3)
    with pytest.raises(ValueError, match="got one of another level or scale"):
        server.evaluate(server.evaluate(client.encrypt(rows(1))))
    with pytest.raises(ValueError, match="keys must include those for rotations"):
        Server(made, join_bytes([products]))
    with pytest.raises(ValueError, match="keys must be those of the agreement of the model"):
        Server(plan(torch.nn.Sequential(torch.nn.Linear(5, 4)).double()), server.arithmetic)
    with pytest.raises(ValueError, match=r"numbers must be small enough for the moduli, got 1e\+30"):
        client.encrypt(rows(1) * 0 + 1e30)


GOOD = {"ring": 8192, "scale_bits": 40, "modulus_bits": [50, 40, 50]}


@pytest.mark.parametrize(
    "changes",
    [
        {"width": 6}, {"width": 8192}, {"inputs": 9}, {"outputs": 0}, {"inputs": True}, {"steps": [8]}, {"steps": None},
        {"parameters": {**GOOD, "ring": 4096}}, {"parameters": {**GOOD, "ring": 5000}}, {"parameters": {}},
        {"width": None},
    ],
)  # fmt: skip
def test_an_agreement_that_cannot_be_or_is_not_safe_is_refused(changes):
    numbers = {"inputs": 5, "outputs": 3, "width": 8, "steps": [1, 4], "parameters": GOOD}
    assert Agreement.from_numbers(numbers).rows_per_ciphertext == 512
    with pytest.raises(ValueError, match=r"numbers must be those of Agreement\.numbers, got others"):
        Agreement.from_numbers({**numbers, **changes})
    with pytest.raises(ValueError, match=r"numbers must be those of Agreement\.numbers"):
        Agreement.from_numbers([])
