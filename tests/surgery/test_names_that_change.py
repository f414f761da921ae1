"""Code in which a name means another thing from pass to pass, or one code has several names.

The truth is the model that was given: with torch's own function in the new places it computes what it did, in training
too, or the activation is left and named.
"""

import copy
import os
import re
from collections import deque

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import chebact

X = torch.linspace(-2, 2, 48).view(8, 6).sin()


def relu(channels):
    return nn.ReLU()


def one(x):
    return F.relu(x)


def other(x):
    return torch.tanh(x)


BY_NAME, METHOD, METHODS = {True: other, False: one}, torch.Tensor.relu, {"relu": torch.Tensor.relu}


class Base(nn.Module):
    kept, last = [], deque([0, 0], maxlen=2)
    made = 0

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6)
        self.relu, self.tanh = nn.ReLU(), nn.Tanh()


class FunctionByMode(Base):
    def forward(self, x):
        function = other if self.training else one
        return self.relu(self.b(function(self.a(x))))


class FunctionOfDict(Base):
    def forward(self, x):
        return self.relu(self.b(BY_NAME[self.training](self.a(x))))


class MethodByMode(Base):
    def one(self, x):
        return F.relu(self.a(x))

    def other(self, x):
        return torch.tanh(self.a(x))

    def forward(self, x):
        function = self.other if self.training else self.one
        return self.relu(function(function(x)))


class ModuleByMode(Base):
    def forward(self, x):
        h = self.relu(self.a(x))
        function = self.tanh if self.training else self.relu
        return self.c(function(self.b(h)))


class Runner:
    def run(self, x):
        return F.relu(x)


class OfAnObject(Base):
    runner = Runner()

    def forward(self, x):
        return self.relu(self.b(self.runner.run(self.a(x))))


def make_method(name):
    def method(self, x):
        return F.relu(getattr(self, name)(x))

    return method


class MadeMethods(Base):
    first, second = make_method("a"), make_method("b")

    def forward(self, x):
        return self.relu(self.c(self.second(self.first(x))))


LEFT = {
    "FunctionByMode": 1,
    "FunctionOfDict": 1,
    "MethodByMode": 1,
    "ModuleByMode": 0,
    "OfAnObject": 1,
    "MadeMethods": 1,
}
CLASSES = (FunctionByMode, FunctionOfDict, MethodByMode, ModuleByMode, OfAnObject, MadeMethods)


@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
@pytest.mark.parametrize("kind", CLASSES)
def test_what_a_name_means_in_the_example_alone_is_left(kind, training):
    model = kind()
    done = chebact.replace_activations(model, X, with_=relu)
    assert [row.name for row in done.report.replaced] == ["relu"]
    assert len(done.report.left) == LEFT[kind.__name__]
    assert torch.equal(done.model.train(training)(X), model.train(training)(X))


class OfMethod(Base):
    def forward(self, x):
        return METHODS["relu"](self.b(METHOD(self.a(x))))


class Alias(Base):
    def compute(self, x):
        return F.relu(self.a(x))

    forward = compute


class NamesItself(Base):
    def forward(self, x):
        NamesItself.made = self.training
        return F.relu(self.b(F.relu(super(NamesItself, self).__getattr__("a")(x))))  # noqa: UP008  (the old way is what is tested)


@pytest.mark.parametrize("with_example", [False, True], ids=["by its code", "by example"])
@pytest.mark.parametrize("kind", [OfMethod, Alias, NamesItself])
def test_other_ways_to_write_it_are_replaced(kind, with_example):
    model = kind()
    done = chebact.replace_activations(model, X if with_example else None, with_=relu)
    names = [row.name for row in done.report.replaced]
    assert len(names) == 1 + (kind is not Alias)
    assert torch.equal(done.model(X), model(X))
    for name in names:
        setattr(done.model, name, nn.Identity())
    wanted = model.a(X) if kind is Alias else model.b(model.a(X))
    assert torch.equal(done.model(X), wanted)
    if kind is Alias:
        assert torch.equal(done.model.compute(X), wanted)


class OverChildren(nn.Sequential):
    def forward(self, x):
        for part in self:
            x = F.relu(part(x))
        return x


