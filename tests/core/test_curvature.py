"""The curvature penalty against mpmath's and numpy.polynomial's integrals of P''^2, and its derivatives."""

import mpmath
import numpy as np
import pytest
import torch
from numpy.polynomial import Polynomial
from torch import nn

from chebact import ChebyshevLagrange, WeightedChebyshev, curvature_penalty, nodes

INTERVALS = [(-1.0, 1.0), (-3.0, 0.5)]


def random_heights(*shape):
    return torch.rand(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(7)) * 2 - 1


def activation(degree, heights, interval=(-1.0, 1.0), **options):
    return ChebyshevLagrange(
        heights.shape[-2], degree=degree, interval=interval, init=heights, dtype=torch.float64, **options
    )


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("degree", [1, 2, 3, 4, 7, 10])
def test_penalty_is_the_integral_of_numpys_polynomial(degree, interval):
    heights = random_heights(3, degree + 1)
    wanted = 0.0
    for row in heights.numpy():
        places = nodes(degree, interval=interval, dtype=torch.float64).numpy()
        fitted = Polynomial.fit(places, row, degree, domain=interval)
        area = (fitted.deriv(2) ** 2).integ()
        wanted += area(interval[1]) - area(interval[0])
    found = curvature_penalty(activation(degree, heights, interval)).item()
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_penalty_of_degree_thirty_is_the_integral_of_mpmath():
    degree = 30
    heights = random_heights(1, degree + 1)
    with mpmath.workdps(60):
        radius = 1 / mpmath.cos(mpmath.pi / (2 * (degree + 1)))
        places = [radius * mpmath.cos((2 * k + 1) * mpmath.pi / (2 * (degree + 1))) for k in range(degree + 1)]
        powers = mpmath.matrix(degree + 1, degree + 1)
        for j, x in enumerate(places):
            for k in range(degree + 1):
                powers[j, k] = x**k
        series = mpmath.lu_solve(powers, mpmath.matrix([mpmath.mpf(y) for y in heights[0].tolist()]))
        second = [k * (k - 1) * series[k] for k in range(2, degree + 1)]
        wanted = sum(
            second[i] * second[j] * 2 / (i + j + 1)
            for i in range(len(second))
            for j in range(len(second))
            if (i + j) % 2 == 0
        )
    assert curvature_penalty(activation(degree, heights)).item() == pytest.approx(float(wanted), rel=1e-9)


def test_weighted_chebyshev_counts_by_its_own_numbers():
    part = WeightedChebyshev(1, degree=2).double()
    with torch.no_grad():
        part.weights.copy_(torch.tensor([[5.0, -3.0, 0.5]]))  # x^2 and a line
    assert curvature_penalty(part).item() == pytest.approx(8.0)


def test_lines_cost_nothing_and_groups_count_once():
    straight = ChebyshevLagrange(4, degree=5, init="identity", dtype=torch.float64)
    assert curvature_penalty(straight).item() == pytest.approx(0.0, abs=1e-12)
    shared = ChebyshevLagrange(4, degree=2, groups=1, init=torch.square)
    assert curvature_penalty(shared).item() == pytest.approx(8.0, rel=1e-5)


def test_replicas_have_one_number_each_and_are_the_networks_alone():
    heights = random_heights(2, 3, 4)
    together = curvature_penalty(nn.Sequential(activation(3, heights, replicas=2), activation(3, heights, replicas=2)))
    alone = [2 * curvature_penalty(activation(3, own)) for own in heights]
    np.testing.assert_allclose(together.detach(), torch.stack(alone).detach(), rtol=1e-12)


def test_derivatives_are_those_of_finite_differences():
    part = activation(4, random_heights(2, 5))

    def penalty(heights):
        return torch.func.functional_call(_Penalty(part), {"part.heights": heights}, ())

    heights = part.heights.detach().clone().requires_grad_()
    assert torch.autograd.gradcheck(penalty, heights)
    assert torch.autograd.gradgradcheck(penalty, heights)


class _Penalty(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part

    def forward(self):
        return curvature_penalty(self.part)


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (3, TypeError, "model must be a torch.nn.Module, got 3"),
        (nn.Linear(1, 1), ValueError, "a module with a learned activation"),
        (ChebyshevLagrange(), ValueError, "lazy activation"),
        (
            nn.Sequential(ChebyshevLagrange(2, replicas=2), ChebyshevLagrange(2)),
            ValueError,
            "replicas must be the same",
        ),
    ],
    ids=["number", "no-shapes", "lazy", "mixed-replicas"],
)
def test_what_has_no_curvature_is_an_error(model, error, words):
    with pytest.raises(error, match=words):
        curvature_penalty(model)
