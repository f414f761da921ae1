"""Other libraries of learned activations, each as near to one cubic per channel as it offers.

They are optional and have no types here. `python3 dev.py bench --peers` and `python3 dev.py arena` install them into an
environment of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
from torch import nn

__all__ = ["PEERS", "ContiguousView", "Peer", "Rows", "library"]


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
    """A module of a library that is optional."""
    return import_module(module)


PEERS = (
    Peer("torchortho", 3, torchortho),
    Peer("deepsplines", None, deepsplines),
    Peer("rational-activations", 5, rational_activations),
    Peer("torchcurves", 3, torchcurves),
)
