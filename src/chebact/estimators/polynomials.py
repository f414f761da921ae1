"""The trained networks of an estimator as polynomials of their inputs: no tails, and all rows inside the intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from chebact.activations import ChebyshevLagrange
from chebact.checks import must_be
from chebact.interpolation import polynomial
from chebact.networks import ResidualMLP
from chebact.node_positions import nodes
from chebact.ranges import PolynomialModel, input_ranges, to_polynomial
from chebact.ranges.polynomial import compare_outputs, without_tails

__all__ = ["check_learned", "polynomial_of"]

MARGIN = 0.05
FULL = 1 - MARGIN - 0.01  # the part of an interval that a channel fills after it was scaled down


def check_learned(network: ResidualMLP, activation: Any) -> None:
    """A ValueError unless every activation is a learned polynomial."""
    if not all(isinstance(part, ChebyshevLagrange) for part in activations_of(network)):
        raise ValueError(must_be("activation", "cl-extrapolate or another ChebyshevLagrange", activation))


def activations_of(network: ResidualMLP) -> list[nn.Module]:
    """The activations of the blocks, then that before the last layer; all take the stream of the residual sums."""
    return [*(block[0] for block in network.blocks), network.last_activation]  # type: ignore[index]


def polynomial_of(network: ResidualMLP, x: Tensor) -> PolynomialModel:
    """The network without tails, for x (row, features); no row leaves the intervals less the margin.

    A channel of the residual stream in which a row is outside is made smaller by a factor, and its activations are the
    same polynomials of larger numbers: as a polynomial the network stays the same. `largest_change` of the report is
    that of the whole step, from the network with its tails, on which rows may lie, to the polynomial.
    """
    rows = x.expand(network.first.replicas or 1, *x.shape)
    twin = without_tails(network)
    assert isinstance(twin, ResidualMLP)
    ranges = input_ranges(twin, rows)
    used = torch.stack([each.used for each in ranges.values()]).amax(dim=0)  # (replica, channel)
    shrink_(twin, torch.where(used > 1 - MARGIN, used / FULL, 1.0))
    found = to_polynomial(twin, calibration=rows, margin=MARGIN)
    change, size = compare_outputs(network, found.model, [rows])
    return PolynomialModel(found.model, replace(found.report, largest_change=change, largest_output=size))


@torch.no_grad()
def shrink_(network: ResidualMLP, factors: Tensor) -> None:
    """Divide the channels of the stream by factors (replica, channel), and let the activations undo it."""
    for layer in (network.first, *(block[1] for block in network.blocks)):  # type: ignore[index]
        layer.weight /= factors[..., None].to(layer.weight)
        layer.bias /= factors.to(layer.bias)
    for part in activations_of(network):
        assert isinstance(part, ChebyshevLagrange)
        at = nodes(part.degree, dtype=torch.float64)
        for replica, channel in torch.nonzero(factors != 1.0).tolist():
            heights = part.heights[replica, channel]
            heights.copy_(polynomial(at * factors[replica, channel], heights.double()))
