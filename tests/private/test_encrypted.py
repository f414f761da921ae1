"""Networks on ciphertexts: the outputs of the network, the operations that were planned, and nothing secret sent."""

import numpy
import pytest
import torch
from support.polynomial_networks import one_hidden, residual, rows, two_hidden
from support.sealed import need_seal

from chebact.private import Agreement, Client, Server, export, plan


@pytest.fixture(autouse=True, scope="module")
def seal():
    need_seal()


MODELS = {
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
    found = client.decrypt(server.evaluate(client.encrypt(x)))
    assert found.shape == (9, 3)
    assert numpy.abs(found - model(x).detach().numpy()).max() < 1e-3
    counted = (made.ciphertext_products, made.plaintext_products, made.rotations)
    assert server.arithmetic.counts.numbers == counted


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
        client.decrypt(client.keys)
    with pytest.raises(ValueError, match="content must be a RelinKeys of the agreed parameters, got"):
        Server(made, client.encrypt(rows(1)))
    with pytest.raises(ValueError, match=r"x must be \(row, 5\) with one row or more, got"):
        client.encrypt(rows(2, 4))
    with pytest.raises(ValueError, match="x must be finite, got inf or nan"):
        client.encrypt(rows(2) * torch.inf)
