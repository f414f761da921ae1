"""The curvature of learned activations: the integral of P''(x)^2 over the interval, a quadratic form of the heights."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy
import torch
from numpy.polynomial.chebyshev import chebvander
from numpy.polynomial.legendre import leggauss
from torch import nn
from torch.nn.parameter import is_lazy

from chebact.basis import Basis
from chebact.checks import must_be
from chebact.learned import learned_activations

__all__ = ["curvature_form", "curvature_penalty", "curvature_roots"]


def curvature_penalty(model: nn.Module) -> torch.Tensor:
    """The integral of P''(x)^2 over the interval, summed over all learned functions of a model: (), or (replica,).

    There is one function per channel, replica or group. The integral is exact, and zero for straight lines; tails are
    straight and add nothing. Add it to a loss, with a weight, to learn smooth functions; then the heights need no
    weight decay, which pulls them to zero and not to a line. It has derivatives of every order.

    >>> from chebact import ChebyshevLagrange
    >>> net = nn.Sequential(nn.Linear(2, 4), ChebyshevLagrange(4, init=torch.square), nn.Linear(4, 1))
    >>> round(curvature_penalty(net).item(), 4)  # four parabolas x^2: each has P'' = 2, so 4 over an interval of 2
    32.0
    >>> loss = net(torch.ones(5, 2)).abs().mean() + 1e-5 * curvature_penalty(net)
    """
    learned = learned_activations(model).values()
    if any(is_lazy(part.learned) for part in learned):
        raise ValueError("model must not be lazy, got a lazy activation; call chebact.materialize")
    if len({part.replicas for part in learned}) > 1:
        raise ValueError(must_be("replicas", "the same for all activations", [part.replicas for part in learned]))
    total: Any = sum(_integrate(part.learned, part.basis) for part in learned)
    return total  # type: ignore[no-any-return]


def _integrate(heights: torch.Tensor, basis: Basis) -> torch.Tensor:
    """The sum over the rows: heights (row, degree + 1) -> (), (replica, row, degree + 1) -> (replica,)."""
    roots = torch.as_tensor(curvature_roots(basis), dtype=heights.dtype, device=heights.device)
    return (heights @ roots.mT).square().sum(dim=(-2, -1))


@lru_cache(maxsize=64)
def curvature_roots(basis: Basis) -> Any:
    """The matrix L with |L y|^2 = the integral of P''^2 for heights y, float64: (degree or 1, degree + 1).

    P'' has degree `degree` - 2, so Gauss-Legendre quadrature with degree - 1 points is exact for its square.
    """
    points, weights = leggauss(max(1, basis.degree - 1))
    second = basis.derivative().derivative().series
    half = (basis.interval[1] - basis.interval[0]) / 2
    return numpy.sqrt(weights * half)[:, None] * (chebvander(points, basis.degree) @ second)


def curvature_form(basis: Basis) -> Any:
    """The matrix Q with y Q y = the integral of P''^2, float64: (degree + 1, degree + 1). Its gradient is 2 Q y."""
    roots = curvature_roots(basis)
    return roots.T @ roots
