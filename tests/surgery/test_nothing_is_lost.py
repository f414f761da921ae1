"""What code does beside computing: aliases, attributes, random numbers, modes. All of it is kept."""

import itertools
import random

import numpy
import pytest
import torch
from support.other_models import drawn
from torch import nn
from torch.nn import functional as F

import chebact

X = drawn(5, 4)


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.line, self.kept = nn.Linear(4, 4), []


def own(forward):
    """A module with that forward method."""
    return type("Own", (Base,), {"forward": forward})()


def add_to_an_alias(self, x):
    y = self.line(x)
    z = y
    z += x
    return F.relu(y) + y


def scale_a_view(self, x):
    y = self.line(x)
    half = y.T
    half *= 2
    half -= 1
    return F.relu(y)


def count(self, x):
    rows = x.shape[0]
    rows += 1
    return F.relu(self.line(x)) * rows


KEPT = {"+= on an alias": add_to_an_alias, "*= and -= on a view": scale_a_view, "+= on a number": count}


@pytest.mark.parametrize("with_example", [False, True], ids=["by neighbours", "by example"])
@pytest.mark.parametrize("name", KEPT)
def test_what_is_written_under_one_name_is_read_under_the_other(name, with_example):
    model = own(KEPT[name])
    done = chebact.replace_activations(model, X if with_example else None, with_=lambda channels: nn.ReLU())
    assert torch.equal(done.model(X), model(X))
    assert torch.equal(done.model.eval()(X[:3]), model.eval()(X[:3]))


def without_gradient(self, x):
    with torch.no_grad():
        y = self.line(x)
    return F.relu(y)


def remember(self, x):
    self.last = self.line(x)
    return F.relu(self.last)


def collect(self, x):
    self.kept.append(self.line(x))
    return F.relu(self.kept[-1])


def drop_by_chance(self, x):
    y = self.line(x)
    return F.relu(y) if random.random() < 2 else y


def noise(self, x):
    return F.relu(self.line(x)) if torch.rand(()) < 2 else x


def in_half(self, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = self.line(x)
    return F.relu(y.float())


def in_inference(self, x):
    with torch.inference_mode():
        y = self.line(x)
    return F.relu(y.clone())


def numpy_noise(self, x):
    return F.relu(self.line(x)) * (1 if numpy.random.rand() < 2 else 2)  # noqa: NPY002


def other_in_training(self, x):
    return F.gelu(self.line(x)) if self.training else F.relu(self.line(x))


def make_a_tensor(self, x):
    return F.relu(self.line(x) + torch.ones(4))


STEPS = itertools.count(1)


def count_in_training(self, x):
    y = F.relu(self.line(x))
    return y * next(STEPS) if self.training else y


DOING = {
    "no_grad": without_gradient,
    "autocast": in_half,
    "an attribute": remember,
    "a list": collect,
    "Python's random numbers": drop_by_chance,
    "torch's random numbers": noise,
    "NumPy's random numbers": numpy_noise,
    "inference_mode": in_inference,
    "training": other_in_training,
    "a tensor": make_a_tensor,
    "a counter": count_in_training,
}


UNTOLD = ("a list",)  # whose channels no code tells


@pytest.mark.parametrize("with_example", [False, True], ids=["by neighbours", "by example"])
@pytest.mark.parametrize("name", DOING)
def test_a_forward_with_an_effect_of_its_own_goes_on_as_it_was(name, with_example, bfloat16_products):
    model = nn.Sequential(own(DOING[name]), nn.Linear(4, 4), nn.ReLU()).eval()
    before, state, python = dict(vars(model[0])), torch.get_rng_state(), random.getstate()
    done = chebact.replace_activations(model, X if with_example else None, with_=lambda channels: nn.ReLU())
    found = {
        row.name for row in (*done.report.replaced, *(done.report.left if name in UNTOLD and not with_example else ()))
    }
    assert {"0.relu", "2"} <= found
    assert torch.equal(torch.get_rng_state(), state)
    assert random.getstate() == python
    assert set(vars(model[0])) == set(before)
    results = []
    for each in (done.model, model):
        torch.manual_seed(0)
        results.append(each(X))
    assert torch.equal(*results)
    assert len(done.model[0].kept) == len(model[0].kept)
    assert hasattr(done.model[0], "last") == hasattr(model[0], "last")


def test_the_function_of_the_other_mode_is_named_by_the_report():
    done = chebact.replace_activations(own(other_in_training), X, with_=lambda channels: nn.ReLU())
    ((name, _, reason),) = done.report.left
    assert name == "gelu()"
    assert reason.startswith("the example does not reach F.gelu(self.line(x)) in test_nothing_is_lost.py:")
    line = done.model.line
    assert torch.equal(done.model.train()(X), F.gelu(line(X)))
    assert torch.equal(done.model.eval()(X), F.relu(line(X)))


def test_a_question_for_the_type_of_a_tensor_is_asked_as_before():
    def first(self, x):
        y = x if isinstance(x, torch.Tensor) else x[0]
        return F.relu(self.line(y))

    model = own(first)
    new = chebact.replace_activations(model, with_=lambda channels: nn.ReLU()).model
    for given in (X, [X]):
        assert torch.equal(new(given), model(given))


def through_a_view(self, x):
    y = self.line(x)
    flat = y.view_as(x)
    F.relu_(flat)
    return y


def of_the_argument(self, x):
    return self.line(F.relu(x, inplace=True)) + x


def by_a_child(self, x):
    y = x * 1
    z = y[:]
    self.act(z)
    return self.line(y)


def of_a_name(self, x):
    y = self.line(x)
    kept = y
    y = F.relu_(y)
    return y + kept


WRITING = {
    "a view": through_a_view,
    "a child on a slice": by_a_child,
    "the argument": of_the_argument,
    "another name": of_a_name,
}


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("with_example", [False, True], ids=["by its code", "by example"])
def test_an_activation_writes_where_others_read_as_before(name, with_example):
    model = own(WRITING[name])
    if name == "a child on a slice":
        model.act, with_example = nn.ReLU(inplace=True), True  # no layer tells its channels
    new = chebact.replace_activations(model, X if with_example else None, with_=lambda channels: nn.ReLU()).model
    given = [X.clone() for _ in range(2)]
    assert torch.equal(new(given[0]), model(given[1]))
    assert torch.equal(*given)


def test_without_an_example_an_activation_that_writes_into_an_argument_of_torch_s_code_is_left():
    chain = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 4), nn.ReLU(inplace=True))
    done = chebact.replace_activations(chain)
    assert [row.name for row in done.report.replaced] == ["2"]
    assert done.report.left[0].reason == "it writes into its input, which others may read; pass example"
    assert len(chebact.replace_activations(chain, X).report.replaced) == 2


