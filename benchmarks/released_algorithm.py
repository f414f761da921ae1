"""The paper's own way to compute its activations, algorithms 1 and 2 of its appendix written out as they stand.

Every element of the input meets every node: the differences fill a tensor of shape (N, C, n+1, n, S), whose product
along the axis of length n gives the Lagrange bases. It is the yardstick for speed, and a truth that shares no
code with chebact.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class ReleasedActivation(nn.Module):
    """`degree` + 1 learned heights a channel; `tails` is "none", "regression" or "extrapolate".

    x is (N, C) or (N, C, ...); the result has the shape of x.
    """

    nodes: Tensor
    numerator: Tensor
    denominator: Tensor
    slopes: Tensor

    def __init__(self, channels: int, degree: int = 3, tails: str = "extrapolate", regression_nodes: int = 2) -> None:
        super().__init__()
        self.tails = tails
        self.heights = nn.Parameter(torch.zeros(channels, degree + 1))
        nodes = scaled_chebyshev_nodes(degree)
        numerator = without_diagonal(nodes.expand(degree + 1, degree + 1))
        denominator = (nodes.unsqueeze(1) - numerator).prod(dim=-1)
        slopes = {
            "none": torch.zeros(2, degree + 1),
            "extrapolate": torch.stack([base_slopes(numerator, denominator, end) for end in (-1.0, 1.0)]),
            "regression": torch.stack([fitted_slopes(nodes, end, regression_nodes) for end in (-1.0, 1.0)]),
        }[tails]
        constants = {"nodes": nodes, "numerator": numerator, "denominator": denominator, "slopes": slopes}
        for name, value in constants.items():
            self.register_buffer(name, value.to(torch.get_default_dtype()), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        v = x.reshape(x.shape[0], x.shape[1], -1)
        inside = self.polynomial(v)
        if self.tails == "none":
            return inside.reshape(x.shape)
        left, right = (self.line(v, end) for end in (-1, 1))
        is_left, is_right = (v < -1).to(v.dtype), (v > 1).to(v.dtype)
        is_inside = 1 - is_left - is_right
        return (is_left * left + is_inside * inside + is_right * right).reshape(x.shape)

    def polynomial(self, v: Tensor) -> Tensor:
        """Algorithm 1: (N, C, S) -> (N, C, S) by way of (N, C, n+1, n, S)."""
        differences = v[:, :, None, None, :] - self.numerator[None, None, :, :, None]
        bases = differences.prod(dim=3) / self.denominator[None, None, :, None]
        return (self.heights[None, :, :, None] * bases).sum(dim=2)

    def line(self, v: Tensor, end: int) -> Tensor:
        """The straight piece that joins the polynomial at one end: m v + (y - m x)."""
        node = -1 if end < 0 else 0
        slope = (self.heights * self.slopes[0 if end < 0 else 1]).sum(dim=1)
        height = self.heights[:, node] - slope * self.nodes[node]
        return slope[None, :, None] * v + height[None, :, None]


class ReleasedSlope(ReleasedActivation):
    """Algorithm 2 at every element of x (N, C), not only at the ends: the polynomial's derivative.

    The differences fill a tensor of shape (N, C, n+1, n, n-1).
    """

    def forward(self, x: Tensor) -> Tensor:
        return (self.heights * base_slopes(self.numerator, self.denominator, x[..., None, None, None])).sum(dim=-1)


def scaled_chebyshev_nodes(degree: int) -> Tensor:
    """x_1 = 1 down to x_{n+1} = -1, in float64."""
    angles = (2 * torch.arange(1, degree + 2, dtype=torch.float64) - 1) * math.pi / (2 * (degree + 1))
    return torch.cos(angles) / math.cos(math.pi / (2 * (degree + 1)))


def without_diagonal(square: Tensor) -> Tensor:
    """Drop the diagonal of the last two axes: (..., m, m) -> (..., m, m-1)."""
    size = square.shape[-1]
    kept = ~torch.eye(size, dtype=torch.bool)
    return square[..., kept].reshape(*square.shape[:-1], size - 1)


def base_slopes(numerator: Tensor, denominator: Tensor, place: float | Tensor) -> Tensor:
    """Algorithm 2: the derivative of every Lagrange basis at one place, (n+1,).

    Several places are a tensor (..., 1, 1, 1), and the result is (..., n+1).
    """
    count, degree = numerator.shape
    others = without_diagonal(numerator.unsqueeze(1).expand(count, degree, degree))
    return (place - others).prod(dim=-1).div(denominator.unsqueeze(1)).sum(dim=-1)


def fitted_slopes(nodes: Tensor, end: float, count: int) -> Tensor:
    """Weights that give Cov(x, y) / Var(x) over the `count` nodes nearest to one end, (n+1,)."""
    chosen = slice(0, count) if end > 0 else slice(len(nodes) - count, len(nodes))
    centred = nodes[chosen] - nodes[chosen].mean()
    weights = torch.zeros_like(nodes)
    weights[chosen] = centred / centred.square().sum()
    return weights
