"""What a forward does beside computing its output: after the operation it does the same, in training and evaluation.

The truth is the model that was given: torch's own functions stand in the new places, so nothing may differ. Each model
is a way to freeze, to remember, to branch or to ask that people write.
"""

import copy
import math
import pickle
import random

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import chebact

X = torch.linspace(-2, 2, 48).view(8, 6).sin()
LOG, SCALE, ACTIVE = [], {"by": 2.0}, {"now": F.relu, "other": torch.tanh}


def relu(channels):
    return nn.ReLU()


class Box:
    """An object that is no module."""

    def __init__(self):
        self.loss, self.losses = None, []


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.bn, self.drop = nn.Linear(6, 6), nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Dropout(0.2)
        self.box, self.items = Box(), []
        self.collect = self.items.append


class FrozenByEval(Base):
    def forward(self, x):
        self.bn.eval()
        return F.relu(self.bn(self.a(x)))


class FrozenByTrain(Base):
    def forward(self, x):
        self.bn.train(False)
        return torch.relu(self.bn(self.a(x)))


class FrozenByAttribute(Base):
    def forward(self, x):
        self.bn.training = False
        return self.bn(self.a(x)).relu()


class Momentum(Base):
    def forward(self, x):
        self.bn.momentum = 0.5
        return F.relu(self.bn(self.a(x)))


class DropRate(Base):
    def forward(self, x):
        self.drop.p = 0.5
        return self.drop(F.relu(self.a(x)))


class Thawed(Base):
    def forward(self, x):
        self.bn.train(x.shape[0] > 4)
        return F.relu(self.bn(self.a(x)))


class LossOnBox(Base):
    def forward(self, x):
        h = F.relu(self.a(x))
        self.box.loss = h.mean()
        return self.b(h)


class LossInList(Base):
    def forward(self, x):
        h = F.relu(self.a(x))
        self.box.losses.append(h.square().mean())
        return self.b(h)


class BoundAppend(Base):
    def forward(self, x):
        h = F.relu(self.a(x))
        self.collect(h.mean())
        return self.b(h)


class LastOnChild(Base):
    def forward(self, x):
        h = F.relu(self.a(x))
        self.a.last = h
        return self.b(h)


class FeaturesOnChild(Base):
    def forward(self, x):
        self.drop.features = self.a(x)
        return self.b(F.relu(self.drop.features))


class GlobalList(Base):
    def forward(self, x):
        h = F.relu(self.a(x))
        LOG.append(h)
        return self.b(h)


class NewBuffer(Base):
    def forward(self, x):
        h = F.relu(self.a(x))
        self.register_buffer("mean", h.mean().detach())
        return self.b(h)


class InPlace(Base):
    def __init__(self):
        super().__init__()
        self.r = nn.ReLU(inplace=True)


class ReadsWhenTraining(InPlace):
    def forward(self, x):
        h = self.a(x)
        y = self.r(h)
        return y + h if self.training else y


class ReadsAlias(InPlace):
    def forward(self, x):
        h = self.a(x)
        kept = h
        h = self.r(h)
        return h + kept


class ReadsView(Base):
    def forward(self, x):
        h = self.a(x)
        F.relu_(h.view_as(x))
        return self.b(h)


class GlobalScale(Base):
    def forward(self, x):
        return F.relu(self.a(x)) * SCALE["by"]


class GlobalFunction(Base):
    def forward(self, x):
        return self.b(ACTIVE["now"](self.a(x)))


class Growing(Base):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
        return x


class Half(Base):
    def forward(self, x):
        return F.relu(self.a(x))

    def half(self, x):
        return F.relu(self.b(x)) / 2


