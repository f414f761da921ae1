"""to_sympy against mpmath: intervals away from 0 and high degrees, where powers of x would lose all digits."""

import numpy
import pytest
import torch
from support.convolutional_networks import Forward
from support.other_models import filled
from support.truth import end_slope_weights, exact_derivative, exact_polynomial
from torch import nn
from torch.nn import functional as F

import chebact
from chebact import ChebyshevLagrange

sympy = pytest.importorskip("sympy", reason="sympy is not installed")

INTERVALS = [(-1.0, 1.0), (0.0, 6.0), (1000.0, 1001.0), (-2.0, 1.0), (1000.1, 1001.3), (100000.1, 100000.7)]


def points(interval):
    a, b = interval
    inside = numpy.random.default_rng(0).uniform(a, b, 12)
    return numpy.concatenate([[a, b], inside, b - (b - a) * numpy.array([1e-3, 1e-6])])


def curve(degree, interval, tails="none"):
    return filled(ChebyshevLagrange(1, degree=degree, interval=interval, tails=tails, dtype=torch.float64))


def heights_of(activation):
    return activation.heights[0].tolist()


def largest_difference(got, wanted):
    return max(abs(float(a - b)) for a, b in zip(got.tolist(), wanted, strict=True))


@pytest.mark.parametrize("interval", INTERVALS, ids=str)
@pytest.mark.parametrize("degree", range(1, 31))
def test_the_expression_of_a_channel_is_mpmath_s_polynomial_to_1e_12(degree, interval):
    activation, x = curve(degree, interval), points(interval)
    heights = heights_of(activation)
    wanted = [exact_polynomial(each, heights, interval) for each in x.tolist()]
    expression = activation.to_sympy()
    size = max(map(abs, heights))
    assert largest_difference(sympy.lambdify("x", expression, "numpy")(x), wanted) < 1e-12 * size
    assert abs(float(expression.subs("x", float(x[5])) - wanted[5])) < 1e-12 * size


@pytest.mark.parametrize("interval", INTERVALS, ids=str)
@pytest.mark.parametrize("degree", [1, 3, 7, 16])
def test_the_lines_of_a_channel_are_mpmath_s_to_1e_12(degree, interval):
    activation, (a, b) = curve(degree, interval, "extrapolate"), interval
    heights, function = heights_of(activation), sympy.lambdify("x", activation.to_sympy(), "numpy")
    for end, bound, sign in ((0, b, 1), (-1, a, -1)):
        slope = sum(w * h for w, h in zip(end_slope_weights(degree, end, interval), heights, strict=True))
        for x in (bound + sign * (b - a) * 0.3, bound + sign * (b - a) * 5):
            wanted = heights[end] + slope * (x - bound)
            assert abs(float(float(function(x)) - wanted)) < 1e-12 * max(1.0, abs(float(wanted)), abs(float(slope)))


@pytest.mark.parametrize("interval", INTERVALS, ids=str)
@pytest.mark.parametrize("degree", [2, 3, 7, 16, 30])
def test_the_derivative_of_the_expression_is_mpmath_s(degree, interval):
    activation, x = curve(degree, interval), points(interval)
    heights = heights_of(activation)
    wanted = [exact_derivative(each, heights, 1, interval) for each in x.tolist()]
    got = sympy.lambdify("x", activation.to_sympy().diff("x"), "numpy")(x)
    bound = 2 * degree**2 / (interval[1] - interval[0]) * max(map(abs, heights))  # Markov's, of the largest slope
    far = abs(sum(interval)) / (
        interval[1] - interval[0]
    )  # SymPy makes 2 x - 2000 of 2 (x - 1000) when it differentiates
    assert largest_difference(numpy.broadcast_to(got, x.shape), wanted) < (1e-12 + 8 * 2.0**-53 * far) * bound


@pytest.mark.parametrize("degree", [3, 17])
def test_sympy_prints_the_expression_in_c_and_latex(degree):
    expression = curve(degree, (1000.0, 1001.0), "extrapolate").to_sympy()
    assert "ot supported" not in sympy.ccode(expression)
    assert r"\begin{cases}" in sympy.latex(expression)


