"""replace_activations on what it cannot take: the sentence that each mistake gets."""

import pytest
import torch
from support.other_models import drawn
from torch import nn

import chebact


class Skip(nn.Module):
    def __init__(self, branch):
        super().__init__()
        self.branch = branch

    def forward(self, x):
        x = x * 2
        return self.branch(x) + x


class Gate(nn.Module):
    def forward(self, x):
        return torch.tanh(x)


class Computed(nn.Module):
    def __init__(self):
        super().__init__()
        self.line, self.kind = nn.Linear(4, 4), "relu"

    def forward(self, x):
        return getattr(nn.functional, self.kind)(self.line(x))


def wrapped(model):
    """A model as DDP holds it, without a second process."""
    parallel = nn.parallel.DistributedDataParallel.__new__(nn.parallel.DistributedDataParallel)
    nn.Module.__init__(parallel)
    parallel.module = model
    return parallel


NET = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
NOTHING_BEFORE = nn.Sequential(nn.Identity(), nn.ReLU())
ODD = {
    "no module": (lambda: chebact.replace_activations("net"), r"model must be a torch.nn.Module, got 'net' \(str\)"),
    "no activations": (
        lambda: chebact.replace_activations(nn.Linear(2, 2)),
        "got none in Linear; if it has activations of other classes, name these in kinds",
    ),
    "others": (
        lambda: chebact.replace_activations(nn.Sequential(nn.Linear(2, 2), nn.Tanh())),
        "it has Tanh: name them in kinds",
    ),
    "wrong example": (
        lambda: chebact.replace_activations(NET, torch.zeros(2, 5)),
        r"example must be an input of the model.*a tensor of shape \(2, 5\), on which the model raised RuntimeError",
    ),
    "not told": (
        lambda: chebact.replace_activations(Computed(), drawn(3, 4)),
        r"got 1 that cannot: relu\(\) \(ReLU\): what calls it is computed; test_bad_input.py:\d+: write self.relu = ",
    ),
    "where": (
        lambda: chebact.replace_activations(NET, where="l"),
        "where must name activations of the model, got 'l'; the names are 1",
    ),
    "where by function": (
        lambda: chebact.replace_activations(NET, where=lambda row: False),
        "where must choose an activation",
    ),
    "where of nothing": (lambda: chebact.replace_activations(NET, where=[]), r"got \[\], which chooses none of 1"),
    "where by a number": (lambda: chebact.replace_activations(NET, where=3), r"where must be a name.*got 3 \(int\)"),
    "an activation": (lambda: chebact.replace_activations(nn.ReLU()), "must have activations inside, got ReLU itself"),
    "compiled": (
        lambda: chebact.replace_activations(torch.compile(NET, backend="eager"), torch.zeros(2, 4)),
        "model must be plain Python, got OptimizedModule.*model._orig_mod",
    ),
    "fit to nothing": (
        lambda: chebact.replace_activations(NET, torch.zeros(0, 4), interval="fit"),
        "example must give 1 finite inputs for interval='fit', got none",
    ),
    "fit to nan": (
        lambda: chebact.replace_activations(NET, torch.full((1, 4), torch.nan), interval="fit"),
        "got numbers that are not finite",
    ),
    "without a batch axis": (
        lambda: chebact.replace_activations(nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU()), torch.zeros(3, 5, 5)),
        r"example must have a batch axis, got an input of Conv2d without one; pass x\.unsqueeze\(0\)",
    ),
    "no kinds": (lambda: chebact.replace_activations(NET, kinds=()), r"kinds must be a tuple of classes.*got \(\)"),
    "with a typo": (
        lambda: chebact.replace_activations(NET, with_="cl-extra"),
        "with_ must be one of cl, pcs-cl, tanh-cl, cl-regression, cl-extrapolate, got",
    ),
    "no such axis": (
        lambda: chebact.replace_activations(NET, torch.zeros(2, 4), channel_dim=5),
        "channel_dim must be left out where the layers tell the axis of every activation, got 5; to set another",
    ),
    "no such axis where it is needed": (
        lambda: chebact.replace_activations(
            nn.Sequential(nn.Identity(), nn.ReLU()), torch.zeros(2, 3, 4), channel_dim=5
        ),
        r"channel_dim must be an axis of its input, got 5 for shape \(2, 3, 4\)",
    ),
    "an axis without an example": (
        lambda: chebact.replace_activations(NET, channel_dim=1),
        r"channel_dim must be given with an example, got 1 \(int\); pass an input too",
    ),
    "heads": (
        lambda: chebact.replace_activations(
            nn.Sequential(nn.Linear(4, 4), nn.Unflatten(-1, (2, 2)), nn.ReLU()), torch.zeros(2, 5, 4)
        ),
        r"no layer before it tells which axis of \(2, 5, 2, 2\)",
    ),
    "where of one that is left": (
        lambda: chebact.replace_activations(nn.Sequential(Computed(), nn.ReLU()), drawn(3, 4), where="0.relu()"),
        r"got '0.relu\(\)'; that cannot be replaced: what calls it is computed",
    ),
    "in place": (
        lambda: chebact.replace_activations(Skip(nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 4))), drawn(3, 4)),
        "model must not read what an activation wrote into its input, got inplace=True at branch.0 and an output that",
    ),
    "where of a wrong type": (lambda: chebact.replace_activations(NET, where=[3]), r"got 3 \(int\)"),
    "fit": (lambda: chebact.replace_activations(NET, interval="fit"), "interval='fit' must come with an example"),
    "interval": (
        lambda: chebact.replace_activations(NET, interval="wide"),
        "interval must be a pair of numbers or 'fit'",
    ),
    "kinds": (lambda: chebact.replace_activations(NET, kinds=nn.ReLU), "kinds must be a tuple of classes"),
    "with": (lambda: chebact.replace_activations(NET, with_=3), r"with_ must be a name of ACTIVATIONS or a function"),
    "three axes": (
        lambda: chebact.replace_activations(nn.Sequential(nn.Identity(), nn.ReLU()), torch.zeros(2, 3, 4)),
        r"no layer before it tells which axis of \(2, 3, 4\) holds the channels",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_bad_input_gets_a_sentence_that_says_what_to_do(name):
    call, words = ODD[name]
    with pytest.raises((ValueError, TypeError), match=words):
        call()
