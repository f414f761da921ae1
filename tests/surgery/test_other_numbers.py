"""A forward with changed calls computes what the module did, for other numbers, arguments and attributes too."""

import pickle
import random
from copy import deepcopy

import numpy
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import chebact

X = torch.linspace(-1, 1, 20).view(5, 4)


class Own(nn.Module):
    """A linear layer, some state, and a forward that is given as a function of the module and x."""

    def __init__(self, how, **state):
        super().__init__()
        self.line, self.how = nn.Linear(4, 8), how
        for name, value in state.items():
            setattr(self, name, value)
        self.register_buffer("warm", torch.tensor(False))
        self.register_buffer("scale", torch.tensor(0.1))

    def forward(self, x):
        return self.how(self, F.relu(self.line(x)))


def doubled(net, y, asked):
    return y * 2 if asked else y


WAYS = {
    "the truth of a buffer": (lambda net, y: doubled(net, y, net.warm), {}, lambda net: net.warm.fill_(True)),
    "the number of a buffer": (lambda net, y: y * net.scale.item(), {}, lambda net: net.scale.fill_(3.0)),
    "a tensor that is no buffer": (
        lambda net, y: y * float(net.tau),
        {"tau": torch.ones(())},
        lambda net: setattr(net, "tau", torch.ones(()) * 4),
    ),
    "Python's generator": (
        lambda net, y: doubled(net, y, net.draws.random() < 0.5),
        {"draws": random.Random(0)},
        lambda net: net.draws.seed(5),
    ),
    "NumPy's generator": (
        lambda net, y: doubled(net, y, net.draws.random() < 0.5),
        {"draws": numpy.random.default_rng(0)},
        lambda net: setattr(net, "draws", numpy.random.default_rng(5)),
    ),
    "torch's generator": (
        lambda net, y: y + torch.rand(8, generator=net.draws),
        {"draws": torch.Generator().manual_seed(0)},
        lambda net: net.draws.manual_seed(5),
    ),
}


@pytest.mark.parametrize("name", WAYS)
def test_numbers_that_forward_depends_on_may_change(name):
    how, state, change = WAYS[name]
    model = Own(how, **deepcopy_of(state))
    new = chebact.replace_activations(model, X, with_=lambda channels: nn.ReLU()).model
    for _ in range(3):
        assert torch.equal(new(X), model(X))
    change(new)
    change(model)
    assert torch.equal(new(X), model(X))


def deepcopy_of(state):
    return {
        key: value.clone_state() if isinstance(value, torch.Generator) else deepcopy(value)
        for key, value in state.items()
    }