class CallsHalf(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = Half()

    def forward(self, x):
        return self.b(x) + self.b.half(x)


class Tries(Base):
    def forward(self, x):
        try:
            top = float(x.max())
        except TypeError:
            top = 0.0
        return F.relu(self.a(x)) * top


class AsksType(Base):
    def forward(self, x):
        h = F.relu(self.a(x))
        return h if type(x) is torch.Tensor else h * 2


class AsksGradient(Base):
    def forward(self, x):
        h = F.relu(self.a(x))
        return h * 3 if torch.is_grad_enabled() else h


class AsksKind(Base):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU()])

    def forward(self, x):
        kept = 0
        for part in self.parts:
            x = part(x)
            if isinstance(part, nn.ReLU):
                kept = kept + x
        return F.relu(self.a(kept))


class RaisesOnce(Base):
    def forward(self, x):
        for k in range(2):
            x = F.relu(self.a(x) if k else self.b(x))
            if x.shape[0] == 3:
                raise KeyError("three rows")
        return x


class Generates(Base):
    def parts(self, x):
        yield F.relu(self.a(x))
        yield F.relu(self.b(x))

    def forward(self, x):
        return sum(self.parts(x))


class NoGradient(Base):
    @torch.no_grad()
    def features(self, x):
        return F.relu(self.a(x))

    def forward(self, x):
        return F.relu(self.b(self.features(x)))


MODELS = {
    each.__name__: each
    for each in (
        *(FrozenByEval, FrozenByTrain, FrozenByAttribute, Momentum, DropRate, Thawed, LossOnBox, LossInList),
        *(BoundAppend, LastOnChild, FeaturesOnChild, GlobalList, NewBuffer, ReadsWhenTraining, ReadsAlias, ReadsView),
        *(GlobalScale, GlobalFunction, Growing, CallsHalf, Tries, AsksType, AsksGradient, AsksKind, RaisesOnce),
        *(Generates, NoGradient),
    )
}
COUNTS = {"Growing": 2, "CallsHalf": 2, "RaisesOnce": 2, "Generates": 2, "NoGradient": 2}
LEFT = {"AsksKind": ["parts.1", "parts.3"]}


def effects(model):
    """What two steps of training and one pass of evaluation leave: outputs, statistics, gradients, what is kept."""
    LOG.clear()
    torch.manual_seed(0)
    outputs, optimizer = [], torch.optim.SGD(model.parameters(), lr=0.1)
    for training in (True, True, False):
        model.train(training)
        y = model(X.clone())
        kept = [
            getattr(model, "box", Box()).loss,
            *getattr(model, "box", Box()).losses,
            *LOG,
            *getattr(model, "items", []),
        ]
        kept += [
            getattr(getattr(model, "a", None), "last", None),
            getattr(getattr(model, "drop", None), "features", None),
        ]
        loss = y.square().mean() + sum(each.mean() for each in kept if each is not None and each.grad_fn is not None)
        optimizer.zero_grad()
        loss.backward()
        outputs += [y.detach(), *(each.detach() for each in kept if each is not None)]
        outputs += [p.grad.clone() for p in model.parameters() if p.grad is not None]
        for each in (getattr(model, "box", Box()).losses, LOG, getattr(model, "items", [])):
            each.clear()
        if training:
            optimizer.step()
    return [*outputs, *(value.clone() for _, value in sorted(model.state_dict().items()))]


@pytest.mark.parametrize("with_example", [False, True], ids=["by its code", "by example"])
@pytest.mark.parametrize("name", MODELS)
def test_all_that_forward_does_is_done_after_the_operation(name, with_example):
    torch.manual_seed(1)
    model = MODELS[name]().train()
    untouched = copy.deepcopy(model)
    untouched.collect = untouched.items.append if hasattr(untouched, "items") else None
    LOG.clear()
    done = chebact.replace_activations(model, X if with_example else None, with_=relu)
    assert LOG == []
    assert len(done.report.replaced) == COUNTS.get(name, 1)
    assert [row.name for row in done.report.left] == LEFT.get(name, [])
    assert with_example is False or done.report.output_difference == 0
    got, wanted = effects(done.model), effects(untouched)
    assert len(got) == len(wanted)
    assert all(torch.equal(a, b) for a, b in zip(got, wanted, strict=True))
    assert [k for k in vars(model) if k != "training"] == [k for k in vars(MODELS[name]()) if k != "training"]


