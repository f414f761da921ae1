"""What is no polynomial network is refused by name, with what to do."""

import pytest
import torch
from support.polynomial_networks import activation, two_hidden
from torch import nn

from chebact import ChebyshevLagrange
from chebact.networks import ResidualMLP
from chebact.private import Agreement, Client, plan
from chebact.private.scheme import split_bytes


class Functional(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)

    def forward(self, x):
        return torch.relu(self.first(x))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("a name", r"model must be a torch.nn.Module, got 'a name' \(str\)"),
        (nn.Sequential(nn.Linear(2, 2), nn.ReLU()), r"got 1 \(ReLU\); take chebact.replace_activations, train with"),
        (Functional(), "got relu; take chebact.replace_activations"),
        (nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)), r"got 1 \(BatchNorm1d\); fold it into the linear layer"),
        (nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2)), r"got 1 \(LayerNorm\); leave it out"),
        (nn.Sequential(nn.Linear(2, 2), nn.Softmax(1)), r"got 1 \(Softmax\); leave it out, and let the client take it"),
        (nn.Sequential(nn.Conv1d(1, 1, 3)), r"got 0 \(Conv1d\); write it as a linear layer"),
        (nn.Sequential(nn.Linear(2, 2), ChebyshevLagrange(2)), r"got tails='extrapolate' in 1; take chebact.to_poly"),
        (nn.Sequential(nn.Linear(2, 2), activation(2, 16)), r"model must have degrees up to 15, got 16 in 1"),
        (ResidualMLP(2, activation="cl", replicas=3), "model must be one network, got 3 replicas in first; copy one"),
        (nn.Sequential(activation(2, 2)), "must begin with a linear layer"),
    ],
)
def test_a_model_that_cannot_be_planned_is_refused_by_name(model, message):
    with pytest.raises((ValueError, TypeError), match=message):
        plan(model)


def test_a_row_of_another_size_is_refused():
    with pytest.raises(ValueError, match=r"x must be \(row, 5\), got"):
        plan(two_hidden(2)).evaluate(torch.zeros(3, 4))


@pytest.mark.parametrize(
    "content", [b"", b"{}\n", b"[1]\n", b'{"sizes": [3]}\nab', b'{"sizes": [-1, 3]}\nab', b"\xff\n"]
)
def test_a_message_that_is_none_is_refused(content):
    with pytest.raises(ValueError, match="content must"):
        split_bytes(content)


def test_without_tenseal_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tenseal", None)
    with pytest.raises(ImportError, match=r"install the extra chebact\[private\]"):
        Client(plan(two_hidden(2)).agreement)
    assert Agreement.from_numbers(plan(two_hidden(2)).agreement.numbers) == plan(two_hidden(2)).agreement
