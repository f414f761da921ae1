"""Which axis holds the channels of an activation, and how many: after which layers, and where nothing tells."""

import pytest
import torch
from support.other_models import drawn
from torch import nn
from torch.nn import functional as F

import chebact

X = drawn(3, 4)


class Halves(nn.Module):
    """A gated block as in vision models with channels last: the activation has half of what the layer before gave."""

    def __init__(self):
        super().__init__()
        self.one, self.act, self.two = nn.Linear(6, 20), nn.GELU(), nn.Linear(10, 6)

    def forward(self, x):
        gate, y = self.one(x).chunk(2, dim=-1)
        return self.two(self.act(gate) * y)


class NormAct(nn.BatchNorm2d):
    """A layer that ends in its activation."""

    def __init__(self, channels):
        super().__init__(channels)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(super().forward(x))


class Joined(nn.Module):
    """A dense block: the norm has the channels of two layers together, and nothing before it gave as many."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.norm = nn.Conv2d(3, 4, 1), nn.Conv2d(3, 5, 1), NormAct(9)

    def forward(self, x):
        return self.norm(torch.cat([self.first(x), self.second(x)], dim=1))


SPLIT = {
    "three axes": (Halves, drawn(2, 7, 6), (10, -1, "after Linear")),
    "four axes": (Halves, drawn(2, 5, 7, 6), (10, -1, "after Linear")),
    "joined": (Joined, drawn(2, 3, 4, 4), (9, 1, "in NormAct")),
}


@pytest.mark.parametrize("name", SPLIT)
def test_channels_that_were_split_or_joined_stay_at_the_axis_of_the_layer(name):
    build, x, wanted = SPLIT[name]
    done = chebact.replace_activations(build(), x)
    (row,) = done.report.replaced
    assert (row.channels, row.channel_dim, row.evidence) == wanted


def test_channel_dim_tells_the_channels_where_no_layer_does():
    model = nn.Sequential(nn.Identity(), nn.ReLU())
    (row,) = chebact.replace_activations(model, torch.zeros(2, 3, 4), channel_dim=1).report.replaced
    assert (row.channels, row.channel_dim) == (3, 1)


class Recurrent(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer, self.last = layer, nn.Linear(8, 2)

    def forward(self, x):
        return self.last(F.relu(self.layer(x)[0]))


class Mixed(nn.Module):
    """After a convolution, and where no layer tells."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.register_buffer("weight", drawn(48, 5))

    def forward(self, x):
        h = F.relu(self.conv(x)).permute(0, 3, 1, 2).flatten(2)
        return F.relu(h @ self.weight)


class Scores(nn.Module):
    """One number per token, without its axis."""

    def __init__(self):
        super().__init__()
        self.line = nn.Linear(8, 1)

    def forward(self, x):
        return F.relu(self.line(x).squeeze(-1))


class Adjacency(nn.Module):
    """A matrix of weights that no input reaches."""

    def __init__(self):
        super().__init__()
        self.nodes, self.line = nn.Parameter(drawn(6, 6)), nn.Linear(6, 6)

    def forward(self, x):
        return self.line(x) @ F.relu(self.nodes)


@pytest.mark.parametrize(
    "layer", [nn.LSTM(4, 8, batch_first=True), nn.GRU(4, 4, batch_first=True, bidirectional=True)], ids=["LSTM", "GRU"]
)
def test_channels_after_a_recurrent_layer_are_the_last_axis(layer):
    (row,) = chebact.replace_activations(Recurrent(layer), drawn(2, 5, 4)).report.replaced
    assert (row.channels, row.channel_dim) == (8, -1)


def test_channel_dim_is_for_those_of_which_no_layer_tells_it():
    rows = chebact.replace_activations(Mixed(), drawn(2, 1, 6, 10), channel_dim=-1).report.replaced
    assert [(row.channels, row.channel_dim, row.evidence) for row in rows] == [
        (8, 1, "after Conv2d"),
        (5, -1, "channel_dim"),
    ]


def test_an_axis_that_is_the_known_one_may_be_given():
    assert chebact.replace_activations(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), X, channel_dim=-1).report.replaced
    with pytest.raises(ValueError, match="channel_dim must be left out where the layers tell the axis"):
        chebact.replace_activations(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), drawn(2, 5, 4), channel_dim=1)


class Turned(nn.Module):
    """As many tokens as channels, which change their places."""

    def __init__(self):
        super().__init__()
        self.line, self.conv = nn.Linear(8, 8), nn.Conv1d(8, 3, 1)

    def forward(self, x):
        return self.conv(F.relu(self.line(x).transpose(1, 2)))


def test_where_two_axes_are_as_long_as_the_channels_the_one_of_the_layer_is_followed():
    (row,) = chebact.replace_activations(Turned(), drawn(2, 8, 8)).report.replaced
    assert (row.channel_dim, row.evidence) == (1, "after Linear")


@pytest.mark.parametrize(
    ("model", "x", "words"),
    [
        (Scores(), drawn(2, 7, 8), r"no layer before it tells which axis of \(2, 7\) holds the channels"),
        (Adjacency(), drawn(2, 6), "it is applied to weights, not to what the module is given"),
    ],
    ids=["scores", "matrix"],
)
def test_an_axis_that_holds_no_channels_is_not_taken_for_them(model, x, words):
    with pytest.raises(ValueError, match=words):
        chebact.replace_activations(model, x)