class Asking(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(4, 8)

    def forward(self, x, double, shift):
        y = F.relu(self.line(x))
        y = y * 2 if double is True else y
        return y if shift is None else y + shift


def test_arguments_that_code_asks_may_have_other_values_than_in_the_example():
    model = Asking()
    new = chebact.replace_activations(model, (X, False, torch.ones(8)), with_=lambda channels: nn.ReLU()).model
    for given in ((X, False, torch.zeros(8)), (X, True, torch.zeros(8)), (X, False, None)):
        assert torch.equal(new(*given), model(*given))


class Rest(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(4, 8)

    def forward(self, x, *rest, **more):
        return F.gelu(F.relu(self.line(x)))


def test_a_forward_with_further_arguments_can_be_rewritten_twice():
    once = chebact.replace_activations(Rest(), X, where="gelu").model
    twice = chebact.replace_activations(once, X)
    assert [row.name for row in twice.report.replaced] == ["relu"]
    assert torch.equal(deepcopy(twice.model)(X), twice.model(X))
    assert torch.equal(pickle.loads(pickle.dumps(twice.model))(X), twice.model(X))
    assert torch.equal(twice.model(X, 3, more=4), twice.model(X))


REGISTRY = {}


class Registered(nn.Module):
    def __init_subclass__(cls):
        assert cls.__name__ not in REGISTRY
        REGISTRY[cls.__name__] = cls


class Entry(Registered):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(4, 8)

    def forward(self, x):
        return F.relu(self.line(x))


def test_a_registry_of_subclasses_keeps_the_class_that_was_registered():
    new = chebact.replace_activations(Entry(), X).model
    assert isinstance(new, Entry)
    assert list(REGISTRY.values()) == [Entry]
    assert REGISTRY["Entry"]()(X).shape == (5, 8)


class Held(nn.Module):
    """A function that is an attribute, called beside the same function by its own name."""

    def __init__(self, calls):
        super().__init__()
        self.one, self.two, self.act, self.calls = nn.Linear(4, 8), nn.Linear(8, 8), F.relu, calls

    def forward(self, x):
        y = self.two(self.act(self.one(x)))
        return F.relu(y) if self.calls == 2 else y


@pytest.mark.parametrize("calls", [1, 2])
def test_every_call_of_a_function_that_is_also_an_attribute_is_replaced_under_one_name(calls):
    by_run = chebact.replace_activations(Held(calls), X).report
    by_layers = chebact.replace_activations(Held(calls)).report
    assert [row.name for row in by_run.replaced] == ["act", "act_2"][:calls]
    assert len(by_run.left) == 2 - calls  # which the example does not reach
    assert [row.name for row in by_layers.replaced] == ["act", "act_2"]
    assert all(row.calls == 1 for row in by_run.replaced)


class Joined(nn.ReLU):
    def forward(self, x):
        return torch.cat([super().forward(x), super().forward(-x)], -1)


@pytest.mark.parametrize("layer", [nn.Softmax(-1), nn.LayerNorm(8), nn.GLU(), nn.Linear(8, 8), Joined()])
def test_what_is_no_function_of_each_number_alone_is_left(layer):
    model = nn.Sequential(nn.Linear(4, 8), layer, nn.Flatten())
    with pytest.raises(ValueError, match="it is no function of each number alone"):
        chebact.replace_activations(model, X, kinds=(type(layer),))


def test_the_difference_on_the_example_is_that_of_each_channel_on_its_own_inputs():
    """A straight line is a curve without error, whatever it is given; a ReLU of 0.001 is off by less than 0.2."""
    act, line = nn.PReLU(2), nn.Linear(1, 2, bias=False)
    nn.init.constant_(line.weight[0], 100.0)
    nn.init.constant_(line.weight[1], 0.001)
    act.weight.data = torch.tensor([1.0, 0.0])
    (row,) = chebact.replace_activations(
        nn.Sequential(line, act), torch.linspace(-1, 1, 50).view(50, 1)
    ).report.replaced
    assert 0 < row.difference_on_example < 0.2


class Silent(nn.Module):
    """It answers None for names that it does not have."""

    def __init__(self):
        super().__init__()
        self.line = nn.Linear(4, 8)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return None

    def forward(self, x):
        return F.relu(self.line(x))


def test_a_module_that_answers_for_any_name_gets_its_activation():
    (row,) = chebact.replace_activations(Silent(), X).report.replaced
    assert row.name == "relu"


class Gated(nn.TransformerEncoderLayer):
    def forward(self, src, **more):
        return F.gelu(super().forward(src, **more))


def test_a_transformer_layer_with_code_of_its_own_says_what_of_it_is_left():
    model = nn.Sequential(Gated(8, 2, 16, batch_first=True), nn.Linear(8, 8), nn.ReLU())
    report = chebact.replace_activations(model, torch.randn(2, 5, 8)).report
    found = {row.kind for row in report.left} | {row.kind for row in report.replaced}
    assert found == {"ReLU", "GELU"}


def test_rows_come_in_the_order_of_calls_so_that_a_slice_takes_the_last():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.body, self.last = (
                nn.Linear(4, 8),
                nn.Sequential(nn.Linear(8, 8), nn.GELU()),
                nn.Linear(8, 1),
            )

        def forward(self, x):
            return self.last(F.relu(self.body(F.silu(self.first(x)))))

    rows = chebact.replace_activations(Net(), X).report.replaced
    assert [row.kind for row in rows] == ["SiLU", "GELU", "ReLU"]
    (last,) = chebact.replace_activations(Net(), X, where=slice(-1, None)).report.replaced
    assert last.kind == "ReLU"


class Configured(nn.Module):
    def __init__(self):
        super().__init__()
        self.line, self.sizes, self.options = nn.Linear(4, 8), [[2.0]], {"scale": 3.0}
        setattr(self, "my-shift", 1.0)

    def forward(self, x):
        return F.relu(self.line(x)) * self.sizes[0][0] * self.options["scale"] + getattr(self, "my-shift")


@pytest.mark.parametrize(
    "change",
    [
        lambda net: net.sizes[0].__setitem__(0, 5.0),
        lambda net: net.options.update(scale=5.0),
        lambda net: setattr(net, "my-shift", 5.0),
    ],
)
def test_attributes_inside_lists_dicts_and_odd_names_may_change(change):
    model = Configured()
    new = chebact.replace_activations(model, X, with_=lambda channels: nn.ReLU()).model
    change(new)
    assert not torch.equal(new(X), model(X))
    change(model)
    assert torch.equal(new(X), model(X))


def test_a_replacement_that_is_taken_for_a_model_says_where_the_model_is():
    done = chebact.replace_activations(nn.Sequential(nn.Linear(4, 8), nn.ReLU()), X)
    with pytest.raises(AttributeError, match=r"got 'state_dict'; use replacement\.model\.state_dict"):
        done.state_dict()
    with pytest.raises(
        TypeError, match=r"model must be called, got a call of its Replacement; call replacement\.model"
    ):
        done(X)


@pytest.mark.parametrize("name", ["functional", "inplace", "dry_run"])
def test_a_switch_must_be_true_or_false(name):
    with pytest.raises(TypeError, match=f"{name} must be True or False, got 'no'"):
        chebact.replace_activations(nn.Sequential(nn.Linear(4, 8), nn.ReLU()), X, **{name: "no"})


class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.line, self.acts = nn.Linear(4, 8), [nn.Tanh()]


ODD = {
    "axis": (
        lambda net: chebact.replace_activations(net, X, channel_dim="last"),
        "channel_dim must be an integer, got 'last'",
    ),
    "maker": (
        lambda net: chebact.replace_activations(net, with_=lambda: nn.ReLU()),
        "with_ must be a function of the nu",
    ),
    "list": (
        lambda net: chebact.replace_activations(Lists(), kinds=(nn.Tanh,)),
        "make it an nn.ModuleList",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_argument_gets_a_sentence(name):
    call, words = ODD[name]
    with pytest.raises((TypeError, ValueError), match=words):
        call(nn.Sequential(nn.Linear(4, 8), nn.ReLU()))
