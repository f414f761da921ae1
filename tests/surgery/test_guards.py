"""Arguments and attributes that a rewritten forward was made for: the same values run, other values are refused."""

import copy
import math
import pickle
from enum import Enum, IntEnum

import numpy
import pytest
import torch
from support.other_models import drawn
from torch import nn
from torch.nn import functional as F

import chebact

X = drawn(3, 4)


def relu(channels):
    return nn.ReLU()


class Optional(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(4, 8)

    def forward(self, x, flag=False, mask=None, *, power: float = 1.0):
        h = F.relu(self.line(x)) ** power
        h = -h if flag else h
        return h if mask is None else h * mask


MASK = torch.ones(3, 8)


def test_arguments_keep_their_order_and_their_defaults():
    module = Optional()
    plain = chebact.replace_activations(module, X, with_=relu).model
    assert torch.equal(plain(X), module(X))
    assert torch.equal(plain(X, False, None, power=1.0), module(X))
    for args, kwargs, words in (
        ((X, True), {}, r"flag must be False, as it was when the activations were replaced, got True \(bool\)"),
        ((X, False, MASK), {}, r"mask must be None.*got a tensor of shape \(3, 8\)"),
        ((X,), {"power": 2.0}, "power must be 1.0"),
    ):
        with pytest.raises(ValueError, match=words):
            plain(*args, **kwargs)
    masked = chebact.replace_activations(module, (X, True, MASK), with_=relu).model
    assert torch.equal(masked(X, True, MASK), module(X, True, MASK))
    assert torch.equal(masked(X, mask=MASK, flag=True), module(X, True, MASK))
    with pytest.raises(ValueError, match=r"mask must be given, as it was when the activations were replaced, got None"):
        masked(X, True)
    with pytest.raises(
        ValueError, match=r"flag must be True.*got False \(bool\); replace them with an example that has"
    ):
        masked(X, mask=MASK)


class Mode(Enum):
    FIRST = 1
    SECOND = 2


class Level(IntEnum):
    LOW = 1


TWO = numpy.float64(2)


class Defaults(nn.Module):
    """Defaults that no code can be written for, and extra arguments."""

    def __init__(self):
        super().__init__()
        self.line = nn.Linear(4, 8)

    def forward(self, x, dtype=torch.float32, mode=Mode.FIRST, level=Level.LOW, fill=math.nan, more=TWO, **rest):
        y = F.relu(self.line(x)) * more
        y = y if dtype is torch.float32 and mode is Mode.FIRST and level is Level.LOW else y * 100
        return y + rest.get("shift", 0)


@pytest.mark.parametrize("with_example", [False, True], ids=["by neighbours", "by example"])
def test_defaults_that_are_objects_keep_their_branch(with_example):
    module = Defaults()
    model = chebact.replace_activations(module, X if with_example else None, with_=relu).model
    for each in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(each(X), module(X))
        assert torch.equal(each(X, torch.float32, Mode.FIRST, fill=math.nan), module(X))
    for options, words in (
        ({"dtype": torch.float64}, "dtype must be torch.float32, as it was"),
        ({"mode": Mode.SECOND}, "mode must be <Mode.FIRST: 1>"),
        ({"fill": 1.0}, r"fill must be nan.*got 1.0 \(float\)"),
        ({"fill": torch.zeros(())}, r"fill must be nan.*got a tensor of shape \(\)"),
        ({"shift": 1}, r"rest must be empty, as it was.*got \{'shift': 1\}"),
    ):
        with pytest.raises(ValueError, match=words):
            model(X, **options)


class Watched(nn.Module):
    """Attributes of many kinds, one of them another one in training."""

    def __init__(self):
        super().__init__()
        self.line, self._gain, self.parts, self.mode = nn.Linear(4, 8), 1.0, [1, 2], Mode.FIRST
        self.scale = numpy.float64(2.0)

    @property
    def rate(self):
        return 0.5 if self.training else 0.0

    def __getattribute__(self, name):
        return 3.0 if name == "third" else super().__getattribute__(name)

    def forward(self, x):
        y = F.relu(self.line(x)) * self._gain * self.scale + self.parts[0] + self.third
        return F.dropout(y, self.rate, self.training) if self.mode is Mode.FIRST else -y


@pytest.mark.parametrize("with_example", [False, True], ids=["by neighbours", "by example"])
@pytest.mark.parametrize(
    ("name", "value"), [("_gain", 2.0), ("parts", [3, 2]), ("mode", Mode.SECOND), ("scale", 3.0)], ids=str
)
def test_attributes_of_every_kind_are_watched_and_may_depend_on_the_mode(name, value, with_example):
    module = Watched()
    model = chebact.replace_activations(module, X if with_example else None, with_=relu).model
    assert torch.equal(model.eval()(X), module.eval()(X))
    assert (model.train()(X) == 0).sum() > 3  # what dropout left out
    setattr(model, name, value)
    with pytest.raises(ValueError, match=rf"{name} of Watched must be .*, as it was .*; set it before the activations"):
        model(X)
