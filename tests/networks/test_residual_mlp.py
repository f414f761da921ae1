"""The residual network against torch.nn.Linear and the paper's table."""

import copy
import math

import pytest
import torch
from torch import nn

from chebact.networks import ARCHITECTURES, ReplicaLinear, ResidualMLP

COUNTS = {  # with three features; cl, wcp, tanh-cl and pcs-cl without the last activation
    "relu": 3329,
    "relu-2x-depth": 6497,
    "relu-2x-layers": 6497,
    "tanh": 3329,
    "cubic": 3329,
    "cl": 3713,
    "wcp": 3713,
    "pcs-cl": 6785,
    "tanh-cl": 3713,
    "cl-regression": 3841,
    "cl-extrapolate": 3841,
}


def seeded(*seeds):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def size(network):
    return sum(parameter.numel() for parameter in network.parameters())


def test_the_table_has_the_papers_eleven():
    assert {name: size(ResidualMLP.from_table(name, 3)) for name in ARCHITECTURES} == COUNTS


@pytest.mark.parametrize("name", ["cl", "wcp", "tanh-cl"])
def test_the_papers_form_has_the_papers_count(name):
    assert size(ResidualMLP.from_table(name, 3, form="paper")) == 3841  # printed as 3800


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_replicas_multiply_the_parameters(name):
    assert size(ResidualMLP.from_table(name, 3, replicas=4)) == 4 * COUNTS[name]


def test_forward_is_the_network_of_the_paper():
    network = ResidualMLP.from_table("relu-2x-layers", 3, generator=seeded(0)[0])
    torch.manual_seed(0)
    first = nn.Linear(3, 32)
    blocks = [nn.Sequential(nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)) for _ in range(3)]
    last = nn.Linear(32, 1)
    x = torch.rand(20, 3)
    hidden = first(x)
    for block in blocks:
        hidden = hidden + block(hidden)
    assert torch.equal(network(x), last(torch.relu(hidden)))


def test_the_start_is_torchs_own():
    torch.manual_seed(5)
    theirs = nn.Linear(7, 32)
    ours = ReplicaLinear(7, 32, replicas=2, generator=seeded(4, 5))
    assert torch.equal(ours.weight[1], theirs.weight)
    assert torch.equal(ours.bias[1], theirs.bias)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_replica_is_the_single_network_of_its_seed(name):
    many = ResidualMLP.from_table(name, 4, replicas=3, generator=seeded(7, 8, 9)).double()
    x = torch.randn(3, 11, 4, dtype=torch.float64)
    for replica, seed in enumerate((7, 8, 9)):
        one = ResidualMLP.from_table(name, 4, generator=seeded(seed)[0]).double()
        for own, theirs in zip(one.parameters(), many.parameters(), strict=True):
            assert torch.equal(own, theirs[replica])
        torch.testing.assert_close(one(x[replica]), many(x)[replica], atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("name", ["relu", "pcs-cl"])
def test_reset_draws_what_the_constructor_drew(name):
    network = ResidualMLP.from_table(name, 4, replicas=2, generator=seeded(1, 2))
    before = copy.deepcopy(network.state_dict())
    network.reset_parameters(seeded(3, 4))
    assert not torch.equal(network.first.weight, before["first.weight"])
    network.reset_parameters(seeded(1, 2))
    assert all(torch.equal(value, before[key]) for key, value in network.state_dict().items())


def test_a_replica_of_fewer_columns():
    many = ResidualMLP.from_table("relu", 5, replicas=2, used_features=[3, 5], generator=seeded(1, 2))
    one = ResidualMLP.from_table("relu", 3, generator=seeded(1)[0])
    assert torch.equal(many.first.weight[0, :, :3], one.first.weight)
    assert (many.first.weight[0, :, 3:] == 0).all()
    bound = 1 / math.sqrt(3)
    assert bound * 0.9 < many.first.weight[0].abs().max() <= bound
    x = torch.rand(10, 3)
    wide = nn.functional.pad(x, (0, 2)).expand(2, 10, 5)
    torch.testing.assert_close(many(wide)[0], one(x))


def test_the_mean_of_shortcut_and_block():
    network = ResidualMLP(2, activation="relu", blocks=1, shortcut="mean", last_activation=False)
    x = torch.rand(6, 2)
    hidden = network.first(x)
    joined = (hidden + network.blocks[0](hidden)) / 2
    torch.testing.assert_close(network(x), network.last(joined))


def test_the_state_of_replicas_survives_saving(tmp_path):
    network = ResidualMLP.from_table("cl-extrapolate", 3, replicas=2)
    torch.save(network.state_dict(), tmp_path / "state.pt")
    again = ResidualMLP.from_table("cl-extrapolate", 3, replicas=2)
    again.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    x = torch.rand(2, 5, 3)
    assert torch.equal(again(x), network(x))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ResidualMLP.from_table("relu6", 3), ("relu6", "cl-extrapolate")),
        (lambda: ResidualMLP.from_table("relu", 3, form="mine"), ("form", "mine")),
        (lambda: ResidualMLP(3, shortcut="sum"), ("shortcut", "sum")),
        (lambda: ResidualMLP(0), ("features", "0")),
        (lambda: ResidualMLP(3, layers=0), ("layers", "0")),
        (lambda: ResidualMLP(3, blocks=-1), ("blocks", "-1")),
        (lambda: ResidualMLP.from_table("relu", 3, replicas=2)(torch.zeros(3, 5, 3)), ("replicas=2", "(3, 5, 3)")),
        (lambda: ResidualMLP.from_table("relu", 3, replicas=2, generator=seeded(1)), ("replica", "2", "1")),
        (lambda: ResidualMLP.from_table("relu", 3, replicas=2, used_features=[1, 4]), ("used_features", "3", "4")),
        (lambda: ResidualMLP.from_table("relu", 3, used_features=[3]), ("used_features",)),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError) as caught:
        call()
    assert all(word in str(caught.value) for word in words)
