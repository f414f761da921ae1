"""What stays the same: copies of a model, its other methods, attributes and arguments, and the model that was given."""

import copy
import pickle
import random
from collections import deque
from functools import partial

import numpy
import pytest
import torch
from support.other_models import drawn
from torch import nn
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel

import chebact
from chebact import ChebyshevLagrange

X = drawn(3, 4)


def relu(channels):
    return nn.ReLU()


PAIR = (drawn(2, 5, 16), drawn(2, 3, 16, seed=1))
COPIES = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "average": lambda model: AveragedModel(model).module,
    "deepcopy twice": lambda model: copy.deepcopy(copy.deepcopy(model)),
}


def decoder():
    return nn.TransformerDecoderLayer(16, 2, 32, batch_first=True)


class OwnDecoder(nn.TransformerDecoderLayer):
    pass


DECODERS = {
    "layer": decoder,
    "decoder": lambda: nn.TransformerDecoder(decoder(), 2),
    "transformer": lambda: nn.Transformer(16, 2, 1, 1, 32, batch_first=True),
    "own": lambda: OwnDecoder(16, 2, 32, batch_first=True),
}


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("way", COPIES)
def test_a_copy_of_torch_s_decoder_keeps_its_curves(name, way):
    model = DECODERS[name]().eval()
    operated = chebact.replace_activations(model, PAIR, interval=(-4.0, 4.0)).model
    copied = COPIES[way](operated)
    assert torch.equal(copied(*PAIR), operated(*PAIR))
    assert not torch.equal(copied(*PAIR), model(*PAIR))
    assert type(copied) is type(operated)
    assert isinstance(copied, type(model))
    copied(*PAIR).sum().backward()
    assert all(
        p.grad is not None for part in copied.modules() if isinstance(part, ChebyshevLagrange) for p in [part.heights]
    )


class AfterDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.decoder = nn.TransformerDecoderLayer(16, 2, 32, batch_first=True, activation=nn.GELU(), dropout=0.0)
        self.last = nn.Sequential(nn.Linear(16, 8), nn.ReLU())

    def forward(self, x, memory):
        return self.last(self.decoder(x, memory))


def test_the_module_of_a_decoder_that_is_not_replaced_stays_what_it_is():
    model = AfterDecoder().eval()
    done = chebact.replace_activations(model, PAIR, kinds=(nn.ReLU,), with_=relu)
    assert [row.name for row in done.report.replaced] == ["last.1"]
    assert torch.equal(done.model(*PAIR), model(*PAIR))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.line, self.scale, self.sizes, self.both = nn.Linear(4, 8), 1.0, (1, 2), False

    def forward(self, x):
        h = F.relu(self.line(x)) * self.scale + self.sizes[0]
        return (h, h) if self.both else h


@pytest.mark.parametrize("with_example", [False, True], ids=["by neighbours", "by example"])
def test_a_forward_that_was_set_on_the_object_is_left_alone(with_example):
    block = Block()
    old = block.forward
    block.forward = lambda *args, **kwargs: old(*args, **kwargs)
    with pytest.raises(ValueError, match=r"relu\(\) \(ReLU\): its forward was set on the object"):
        chebact.replace_activations(block, X if with_example else None, inplace=True)
    with pytest.raises(ValueError, match=r"holds a part of it, got .*<lambda> in forward of Block"):
        chebact.replace_activations(block, X if with_example else None)  # a copy would call the old block


@pytest.mark.parametrize(("name", "value"), [("scale", 2.0), ("sizes", (3, 2)), ("both", True)])
def test_an_attribute_that_forward_reads_may_change(name, value):
    block = Block()
    model = chebact.replace_activations(block, X, with_=relu).model
    for each in (model, copy.deepcopy(model)):
        assert torch.equal(each(X), block(X))
    setattr(block, name, value)
    for each in (model, copy.deepcopy(model)):
        setattr(each, name, value)
        assert torch.equal(torch.stack(list(each(X))), torch.stack(list(block(X))))


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up, self.act = nn.Linear(4, 2), nn.Linear(2, 4), nn.GELU()

    def encode(self, x):
        return F.relu(self.down(x))

    def decode(self, z):
        return self.act(self.up(z)).relu()

    def sample(self, count):
        return self.decode(torch.randn(count, 2))

    def forward(self, x):
        return self.decode(self.encode(x))


@pytest.mark.parametrize("with_example", [False, True], ids=["by its code", "by example"])
def test_methods_that_forward_calls_have_the_learned_functions_too(with_example):
    done = chebact.replace_activations(Autoencoder(), X if with_example else None)
    model, names = done.model, {row.name for row in done.report.replaced}
    assert names == {"relu", "act", "relu_2"}
    assert done.report.notes == ()
    assert torch.equal(model.encode(X), model.relu(model.down(X)))
    assert torch.equal(model.decode(model.encode(X)), model(X))
    assert model.sample(3).shape == (3, 4)


class Twice(Block):
    """A method that forward calls twice: its calls are two activations, which only forward can tell apart."""

    def half(self, x):
        return F.relu(self.line(x))

    def forward(self, x):
        return self.half(x) + self.half(x * 2)


@pytest.mark.parametrize("with_example", [False, True], ids=["by its code", "by example"])
def test_the_report_names_methods_that_keep_the_old_function(with_example):
    done = chebact.replace_activations(Twice(), X if with_example else None)
    assert [row.name for row in done.report.replaced] == ["relu", "relu_2"]
    (note,) = done.report.notes
    assert note == "half of Twice computes the old function when called other than by forward"
    assert f"note: {note}" in str(done.report)
    assert note in done.report._repr_html_()
    model = done.model
    assert torch.equal(model(X), model.relu(model.line(X)) + model.relu_2(model.line(X * 2)))
    assert torch.equal(model.half(X), F.relu(model.line(X)))
    assert torch.equal(pickle.loads(pickle.dumps(model))(X), model(X))