@pytest.mark.parametrize("name", ["BoundAppend", "LossInList"])
def test_a_list_of_the_new_model_is_not_that_of_the_old_one(name):
    model = MODELS[name]()
    new = chebact.replace_activations(model, X).model
    new(X)
    assert (model.items, model.box.losses) == ([], [])
    assert len(new.items) + len(new.box.losses) == 1
    assert all(each.requires_grad for each in (*new.items, *new.box.losses))


def test_what_changes_after_the_operation_counts():
    growing = chebact.replace_activations(Growing(), X, with_=relu).model
    growing.layers.append(nn.Linear(6, 6))
    wanted = X
    for layer in growing.layers:
        wanted = F.relu(layer(wanted))
    assert torch.equal(growing(X), wanted)
    assert torch.equal(copy.deepcopy(growing)(X), wanted)
    dropping = chebact.replace_activations(DropRate(), X, with_=relu).model.train()
    dropping(X)
    dropping.drop.p = 0.0
    assert dropping.drop.p == 0.0
    scaled = chebact.replace_activations(GlobalScale(), X, with_=relu).model
    chosen = chebact.replace_activations(GlobalFunction(), X).model
    try:
        SCALE["by"], ACTIVE["now"] = 5.0, ACTIVE["other"]
        assert torch.equal(scaled(X), F.relu(scaled.a(X)) * 5)
        assert torch.equal(chosen(X), chosen.b(torch.tanh(chosen.a(X))))
    finally:
        SCALE["by"], ACTIVE["now"] = 2.0, F.relu


def test_a_pass_that_ended_in_an_error_does_not_move_the_numbers_of_the_next():
    model = chebact.replace_activations(RaisesOnce(), X, init="zeros").model
    with torch.no_grad():
        model.relu.heights.fill_(1.0)
        model.relu_2.heights.fill_(2.0)
    for _ in range(2):
        with pytest.raises(KeyError):
            model(X[:3])
    assert torch.equal(model(X), torch.full((8, 6), 2.0))
    assert torch.equal(pickle.loads(pickle.dumps(model))(X), torch.full((8, 6), 2.0))


class Nested(Base):
    """It calls itself."""

    def forward(self, x, again=True):
        for layer in (self.a, self.b):
            x = F.relu(layer(x))
        return self.forward(x, again=False) if again else x


def test_a_call_within_a_call_has_numbers_of_its_own():
    with pytest.raises(ValueError, match="the number of its calls in a pass is not fixed"):
        chebact.replace_activations(Nested(), X)
    new = chebact.replace_activations(RaisesOnce(), X).model
    inner = chebact.replace_activations(RaisesOnce(), X).model
    wanted = new(inner(X))
    new.a.register_forward_pre_hook(lambda module, args: (inner(args[0]) * 0 + args[0],))
    assert torch.allclose(new(inner(X)), wanted)


def test_the_padded_encoder_of_torch_says_that_its_fast_path_is_off():
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    done = chebact.replace_activations(nn.TransformerEncoder(layer, 2).eval(), torch.randn(2, 5, 16))
    assert any("fast path" in note and "padded" in note for note in done.report.notes)
    assert not math.isnan(done.report.output_difference)


class ToScript(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 6)

    def forward(self, x):
        return F.relu(self.a(x))


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.parametrize("inside", [False, True], ids=["itself", "in another"])
def test_a_script_would_have_the_old_activations_and_is_refused(inside):
    model = nn.Sequential(ToScript()) if inside else ToScript()
    new = chebact.replace_activations(model, X, init="zeros").model
    with pytest.raises(TypeError, match="source with the old activations"):
        torch.jit.script(new)


