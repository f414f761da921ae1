"""Other libraries of learned activations, each as near to one cubic per channel as it offers.

They are optional and have no types here: a library that is missing or does not work with the torch at hand gives a
reason instead of a row. `python3 dev.py bench --peers` installs them into an environment of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import torch
from torch import nn

from chebact.lab.bench.ops import Contender
from chebact.lab.environment import installed_version

__all__ = ["PEERS", "ContiguousView", "Peer", "Rows", "find_peers", "peer_versions"]

# Elements: above, some of them require gigabytes. 128x64x16x16 is the largest case of the table below it.
LIMIT = 2**22


@dataclass(frozen=True)
class Peer:
    """A library by the name of its distribution; `build` imports it and makes an activation for some channels."""

    name: str
    degree: int | None
    build: Callable[[int], nn.Module]


class Rows(nn.Module):
    """Gives (..., channel) rows to a module that requires a matrix, and brings what comes back into the shape of x.

    The matrix of a channels_last tensor is a view; of an NCHW one it is a copy, which is part of its cost.
    """

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The inner module on x of shape (outer, channel, ...)."""
        last = x.movedim(1, -1)
        rows: torch.Tensor = self.inner(last.reshape(-1, last.shape[-1]))
        return rows.reshape(last.shape).movedim(-1, 1)


class ContiguousView(nn.Module):
    """Gives a channels_last tensor as its contiguous (outer, ..., channel) view: for modules that call `x.view(-1)`."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The inner module on x of any shape; it must treat all channels alike."""
        if x.is_contiguous():
            return self.inner(x)  # type: ignore[no-any-return]
        out: torch.Tensor = self.inner(x.movedim(1, -1))
        return out.movedim(-1, 1)


class ConvOrRows(nn.Module):
    """A module of DeepSplines: its convolutional form for NCHW, the other for rows (a matrix, or channels_last)."""

    def __init__(self, build: Callable[[str], nn.Module]) -> None:
        super().__init__()
        self.convolutional, self.rows = build("conv"), Rows(build("fc"))
        # The two share one set of values, so that each of them trains all parameters.
        self.rows.inner._coefficients_vect = self.convolutional._coefficients_vect

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The module on x of shape (outer, channel) or (outer, channel, height, width)."""
        is_image = x.ndim == 4 and x.is_contiguous()
        return self.convolutional(x) if is_image else self.rows(x)  # type: ignore[no-any-return]


def torchortho(channels: int) -> nn.Module:
    """A cubic in Hermite polynomials, one for all channels: the library offers no other. Takes any x."""
    return ContiguousView(library("torchortho").HermiteActivation(degree=3))


def deepsplines(channels: int) -> nn.Module:
    """A linear spline per channel, on [-1, 1], linear outside; five knots, the number must be odd. Takes any x."""
    spline = library("deepsplines.ds_modules").DeepBSpline
    return ConvOrRows(lambda mode: spline(mode, channels, size=5, range_=1.0, init="relu"))


def rational_activations(channels: int) -> nn.Module:
    """A rational function of degrees 5 and 4, one for all channels: no other comes with the library. Takes any x."""
    return ContiguousView(library("rational.torch").Rational("relu", degrees=(5, 4), cuda=False, version="A"))


def torchcurves(channels: int) -> nn.Module:
    """A Legendre cubic per channel. Its clamp brings x into [-1, 1], the cheapest way that it offers."""
    legendre = library("torchcurves").LegendreCurve
    return Rows(legendre(channels, dim=1, degree=3, input_map="real.clamp"))


def library(module: str) -> Any:
    return import_module(module)


PEERS = (
    Peer("torchortho", 3, torchortho),
    Peer("deepsplines", None, deepsplines),
    Peer("rational-activations", 5, rational_activations),
    Peer("torchcurves", 3, torchcurves),
)


def find_peers(peers: tuple[Peer, ...] = PEERS) -> tuple[list[Contender], list[str]]:
    """The libraries that work here as contenders, and a sentence for each of the others."""
    rows, sentences = [], []
    for peer in peers:
        reason = why_not(peer)
        if reason is None:
            rows.append(Contender(peer.name, peer.degree, peer.build, only_below=LIMIT))
        else:
            sentences.append(f"{peer.name} is left out: {reason}")
    return rows, sentences


def peer_versions(peers: tuple[Peer, ...] = PEERS) -> dict[str, str | None]:
    """The versions installed; None for what is not."""
    return {peer.name: installed_version(peer.name) for peer in peers}


def why_not(peer: Peer) -> str | None:
    """Why a library cannot be timed, found by training a little on each kind of tensor; None if it can."""
    if installed_version(peer.name) is None:
        return "it is not installed"
    try:
        for x in samples():
            module = peer.build(x.shape[1])
            out = module(x)
            if out.shape != x.shape:
                return f"it gave {tuple(out.shape)} for {tuple(x.shape)}"
            torch.autograd.grad(out, [x, *module.parameters()], torch.ones_like(x))
    except (Exception, SystemExit) as error:  # one of them leaves the program where it lacks a table
        return f"it does not work here ({type(error).__name__}: {' '.join(str(error).split())})"
    return None


def samples() -> list[torch.Tensor]:
    """A small matrix, and a small image batch in either layout."""
    draw = partial(torch.randn, generator=torch.Generator().manual_seed(0))
    image = draw(2, 3, 4, 5)
    made = (draw(4, 3), image, image.contiguous(memory_format=torch.channels_last))
    return [x.requires_grad_() for x in made]