def test_an_argument_of_the_activation_that_is_computed_is_a_reason():
    def slope(self, x):
        return F.leaky_relu(self.line(x), x.shape[0] / 100)

    model = own(slope)
    with pytest.raises(ValueError, match="forward computes an argument of it beside x"):
        chebact.replace_activations(model, X)


class Random(nn.Module):
    """Noise in evaluation too: two runs differ, unless they are seeded alike."""

    def __init__(self):
        super().__init__()
        self.line, self.act = nn.Linear(4, 4), nn.ReLU()

    def forward(self, x):
        return self.act(self.line(F.dropout(x, 0.5, training=True)))


def test_a_model_that_draws_in_evaluation_is_compared_with_the_same_draws():
    assert len(chebact.replace_activations(Random(), X).report.replaced) == 1


class Caching(nn.Module):
    """In evaluation it keeps what it computed of its weights, as the attention biases of some vision models are."""

    def __init__(self):
        super().__init__()
        self.line, self.act, self.cache, self.seen, self.last = nn.Linear(4, 4), nn.ReLU(), {}, set(), None

    def forward(self, x):
        if "bias" not in self.cache:
            self.cache["bias"] = self.line.bias * 2
        self.seen.add(x.shape)
        self.last, self.newest = x, x
        return self.act(self.line(x) + self.cache["bias"])


def test_what_a_run_of_surgery_left_in_attributes_is_gone_so_new_weights_are_used():
    model = Caching().eval()
    done = chebact.replace_activations(model, X).model
    assert (done.cache, done.seen, done.last) == ({}, set(), None)
    assert not hasattr(done, "newest")
    with torch.no_grad():
        done.line.bias.fill_(3.0)
    torch.testing.assert_close(done(X), done.act(done.line(X) + 6))


def test_a_lazy_layer_keeps_what_the_run_of_the_example_told_it():
    done = chebact.replace_activations(nn.Sequential(nn.LazyLinear(3), nn.BatchNorm1d(3), nn.ReLU()), X).model
    assert done[0].in_features == 4
    assert done(X).shape == (5, 3)
