"""The CPU kernel at every degree around its changes of form, against NumPy's polynomials in float64 and mpmath."""

import numpy
import pytest
import torch
from numpy.polynomial import chebyshev
from support.kernel_calls import needs_cpu_kernel
from support.truth import exact_nodes

from chebact import kernels
from chebact.basis import Basis, basis_of
from chebact.checks import TAILS

UNIT = 2.0**-24
DEGREES = range(4, 18)
INTERVALS = {(-1.0, 1.0): TAILS, (-3.0, 5.1): ("extrapolate",)}


def places_in(degree, interval):
    """Places at random, at and beside nodes, near the ends and near the middle, rounded to float32."""
    draw, (a, b) = numpy.random.default_rng(degree), interval
    nodes = numpy.array([float(node) for node in exact_nodes(degree, interval)], numpy.float32)
    near = (b - a) * numpy.exp(draw.uniform(-16, -1, 60))
    x = [draw.uniform(a, b, 200), (a + b) / 2 - (b - a) / 2 * numpy.cos(draw.uniform(0, numpy.pi, 100))]
    x += [a + near, b - near, (a + b) / 2 + near, (a + b) / 2 - near]
    beside = [numpy.nextafter(nodes, numpy.float32(side)) for side in (-numpy.inf, numpy.inf)]
    x = numpy.concatenate([numpy.concatenate(x).astype(numpy.float32), *beside])
    return x[(x > a) & (x < b) & ~numpy.isin(x, nodes)]


def functions(x, degree, interval):
    """The Lagrange functions and their derivatives at every x, float64: two of (x, degree + 1)."""
    a, b = interval
    nodes = numpy.array([float(node) for node in exact_nodes(degree)])
    weights = numpy.linalg.inv(chebyshev.chebvander(nodes, degree))
    u = ((x.astype(numpy.float64) - a) + (x - numpy.float64(b))) / (b - a)
    slopes = chebyshev.chebder(weights, scl=2 / (b - a))
    return chebyshev.chebvander(u, degree) @ weights, chebyshev.chebvander(u, degree - 1) @ slopes


def adverse_heights(phi, slopes, degree):
    """Heights of size 1: drawn, alternating, and those that make single values and slopes as large as they can be."""
    draw = numpy.random.default_rng(degree)
    worst = numpy.sign(numpy.concatenate([phi[draw.integers(0, len(phi), 8)], slopes[draw.integers(0, len(phi), 8)]]))
    rows = [draw.uniform(-1, 1, (8, degree + 1)), worst, (-1.0) ** numpy.arange(degree + 1)[None]]
    return torch.from_numpy(numpy.concatenate(rows).astype(numpy.float32))


def run(x, grad, heights, basis):
    with kernels.use("cpu"):
        value = kernels.evaluate(x, heights, basis, 0, False)
        return [each.double().numpy() for each in (value, *kernels.gradients(x, grad, heights, basis, 0, False))]


@needs_cpu_kernel
@pytest.mark.parametrize("interval", INTERVALS, ids=str)
@pytest.mark.parametrize("degree", DEGREES)
def test_value_slope_and_sums_are_numpys_for_random_and_adverse_heights(degree, interval):
    x = places_in(degree, interval)
    phi, slopes = functions(x, degree, interval)
    heights = adverse_heights(phi, slopes, degree)
    rows = torch.from_numpy(x).expand(len(heights), -1).contiguous()
    for tails in INTERVALS[interval]:
        basis = basis_of(Basis(degree, tails, interval=interval))
        value, for_x, for_heights = run(rows, torch.ones_like(rows), heights, basis)
        numbers = heights.double().numpy()
        assert abs(value - numbers @ phi.T).max() <= 12 * UNIT  # where 32 are promised
        assert (abs(for_x - numbers @ slopes.T) <= 12 * UNIT * abs(slopes).sum(1)).all()
        assert (abs(for_heights - phi.sum(0)) <= 8 * UNIT * abs(phi).sum(0).max()).all()


@needs_cpu_kernel
@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize(
    ("interval", "tails"), [(each, tails) for each in INTERVALS for tails in INTERVALS[each]], ids=str
)
def test_value_at_a_rounded_node_is_the_height_to_the_last_bit(degree, interval, tails):
    nodes = torch.tensor([float(node) for node in exact_nodes(degree, interval)], dtype=torch.float64).float()
    heights = torch.randn(40, degree + 1, generator=torch.Generator().manual_seed(degree))
    for x in (nodes.expand(40, -1).contiguous(), nodes.expand(40, -1).T.contiguous().T):
        value = run(x, torch.ones_like(x), heights, basis_of(Basis(degree, tails, interval=interval)))[0]
        assert numpy.array_equal(value, heights.double().numpy())


@needs_cpu_kernel
@pytest.mark.parametrize("degree", DEGREES)
def test_one_element_s_share_of_the_gradient_of_the_heights_is_numpys(degree):
    """No other element's rounding errors hide those of one."""
    x = places_in(degree, (-1.0, 1.0))[:, None]
    phi, _ = functions(x[:, 0], degree, (-1.0, 1.0))
    rows, heights = torch.from_numpy(x), torch.zeros(len(x), degree + 1)
    for_heights = run(rows, torch.ones_like(rows), heights, basis_of(Basis(degree)))[2]
    assert (abs(for_heights - phi).max(1) <= 8 * UNIT * abs(phi).max(1)).all()
