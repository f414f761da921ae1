"""The functions that learned heights start from: zeros in the paper, another by the option `init`."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Annotated

from chebact.initial import INITIAL_SHAPES
from chebact.lab import LabError
from chebact.lab.options import about
from chebact.lab.spec import check_choice
from chebact.table import ACTIVATIONS, Factory, paper_activation

__all__ = ["PAPER", "Start", "activation_factory", "check_start", "resolve_start", "start_words"]

PAPER = "zeros"
Start = Annotated[str, about(f"What learned heights start from: {', '.join(INITIAL_SHAPES)}.")]


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