def test_lazy_layers_of_the_model_stay_lazy_and_a_copy_is_called():
    model = nn.Sequential(nn.LazyLinear(8), nn.ReLU())
    done = chebact.replace_activations(model, X)
    assert torch.nn.parameter.is_lazy(model[0].weight)
    assert done.model(X).shape == (3, 8)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.line, self.act, self.calls, self.names = nn.Linear(4, 4), nn.ReLU(), 0, []
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        self.names.append("call")
        self.count = self.count + 1
        if random.random() < 2 and numpy.random.rand() < 2:  # noqa: NPY002
            x = x + 1
        return self.act(self.line(x))


def test_counters_buffers_and_random_numbers_of_the_caller_stay_as_they_were():
    model = Counter()
    states = torch.get_rng_state(), random.getstate(), numpy.random.get_state()[1].tolist()  # noqa: NPY002
    done = chebact.replace_activations(model, X)
    for each in (model, done.model):
        assert (each.calls, each.names, each.count) == (0, [], 0)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (random.getstate(), numpy.random.get_state()[1].tolist()) == states[1:]  # noqa: NPY002


def test_hooks_of_a_replaced_activation_stay_and_can_be_removed():
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    seen = []
    model[1].register_forward_hook(lambda module, args, output: output * 2)
    done = chebact.replace_activations(model, X, with_=relu)
    assert torch.equal(done.model(X), model(X))
    learned = chebact.replace_activations(model, X).model
    handle = learned[1].register_forward_hook(lambda module, args, output: seen.append(output))
    learned(X)
    assert torch.equal(seen[0], 2 * learned[1].forward(learned[0](X)))
    handle.remove()
    model(X)
    learned(X)
    assert len(seen) == 1


def test_heights_that_were_made_in_inference_mode_can_be_trained():
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    with torch.inference_mode():
        operated = chebact.replace_activations(model, X).model
    operated(X).sum().backward()
    assert operated[1].heights.grad.abs().sum() > 0


class Inherits(Block):
    def forward(self, x):
        return super().forward(x) + 1


class Held(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.line, self.function = nn.Linear(4, 8), function

    def forward(self, x):
        return self.function(self.line(x))


def helper(x):
    return inner_helper(x) * 2


def inner_helper(x):
    return F.relu(x)


class Helped(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(4, 8)

    def forward(self, x):
        return helper(self.line(x))


INDIRECT = {
    "super().forward": Inherits,
    "functools.partial": lambda: Held(partial(F.gelu, approximate="tanh")),
    "a function as attribute": lambda: Held(lambda x: F.relu(x)),
    "a helper of a helper": Helped,
}


@pytest.mark.parametrize("with_example", [False, True], ids=["by neighbours", "by example"])
@pytest.mark.parametrize("name", INDIRECT)
def test_functions_that_forward_reaches_indirectly_are_found(name, with_example):
    model = INDIRECT[name]()
    done = chebact.replace_activations(model, X if with_example else None)
    assert len(done.report.replaced) == 1
    done.model(X).sum().backward()
    (learned,) = [part for part in done.model.modules() if isinstance(part, ChebyshevLagrange)]
    assert learned.heights.grad.abs().sum() > 0


class OwnState(nn.TransformerDecoderLayer):
    def __setstate__(self, state):
        state.setdefault("extra", 2)
        super().__setstate__(state)


@pytest.mark.parametrize("way", COPIES)
def test_a_decoder_with_a_way_of_its_own_to_be_copied_keeps_its_curves(way):
    operated = chebact.replace_activations(OwnState(16, 2, 32, batch_first=True).eval(), PAIR).model
    copied = COPIES[way](operated)
    assert torch.equal(copied(*PAIR), operated(*PAIR))
    assert isinstance(copied.activation, ChebyshevLagrange)
    assert copied.extra == 2


class Logs(nn.Module):
    """What it keeps of its calls is in a deque, in a list in a dict, and in a buffer that grows."""

    def __init__(self):
        super().__init__()
        self.line, self.act = nn.Linear(4, 4), nn.ReLU()
        self.last, self.lists = deque(maxlen=5), {"calls": []}
        self.register_buffer("grown", torch.zeros(1))

    def forward(self, x):
        self.last.append(1)
        self.lists["calls"].append(1)
        with torch.no_grad():
            self.grown.resize_(len(self.grown) + 1).zero_()
        return self.act(self.line(x))


def test_neither_model_keeps_anything_of_the_trials():
    model = Logs()
    operated = chebact.replace_activations(model, X).model
    for each in (model, operated):
        assert (list(each.last), each.lists, each.grown.tolist()) == ([], {"calls": []}, [0.0])


class ReadAgain(nn.Module):
    def __init__(self, unused):
        super().__init__()
        self.line, self.act, self.unused = nn.Linear(4, 4), nn.ReLU(inplace=True), unused

    def forward(self, x):
        y = self.line(x)
        z = self.act(y)
        return y if self.unused else y + z


@pytest.mark.parametrize("with_example", [False, True], ids=["by its code", "by example"])
@pytest.mark.parametrize("unused", [False, True], ids=["both are read", "the result is not"])
def test_what_a_module_wrote_into_its_input_is_written_by_the_new_one(unused, with_example):
    model = ReadAgain(unused)
    done = chebact.replace_activations(model, X if with_example else None, with_=relu)
    assert torch.equal(done.model(X), model(X))
    learned = chebact.replace_activations(model, X if with_example else None).model
    learned(X).square().sum().backward()
    assert learned.act.heights.grad.abs().sum() > 0