def test_a_forward_that_goes_over_its_children_would_call_new_ones():
    model = OverChildren(nn.Linear(6, 6), nn.Linear(6, 6))
    with pytest.raises(ValueError, match=r"as often as the old ones, got more calls of relu, relu_2; leave them out"):
        chebact.replace_activations(model, X)


class Unregistered(Base):
    def __init__(self):
        super().__init__()
        self.parts = [nn.ReLU()]

    def forward(self, x):
        return self.parts[0](self.a(x))


@pytest.mark.parametrize("example", [None, X], ids=["by its code", "by example"])
def test_a_module_in_a_list_is_left_and_named(example):
    with pytest.raises(ValueError, match=r"got \d that cannot: .*(no child of a module holds it|make it a module)"):
        chebact.replace_activations(Unregistered(), example, where=None)


class OnClass(Base):
    def forward(self, x):
        h = F.relu(self.a(x))
        self.kept.append(h)
        self.last.append(h)
        return h


def test_lists_of_a_class_hold_nothing_of_the_trials():
    chebact.replace_activations(OnClass(), X)
    assert (OnClass.kept, list(OnClass.last)) == ([], [0, 0])


MASK = torch.tensor([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])


class Masked(nn.Module):
    def __init__(self, layer, order, mask):
        super().__init__()
        self.layer, self.order, self.mask = layer, order, mask

    def forward(self, x):
        return F.relu(self.layer(x).permute(self.order) * MASK.view(self.mask))


@pytest.mark.parametrize(
    ("order", "mask", "axis"),
    [
        ((0, 1, 2, 3), (1, 6, 1, 1), -1),
        ((0, 1, 3, 2), (1, 6, 1, 1), 2),
        ((0, 3, 1, 2), (1, 1, 6, 1), 1),
        ((0, 1, 2, 3), (1, 1, 6, 1), -1),
    ],
)
@pytest.mark.parametrize("channels", [6, 12])
def test_a_mask_is_no_split_into_heads(order, mask, axis, channels):
    model = Masked(nn.Linear(6, channels), order, mask)
    (row,) = chebact.replace_activations(copy.deepcopy(model), torch.randn(2, 6, 6, 6)).report.replaced
    assert (row.channels, row.channel_dim) == (channels, axis)


REGISTRY = {}


class Registering(type):
    def __new__(cls, name, bases, members):
        REGISTRY[name] = super().__new__(cls, name, bases, members)
        return REGISTRY[name]


class Registered(Base, metaclass=Registering):
    def forward(self, x):
        return F.relu(self.a(x))


class Inheriting(Registered):
    def forward(self, x):
        return self.relu(self.b(super().forward(x)))


def test_a_class_of_classes_does_not_hear_of_the_new_one():
    model = Inheriting()
    new = chebact.replace_activations(model, X, with_=relu).model
    assert torch.equal(new(X), model(X))
    assert torch.equal(copy.deepcopy(new)(X), model(X))
    assert {"Registered": Registered, "Inheriting": Inheriting} == REGISTRY


class SetAnew(Base):
    def forward(self, x):
        return F.relu(self.a(x))


def twice(self, x):
    return F.relu(self.a(x)) * 2


def test_a_method_that_was_set_anew_is_the_one_that_is_changed(monkeypatch):
    model = SetAnew()
    before = chebact.replace_activations(model, with_=relu).model(X)
    monkeypatch.setattr(SetAnew, "forward", twice)
    assert torch.equal(chebact.replace_activations(model, with_=relu).model(X), 2 * before)


class Matches(Base):
    def forward(self, x):
        h = self.relu(self.a(F.relu(self.b(x))))
        match self.relu:
            case nn.ReLU():
                return h * 2 if self.training else h
        return h


def test_a_pattern_that_asks_for_the_class_of_a_module_leaves_it():
    (left,) = chebact.replace_activations(Matches(), X).report.left
    assert left.name == "relu"
    assert "nn.ReLU() in test_names_that_change.py" in left.reason or "nn.ReLU in" in left.reason


class CalledTwice(Base):
    def forward(self, x):
        return self.relu(self.b(self.relu(self.a(x))))


