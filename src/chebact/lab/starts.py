"""What a network starts from: learned heights by the option `init` (zeros in the paper), weights by `start`."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Annotated, Literal

import torch
from torch import nn

from chebact.initial import INITIAL_SHAPES
from chebact.lab import LabError
from chebact.lab.options import about
from chebact.lab.spec import check_choice
from chebact.networks.linear import ReplicaLinear
from chebact.table import ACTIVATIONS, Factory, paper_activation

__all__ = [
    "HE_UNIFORM",
    "PAPER",
    "RELEASED",
    "Start",
    "WeightStart",
    "activation_factory",
    "check_start",
    "draw_he_uniform_",
    "resolve_start",
    "start_words",
    "weight_words",
]

PAPER = "zeros"
HE_UNIFORM: Literal["he-uniform"] = "he-uniform"
RELEASED: Literal["released"] = "released"
Start = Annotated[str, about(f"What learned heights start from: {', '.join(INITIAL_SHAPES)}.")]

WeightStart = Annotated[
    Literal["released", "he-uniform"],
    about(
        "What the weights of layers start from: as the published figures were made, or he-uniform, the paper's word, "
        "uniform within sqrt(6 / fan-in)."
    ),
]


@torch.no_grad()
def draw_he_uniform_(network: nn.Module, generator: torch.Generator | None = None) -> None:
    """Let the weights of linear layers and convolutions start from He's uniform distribution; biases stay.

    A linear layer has drawn uniformly within 1 / sqrt(fan-in), torch's default, so its weights are stretched by
    sqrt(6): the same draws, whatever replicas are beside it. Convolutions are drawn again from the generator.

    >>> layer = nn.Linear(6, 1000)
    >>> draw_he_uniform_(layer)
    >>> 0.9 < float(layer.weight.detach().abs().max()) <= 1
    True
    """
    for part in network.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.kaiming_uniform_(part.weight, nonlinearity="relu", generator=generator)
        elif isinstance(part, nn.Linear | ReplicaLinear):
            part.weight.mul_(6**0.5)


def weight_words(start: str) -> str:
    """What follows the name of a model or a set: what its weights start from, nothing for the usual start.

    >>> weight_words("released"), weight_words("he-uniform")
    ('', ', He uniform weights')
    """
    return "" if start == RELEASED else ", He uniform weights"


def takes_start(activation: str) -> bool:
    """Whether an activation of the table has heights to start from something."""
    known = activation in ACTIVATIONS
    return known and "init" in getattr(paper_activation(activation), "keywords", {})


def activation_factory(activation: str, init: str) -> Factory:
    """The activation of that name, its heights from this function.

    >>> activation_factory("cl-extrapolate", "relu")(4)
    ChebyshevLagrange(4, degree=3, tails='extrapolate', init='relu')
    """
    usual = paper_activation(activation)
    return usual if init == PAPER else partial(usual, init=init)


def start_words(init: str) -> str:
    """What follows the name of a model or a set: what its heights start from, nothing if that is the paper's.

    >>> start_words("zeros"), start_words("relu")
    ('', ' from relu')
    """
    return "" if init == PAPER else f" from {init}"


def check_start(init: str, activation: str) -> None:
    """A LabError for a function that is not known, or for an activation without heights."""
    check_choice("init", init, tuple(INITIAL_SHAPES))
    if init != PAPER and not takes_start(activation):
        raise LabError(f"init must be {PAPER} for {activation}, which has no heights to start from {init}")


def resolve_start(init: str, activation: str, asked: Collection[str]) -> str:
    """What `init` is for one of the activations that were asked for: nothing where there are no heights.

    A LabError where none of them has heights: asked to change something, changing nothing is an error.
    """
    if init != PAPER and not any(takes_start(name) for name in asked):
        raise LabError(f"`init` {init} must have a model with learned heights, got {', '.join(asked)}")
    return init if takes_start(activation) else PAPER
