"""Interpolation for people, against numpy.polynomial, mpmath and the paper's equation (1)."""

import math

import numpy
import pytest
import torch
from mpmath import mp, mpf
from numpy.polynomial import chebyshev
from support.truth import end_slope_weights, exact_nodes, exact_polynomial, regression_weights

from chebact import coefficients_to_values, end_slopes, error_bound, nodes, polynomial, values_to_coefficients

DEGREES = [1, 2, 3, 5, 10, 30, 100]
INTERVALS = [(-1.0, 1.0), (0.0, 1.0), (-3.0, 5.0)]


def heights(degree, *leading):
    return (
        torch.rand(*leading, degree + 1, dtype=torch.float64, generator=torch.Generator().manual_seed(degree)) * 2 - 1
    )


@pytest.mark.parametrize("degree", DEGREES)
def test_coefficients_to_values_is_numpy_s_chebval_at_the_nodes(degree):
    c = heights(degree, 2, 3)
    wanted = chebyshev.chebval(nodes(degree).numpy(), numpy.moveaxis(c.numpy(), -1, 0))
    numpy.testing.assert_allclose(coefficients_to_values(c).numpy(), wanted, atol=1e-12 * degree)


@pytest.mark.parametrize("degree", DEGREES)
def test_values_to_coefficients_is_numpy_s_chebfit_through_the_nodes(degree):
    y = heights(degree, 4)
    wanted = chebyshev.chebfit(nodes(degree).numpy(), y.numpy().T, degree).T
    numpy.testing.assert_allclose(values_to_coefficients(y).numpy(), wanted, atol=1e-12 * degree)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_values_and_coefficients_keep_type_and_go_round(dtype):
    y = heights(7, 5).to(dtype)
    back = coefficients_to_values(values_to_coefficients(y))
    assert back.dtype == dtype
    assert back.shape == y.shape
    torch.testing.assert_close(back, y, atol=8 * torch.finfo(dtype).eps, rtol=0)


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("degree", [1, 2, 3, 5, 10])
def test_polynomial_and_every_derivative_are_numpy_s(degree, interval):
    y = heights(degree)
    a, b = interval
    series = chebyshev.Chebyshev(chebyshev.chebfit(nodes(degree).numpy(), y.numpy(), degree), domain=interval)
    x = torch.linspace(a, b, 41, dtype=torch.float64)
    for order in range(degree + 2):
        wanted = series.deriv(order)(x.numpy()) if order else series(x.numpy())
        scale = max(1.0, float(numpy.abs(wanted).max()), degree ** (2 * min(order, degree)) * (2 / (b - a)) ** order)
        got = polynomial(x, y, derivative=order, interval=interval)
        numpy.testing.assert_allclose(got.numpy(), wanted, atol=2e-12 * scale, err_msg=f"derivative {order}")


@pytest.mark.parametrize("degree", [2, 3, 5, 10])
def test_polynomial_outside_the_interval_is_numpy_s_series(degree):
    y = heights(degree)
    series = chebyshev.Chebyshev(chebyshev.chebfit(nodes(degree).numpy(), y.numpy(), degree))
    x = torch.tensor([-4.0, -1.5, -1.0001, 1.0001, 2.0, 7.0], dtype=torch.float64)
    numpy.testing.assert_allclose(polynomial(x, y).numpy(), series(x.numpy()), rtol=1e-11, atol=1e-12)
    numpy.testing.assert_allclose(polynomial(x, y, derivative=1).numpy(), series.deriv()(x.numpy()), rtol=1e-10)


def test_polynomial_keeps_any_shape_and_can_be_differentiated():
    x = torch.randn(2, 1, 3, dtype=torch.float64, requires_grad=True)
    y = heights(4).requires_grad_()
    assert polynomial(x, y).shape == x.shape
    assert polynomial(torch.tensor(0.25), torch.tensor([1.0, -1.0])).shape == ()
    assert torch.autograd.gradcheck(polynomial, (x, y))


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("degree", DEGREES)
def test_end_slopes_are_mpmath_s(degree, interval):
    y = heights(degree)
    for got, end in zip(end_slopes(y, interval=interval), (-1, 0), strict=True):
        weights = end_slope_weights(degree, end, interval)
        size = mp.fsum(abs(w * mpf(v)) for w, v in zip(weights, y.tolist(), strict=True))
        assert abs(mpf(got.item()) - mp.fdot(weights, [mpf(v) for v in y.tolist()])) <= 1e-14 * size