@pytest.mark.parametrize("example", [None, X], ids=["by its code", "by example"])
def test_each_activation_of_a_module_that_is_called_twice_has_its_hooks(example):
    model = CalledTwice()
    model.relu.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    handle = model.relu.register_forward_hook(lambda module, args, output: output * 2)
    wanted = model(X)
    done = chebact.replace_activations(model, example, with_=relu, inplace=True)
    assert len(done.report.replaced) == 2
    assert torch.equal(model(X), wanted)
    handle.remove()
    assert torch.equal(model(X), F.relu(model.b(F.relu(model.a(X) + 1)) + 1))


class AsksItsClass(Base):
    def forward(self, x):
        h = F.relu(self.a(x))
        return h if type(self) is AsksItsClass or not self.training else h * 2


class AsksForAName(Base):
    def forward(self, x):
        h = self.relu(self.a(x))
        return h * 2 if self.training and type(self.relu).__name__ == "ReLU" else h


class GoesOverItsChildren(Base):
    def forward(self, x):
        h = torch.selu(self.a(x))
        for part in self.children() if self.training else ():
            h = part(h)
        return h


@pytest.mark.parametrize("kind", [AsksItsClass, AsksForAName, GoesOverItsChildren])
def test_what_training_alone_asks_for_is_compared(kind):
    with pytest.raises(ValueError, match="an output in training that"):
        chebact.replace_activations(kind(), X, with_=relu, where=lambda row: row.name != "tanh")


class DrawsByItself(Base):
    def forward(self, x):
        h = F.relu(self.a(x))
        return h * (1 + int.from_bytes(os.urandom(4)) / 2**32) if self.training else h


def test_a_training_that_no_seed_repeats_is_not_compared():
    assert len(chebact.replace_activations(DrawsByItself(), X, with_=relu).report.replaced) == 1


class SlopeByMode(Base):
    def forward(self, x):
        return self.relu(self.b(F.leaky_relu(self.a(x), 0.3 if self.training else 0.1)))


@pytest.mark.parametrize("example", [None, X], ids=["by its code", "by example"])
def test_an_argument_that_depends_on_the_mode_leaves_the_call(example):
    model = SlopeByMode()
    done = chebact.replace_activations(model, example, with_=relu)
    assert [(row.name, "computes an argument" in row.reason) for row in done.report.left] == [("leakyrelu()", True)]
    assert torch.equal(done.model(X), model(X))


class Maps(Base):
    def forward(self, x):
        return self.relu(sum(map(F.relu, (self.a(x), self.b(x)))))


@pytest.mark.parametrize(
    ("options", "reason"),
    [({}, "F.relu in .* is no call"), ({"example": X, "channel_dim": 1}, "what calls it is computed")],
)
def test_a_function_that_is_given_to_map_is_named_beside_an_attribute_of_its_name(options, reason):
    model = Maps()
    model.relu = nn.Sequential(nn.Linear(6, 6), nn.ReLU())
    (left,) = chebact.replace_activations(model, **options).report.left
    assert left.kind == "ReLU"
    assert re.search(reason, left.reason)


@torch.jit.script
def scripted(x):
    return torch.relu(x)


class CallsAScript(Base):
    def forward(self, x):
        return scripted(self.a(F.relu(self.b(x))))


@pytest.mark.parametrize("example", [None, X], ids=["by its code", "by example"])
def test_a_script_that_is_called_by_a_global_name_is_left_and_named(example):
    left = [row for row in chebact.replace_activations(CallsAScript(), example).report.left if row.name != "tanh"]
    assert ("scripted()", "ReLU") in [row[:2] for row in left]
    assert "a script" in left[-1].reason


class Normed(Base):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(6)

    def forward(self, x):
        return F.relu(self.norm(self.a(x)))


def test_a_training_that_the_example_does_not_allow_is_noted():
    assert chebact.replace_activations(Normed(), X).report.notes == ()
    (note,) = chebact.replace_activations(Normed(), X[:1]).report.notes  # batch norm needs two rows
    assert note.endswith("so it was compared in evaluation alone")
