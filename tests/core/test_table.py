"""The table of activations, the optimizer's groups, and the rows against torch's own functions."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import chebact
from chebact import ChebyshevLagrange, PrototypeSimilarity, WeightedChebyshev, make_activation, table
from chebact.networks import ResidualMLP


def drawn(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_parameter_groups_feed_a_real_optimizer(optimizer):
    net = nn.Sequential(nn.Linear(2, 4), ChebyshevLagrange(4, init="tanh"), nn.Linear(4, 4), WeightedChebyshev(4))
    groups = chebact.parameter_groups(net, lr=0.1, value_lr_scale=0.5, value_weight_decay=0.01, weight_decay=0.2)
    steps = optimizer(groups, lr=1.0)
    assert [(g["lr"], g["weight_decay"]) for g in steps.param_groups] == [(0.1, 0.2), (0.05, 0.01)]
    assert sorted(id(p) for g in steps.param_groups for p in g["params"]) == sorted(map(id, net.parameters()))
    assert {id(p) for p in steps.param_groups[1]["params"]} == {id(net[1].heights), id(net[3].learned)}
    before = [p.clone() for p in net.parameters()]
    functional.mse_loss(net(drawn(9, 2)), torch.ones(9, 4)).backward()
    steps.step()
    moved = [not torch.equal(p, q) for p, q in zip(net.parameters(), before, strict=True)]
    assert all(moved[index] for index in (1, 2, -1))


def test_parameter_groups_hold_a_shared_activation_once_and_leave_frozen_ones_out():
    shared = ChebyshevLagrange(4)
    net = nn.Sequential(nn.Linear(4, 4), shared, nn.Linear(4, 4), shared, ChebyshevLagrange(4))
    net[0].weight.requires_grad_(False)
    first, second = chebact.parameter_groups(net, lr=0.1)
    assert (len(first["params"]), len(second["params"])) == (3, 2)
    assert (second["lr"], second["weight_decay"]) == (0.1, 0.0)


def test_parameter_groups_of_a_lazy_model_ask_for_materialize():
    net = nn.Sequential(nn.Linear(2, 4), ChebyshevLagrange(), nn.Linear(4, 4), ChebyshevLagrange(4))
    words = r"model must have activations whose channels are known, got 1 without; call chebact.materialize"
    with pytest.raises(ValueError, match=words):
        chebact.parameter_groups(net, lr=0.1)
    assert len(chebact.parameter_groups(chebact.materialize(net, drawn(1, 2)), lr=0.1)[1]["params"]) == 2


def test_the_table_has_the_paper_s_names_and_takes_a_user_s_own():
    names = ("relu", "tanh", "cubic", "cl", "wcp", "pcs-cl", "tanh-cl", "cl-regression", "cl-extrapolate")
    assert tuple(chebact.ACTIVATIONS)[:9] == names
    with pytest.raises(TypeError):
        chebact.ACTIVATIONS["mine"] = None
    try:
        chebact.register_activation("mine", lambda channels, **choices: nn.PReLU(channels), label="Mine")
        assert make_activation("mine", 5).weight.shape == (5,)
        assert chebact.ACTIVATIONS["mine"].label == "Mine"
        with pytest.raises(ValueError, match="mine"):
            chebact.register_activation("mine", nn.PReLU)
        chebact.register_activation("mine", lambda channels, **choices: nn.ELU(), replace=True)
        assert isinstance(make_activation("mine", 5), nn.ELU)
    finally:
        table._rows.pop("mine", None)


def tanh_through_four_nodes(x):
    places = np.cos(np.pi * np.array([1, 3, 5, 7]) / 8) / np.cos(np.pi / 8)
    return torch.from_numpy(np.polyval(np.polyfit(places, np.tanh(places), 3), x.numpy())).float()


@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("relu", torch.relu),
        ("tanh", torch.tanh),
        ("cubic", lambda x: x**3),
        ("cl", tanh_through_four_nodes),
        ("wcp", lambda x: 0 * x),
        ("gelu", functional.gelu),
        ("silu", functional.silu),
        ("leaky-relu", functional.leaky_relu),
        ("prelu", lambda x: functional.prelu(x, torch.full((3,), 0.25))),
    ],
)
def test_rows_of_the_table_start_as_the_functions_they_are_named_after(name, truth):
    x = drawn(4, 3)
    torch.testing.assert_close(make_activation(name, 3)(x), truth(x))


@pytest.mark.parametrize("shape", [(4,), (3, 4), (3, 4, 2, 5)])
def test_prototype_similarity_is_torch_s_cosine(shape):
    layer, x = PrototypeSimilarity(4, dtype=torch.float64), drawn(*shape).double()
    rows = x.movedim(min(1, x.dim() - 1), -1)
    wanted = functional.cosine_similarity(rows.unsqueeze(-2), layer.prototypes, dim=-1, eps=0)
    torch.testing.assert_close(layer(x), wanted.movedim(-1, min(1, x.dim() - 1)), atol=1e-6, rtol=1e-6)
    bound = layer.prototypes.abs().max().item()
    assert 0.1 < bound <= 0.25
    many = PrototypeSimilarity(4, replicas=2, dtype=torch.float64)
    loop = torch.stack([functional.cosine_similarity(rows.unsqueeze(-2), w, dim=-1, eps=0) for w in many.prototypes])
    got = many(x.expand(2, *shape)).movedim(min(2, x.dim()), -1)
    torch.testing.assert_close(got, loop, atol=1e-6, rtol=1e-6)


def test_a_builder_that_ignores_the_degree_is_refused():
    try:
        with pytest.raises(TypeError, match="build must accept degree, channel_dim and replicas by name"):
            chebact.register_activation("mine", lambda channels: ChebyshevLagrange(channels))
        chebact.register_activation("mine", lambda channels, **choices: ChebyshevLagrange(channels))
        assert make_activation("mine", 5, 3).degree == 3
        with pytest.raises(ValueError, match=r"'mine' must use degree=5, got a module of degree 3"):
            make_activation("mine", 5, 5)
        chebact.register_activation("mine", lambda channels, **choices: "relu", replace=True)
        with pytest.raises(TypeError, match="must be a torch"):
            make_activation("mine", 5)
    finally:
        table._rows.pop("mine", None)


@pytest.mark.parametrize("name", ["cl", "pcs-cl", "tanh-cl", "cl-regression", "cl-extrapolate"])
def test_names_take_the_options_of_their_module(name):
    module = make_activation(name, 4, 5, init="relu", interval=(-2.0, 2.0))
    (learned,) = (part for part in module.modules() if isinstance(part, ChebyshevLagrange))
    assert torch.equal(learned.heights[0], torch.relu(chebact.nodes(5, interval=(-2.0, 2.0))).float())
    (zeros,) = (part for part in table.paper_activation(name)(4).modules() if isinstance(part, ChebyshevLagrange))
    assert not bool(zeros.heights.any())


def test_rows_without_such_options_say_so():
    for name in ("relu", "wcp", "prelu"):
        with pytest.raises(TypeError, match=f"options must be accepted by {name}, got init"):
            make_activation(name, 4, init="relu")
    with pytest.raises(ValueError, match="prelu must have channel_dim=1 and no replicas"):
        make_activation("prelu", 4, replicas=2)


@pytest.mark.parametrize(
    ("activation", "kind"),
    [
        ("cl-extrapolate", ChebyshevLagrange),
        (partial(ChebyshevLagrange, init="relu"), ChebyshevLagrange),
        (ChebyshevLagrange, ChebyshevLagrange),
        (nn.GELU, nn.GELU),
        (lambda channels: nn.PReLU(channels), nn.PReLU),
    ],
)
def test_networks_take_names_and_factories(activation, kind):
    network = ResidualMLP(3, activation=activation)
    assert sum(type(part) is kind for part in network.modules()) == 4
    assert network(torch.zeros(5, 3)).shape == (5, 1)
    if kind is ChebyshevLagrange:
        many = ResidualMLP(3, activation=activation, replicas=2, degree=5)
        assert many.last_activation.heights.shape == (2, 32, 6)
        assert many(torch.zeros(2, 5, 3)).shape == (2, 5, 1)


@pytest.mark.parametrize("bad", [3, None, lambda channels: 3])
def test_what_is_no_activation_gets_a_sentence(bad):
    with pytest.raises(TypeError, match="activation must"):
        ResidualMLP(3, activation=bad)
    with pytest.raises(ValueError, match="degree must be None for a factory"):
        ResidualMLP(3, activation=nn.GELU, degree=5)


def test_the_paper_s_networks_start_at_zero_whatever_the_default_is(monkeypatch):
    monkeypatch.setitem(ChebyshevLagrange.__init__.__kwdefaults__, "init", "gelu")
    assert bool(make_activation("cl", 3).heights.any())
    for name in ("cl", "pcs-cl", "tanh-cl", "cl-regression", "cl-extrapolate"):
        network = ResidualMLP.from_table(name, 3)
        assert not any(bool(part.heights.any()) for part in network.modules() if isinstance(part, ChebyshevLagrange))