@pytest.mark.parametrize(("degree", "count"), [(1, 2), (3, 2), (3, 3), (3, 4), (10, 5), (30, 31)])
def test_regression_slopes_are_numpy_s_polyfit_and_the_paper_s_covariance(degree, count):
    y = heights(degree, 3)
    x = numpy.array([float(v) for v in exact_nodes(degree)])
    left, right = end_slopes(y, tails="regression", regression_nodes=count)
    for got, part, end in ((left, slice(degree + 1 - count, None), -1), (right, slice(count), 0)):
        fitted = numpy.polyfit(x[part], y.numpy()[:, part].T, 1)[0]
        numpy.testing.assert_allclose(got.numpy(), fitted, rtol=1e-9, atol=1e-10)
        covariance = [numpy.cov(x[part], row[part])[0, 1] / numpy.var(x[part], ddof=1) for row in y.numpy()]
        numpy.testing.assert_allclose(got.numpy(), covariance, rtol=1e-9, atol=1e-10)
        exact = y.numpy() @ numpy.array([float(w) for w in regression_weights(degree, count, end)])
        numpy.testing.assert_allclose(got.numpy(), exact, rtol=1e-12, atol=1e-13)


def test_end_slopes_of_a_straight_line_are_its_slope():
    line = 3 * nodes(9, interval=(2.0, 6.0)) - 1
    for tails, count in (("extrapolate", 2), ("regression", 2), ("regression", 10)):
        left, right = end_slopes(line, tails=tails, regression_nodes=count, interval=(2.0, 6.0))
        assert (left.item(), right.item()) == pytest.approx((3.0, 3.0), rel=1e-11)


def derivative_of_runge(n):
    """A bound of the n-th derivative of 1 / (1 + 25 x^2), reached at 0 for even n: 5^n n!."""
    return 5.0**n * math.factorial(n)


FUNCTIONS = {
    "sin": (mp.sin, lambda n: 1.0),
    "exp": (mp.exp, lambda n: math.e),
    "Runge": (lambda x: 1 / (1 + 25 * x * x), derivative_of_runge),
}


@pytest.mark.parametrize("degree", [1, 2, 3, 5, 8, 12])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_bound_holds_for_the_actual_interpolation_error(name, degree):
    function, derivative = FUNCTIONS[name]
    y = [function(x) for x in exact_nodes(degree)]
    places = [mpf(k) / 100 for k in range(-100, 101)]
    worst = max(abs(exact_polynomial(x, y) - function(x)) for x in places)
    bound = error_bound(degree, derivative(degree + 1))
    assert worst <= bound * (1 + 1e-12)
    if name != "Runge":
        assert worst >= bound / 60  # and it is not idle


@pytest.mark.parametrize("degree", [1, 2, 3, 10, 30])
def test_error_bound_is_the_paper_s_equation_1_and_its_stretched_form(degree):
    n = degree + 1
    printed = 2.5 / (2 ** (n - 1) * math.factorial(n))
    assert error_bound(degree, 2.5, stretched=False) == pytest.approx(printed, rel=1e-13)
    assert error_bound(degree, 2.5) == pytest.approx(printed / math.cos(math.pi / (2 * n)) ** n, rel=1e-13)
    assert error_bound(degree, 2.5, interval=(1.0, 5.0)) == pytest.approx(error_bound(degree, 2.5) * 2**n, rel=1e-13)
    assert error_bound(degree, 0.0) == 0.0


def test_the_stretched_bound_is_reached_by_the_monomial():
    """For x^n the n-th derivative is n! everywhere, and the error is the node polynomial, largest where T_n is 1."""
    degree, n = 3, 4
    y = [x**n for x in exact_nodes(degree)]
    worst = max(abs(exact_polynomial(mpf(k) / 1000, y) - (mpf(k) / 1000) ** n) for k in range(-1000, 1001))
    assert error_bound(degree, math.factorial(n)) == pytest.approx(float(worst), rel=1e-5)


def test_error_bound_underflows_to_zero_and_refuses_to_overflow():
    assert error_bound(1000, 1.0) == 0.0
    assert error_bound(1000, 1e308, interval=(-1e29, 1e29)) == math.inf