@pytest.mark.parametrize("tails", ["none", "extrapolate"])
@pytest.mark.parametrize("degree", [3, 7, 16])
def test_the_expression_of_a_network_is_mpmath_s_to_1e_12(degree, tails):
    activation, interval = curve(degree, (1000.0, 1001.0), tails), (1000.0, 1001.0)
    first, last = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    nn.init.ones_(first.weight)
    nn.init.constant_(last.weight, 0.75)
    (output,) = chebact.to_sympy(nn.Sequential(first, activation, last).double())
    x, heights = points(interval), heights_of(activation)
    wanted = [0.75 * exact_polynomial(each, heights, interval) for each in x.tolist()]
    got = sympy.lambdify("x0", output, "numpy")(x)
    assert largest_difference(got, wanted) < 1e-12 * max(map(abs, heights))


def test_two_hidden_layers_of_eight_have_the_outputs_of_torch():
    """SymPy wrote the cases of a Piecewise of Piecewise out, which ended in a RecursionError."""
    torch.manual_seed(0)
    layers = [nn.Linear(2, 8), ChebyshevLagrange(8), nn.Linear(8, 8), ChebyshevLagrange(8), nn.Linear(8, 1)]
    network = nn.Sequential(*layers).double()
    (output,) = chebact.to_sympy(network)
    assert sympy.count_ops(output) < 10_000
    x = torch.randn(20, 2, dtype=torch.float64) * 3
    wanted = network(x)[:, 0]
    got = sympy.lambdify(["x0", "x1"], output, "numpy")(*x.numpy().T)
    numpy.testing.assert_allclose(got, wanted.detach().numpy(), rtol=0, atol=1e-12)


def test_the_slopes_of_a_network_by_the_names_of_its_inputs_are_autograd_s():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(2, 4), ChebyshevLagrange(4), nn.Linear(4, 1)).double()
    (output,) = chebact.to_sympy(network)
    x = (torch.randn(20, 2, dtype=torch.float64) * 3).requires_grad_()
    (slopes,) = torch.autograd.grad(network(x).sum(), x)
    for index in (0, 1):
        slope = sympy.lambdify(["x0", "x1"], output.diff(f"x{index}"), "numpy")(*x.detach().numpy().T)
        numpy.testing.assert_allclose(slope, slopes[:, index].numpy(), rtol=0, atol=1e-12)


ODD_OR_EVEN = (torch.tanh, torch.abs, F.softsign, F.tanhshrink, torch.sin, torch.cos, F.gelu)


@pytest.mark.parametrize("bias", [True, False])
def test_odd_and_even_functions_of_sums_with_any_signs_are_torch_s(bias):
    """Half of all sums ended in a RecursionError: SymPy took their sign out without an end. Each row is a sum."""
    torch.manual_seed(0)
    network = Forward(
        lambda own, x: torch.cat([function(own.line(x)) for function in ODD_OR_EVEN], 1), line=nn.Linear(2, 20, bias)
    ).double()
    outputs, x = chebact.to_sympy(network), torch.tensor([0.3, -1.7], dtype=torch.float64)
    got = sympy.lambdify(["x0", "x1"], outputs, "math")(*x.tolist())
    numpy.testing.assert_allclose(got, network(x.unsqueeze(0))[0].detach().numpy(), rtol=0, atol=1e-14)
    derivative = sympy.lambdify(["x0", "x1"], outputs[0].diff("x0"), "math")(*x.tolist())  # SymPy evaluates again
    slope = (1 - got[0] ** 2) * network.line.weight[0, 0].item()
    assert abs(derivative - slope) < 1e-12


def test_two_layers_of_an_odd_function_are_torch_s():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1)).double()
    (output,), x = chebact.to_sympy(network), torch.tensor([[0.3, -1.7]], dtype=torch.float64)
    got = sympy.lambdify(["x0", "x1"], output, "math")(*x[0].tolist())
    assert abs(got - network(x).item()) < 1e-14