class HoldsAFunction(nn.Module):
    def __init__(self, way):
        super().__init__()
        self.a = nn.Linear(6, 6)
        layers, compute, weight = [self.a], self.a.forward, self.a.weight
        self.functions = {
            "itself": {"block": lambda x: self.a(x)},
            "a list": [lambda x: layers[0](x)],
            "a method": lambda x: compute(x),
            "a default": lambda x, layer=self.a: layer(x),
            "a weight": (lambda x: F.linear(x, weight),),
            "nothing": lambda x: F.linear(x, torch.eye(6)),
        }[way]

    def forward(self, x):
        some = self.functions
        function = some["block"] if isinstance(some, dict) else some if callable(some) else some[0]
        return F.relu(function(x))


@pytest.mark.parametrize("way", ["itself", "a list", "a method", "a default", "a weight"])
def test_a_function_that_holds_a_layer_would_call_that_of_the_old_model(way):
    model = HoldsAFunction(way)
    with pytest.raises(ValueError, match=r"holds a part of it, got .*<lambda> in functions of HoldsAFunction"):
        chebact.replace_activations(model, X, with_=relu)
    wanted = model(X)
    assert torch.equal(chebact.replace_activations(model, X, with_=relu, inplace=True).model(X), wanted)
    assert len(chebact.replace_activations(HoldsAFunction("nothing"), X).report.replaced) == 1


class KeepsOnItself(Base):
    def forward(self, x):
        h = self.a(x)
        self.kept = h
        y = F.relu(h, inplace=True)
        return self.b(y)


class KeepsInList(InPlace):
    def forward(self, x):
        h = self.a(x)
        self.items.append(h)
        h = self.r(h)
        return self.b(h)


@pytest.mark.parametrize("example", [None, X], ids=["by its code", "by example"])
@pytest.mark.parametrize("kind", [KeepsOnItself, KeepsInList])
def test_what_a_model_keeps_is_written_into_as_before(kind, example):
    model = kind()
    new = chebact.replace_activations(model, example, with_=relu).model
    assert torch.equal(new(X), model(X))
    got, wanted = ([*each.items, *[getattr(each, "kept", X)]] for each in (new, model))
    assert all(map(torch.equal, got, wanted))
    assert bool((wanted[0] >= 0).all())


@pytest.mark.parametrize("example", [None, X], ids=["by its code", "by example"])
def test_hooks_that_may_keep_what_was_written_into_are_named(example):
    kept = []
    model = nn.Sequential(nn.Linear(6, 6), nn.ReLU(inplace=True), nn.Linear(6, 6))
    assert chebact.replace_activations(model, example).report.notes == ()
    model[0].register_forward_hook(lambda module, args, output: kept.append(output))
    for dry_run in (True, False):
        (note,) = chebact.replace_activations(model, example, dry_run=dry_run).report.notes
        assert note.startswith("1 wrote into the input")
        assert "forward hooks of 0 keep" in note


class LeavesOutLayers(Growing):
    def forward(self, x):
        for k, layer in enumerate(self.layers):
            if self.training and k == 0:
                continue
            x = F.relu(layer(x))
        return x


class LeavesOutByChance(Growing):
    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x)) if random.random() < 2 else x
        return x


class DropsAfterAllButTheLast(Growing):
    def forward(self, x):
        for k, layer in enumerate(self.layers):
            x = F.relu(layer(x))
            if k < 1:
                x = F.dropout(x, 0.5, training=self.training)
        return x


@pytest.mark.parametrize("example", [None, X], ids=["by its code", "by example"])
@pytest.mark.parametrize("kind", [LeavesOutLayers, LeavesOutByChance])
def test_numbers_of_calls_that_another_pass_may_leave_out_are_noted(kind, example):
    (note,) = chebact.replace_activations(kind(), example).report.notes
    assert note.startswith("relu, relu_2 are told apart by the number of the call in a pass")
    for other in (Growing, DropsAfterAllButTheLast):
        assert chebact.replace_activations(other(), example).report.notes == ()
