"""Number types: four are served, low ones as float32 rounded once; every other one raises."""

import warnings

import pytest
import torch

import chebact
from chebact.functional import chebyshev_lagrange, weighted_chebyshev

SERVED = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
LOW = [torch.bfloat16, torch.float16]
TYPES = sorted({t for t in vars(torch).values() if isinstance(t, torch.dtype)}, key=str)
REFUSED = [t for t in TYPES if t not in SERVED]
DEGREES = [1, 3, 8]


def drawn(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(3)) * 2


def of_type(dtype, *shape):
    """Zeros of any type, or a skip where torch itself cannot make them."""
    try:
        with warnings.catch_warnings(action="ignore"):  # torch says of some types that they are new or going
            return torch.empty(*shape, dtype=dtype)
    except (RuntimeError, NotImplementedError, TypeError):
        return pytest.skip(f"torch makes no tensor of {dtype}")


@pytest.mark.parametrize("dtype", SERVED)
@pytest.mark.parametrize("degree", DEGREES)
def test_result_and_gradients_have_the_types_that_came(degree, dtype, kernel):
    x, values = drawn(5, 3).to(dtype).requires_grad_(), drawn(3, degree + 1).to(dtype).requires_grad_()
    y = chebyshev_lagrange(x, values)
    y.sum().backward()
    assert (y.dtype, x.grad.dtype, values.grad.dtype) == (dtype, dtype, dtype)
    assert bool(torch.isfinite(y).all())


@pytest.mark.parametrize("value_type", [torch.float32, "same"])
@pytest.mark.parametrize("tails", ["extrapolate", "regression"])
@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("dtype", LOW)
def test_low_types_are_the_float32_result_rounded_once(dtype, degree, tails, value_type, kernel):
    x, values = drawn(40, 3).to(dtype), drawn(3, degree + 1)
    values = values.to(dtype) if value_type == "same" else values
    exact = chebyshev_lagrange(x.float(), values.float(), tails=tails)
    assert torch.equal(chebyshev_lagrange(x, values, tails=tails), exact.to(dtype))


@pytest.mark.parametrize("dtype", LOW)
def test_gradients_of_low_types_are_the_float32_gradients_rounded_once(dtype, kernel):
    x, values, weight = drawn(40, 3).to(dtype), drawn(3, 4).to(dtype), drawn(40, 3).to(dtype)

    def gradients(to):
        leaves = x.to(to).requires_grad_(), values.to(to).requires_grad_()
        return torch.autograd.grad(chebyshev_lagrange(*leaves), leaves, weight.to(to))

    for got, wanted in zip(gradients(dtype), gradients(torch.float32), strict=True):
        assert torch.equal(got, wanted.to(dtype))


@pytest.mark.parametrize("dtype", LOW)
def test_sums_for_the_values_do_not_stall_in_low_types(dtype, kernel):
    x = torch.zeros(4096, 1, dtype=dtype)
    values = torch.zeros(1, 3, dtype=dtype, requires_grad=True)
    chebyshev_lagrange(x, values).sum().backward()
    assert values.grad[0, 1].item() == 4096  # a running sum in bfloat16 would stop at 256


@pytest.mark.parametrize(("x_type", "value_type"), [(torch.float32, torch.float64), (torch.float64, torch.float32)])
def test_mixed_types_compute_in_the_wider_and_come_out_as_x(x_type, value_type, kernel):
    x, values = drawn(9, 3).to(x_type).requires_grad_(), drawn(3, 4).to(value_type).requires_grad_()
    y = chebyshev_lagrange(x, values)
    assert torch.equal(y, chebyshev_lagrange(x.double(), values.double()).to(x_type))
    y.sum().backward()
    assert (x.grad.dtype, values.grad.dtype) == (x_type, value_type)


@pytest.mark.parametrize("dtype", REFUSED, ids=str)
def test_every_other_type_of_x_raises_type_error_with_its_name(dtype):
    x = of_type(dtype, 2, 3)
    for call in (
        lambda: chebyshev_lagrange(x, torch.zeros(3, 4)),
        lambda: weighted_chebyshev(x, torch.zeros(3, 4)),
        lambda: chebact.ChebyshevLagrange(3)(x),
        lambda: chebact.ChebyshevLagrange()(x),
        lambda: chebact.WeightedChebyshev(3)(x),
        lambda: chebact.PrototypeSimilarity(3)(x),
        lambda: chebact.polynomial(x, torch.zeros(4)),
    ):
        with pytest.raises(TypeError) as raised:
            call()
        assert "x must" in str(raised.value)
        assert str(dtype) in str(raised.value)


@pytest.mark.parametrize("dtype", REFUSED, ids=str)
def test_every_other_type_of_values_raises_type_error_with_its_name(dtype):
    values, row = of_type(dtype, 3, 4), of_type(dtype, 4)
    calls = {
        "heights": (lambda: chebyshev_lagrange(torch.zeros(2, 3), values),),
        "values": (
            lambda: chebact.polynomial(torch.zeros(2), row),
            lambda: chebact.values_to_coefficients(values),
            lambda: chebact.end_slopes(values),
        ),
        "weights": (lambda: weighted_chebyshev(torch.zeros(2, 3), values),),
        "coefficients": (lambda: chebact.coefficients_to_values(values),),
        "dtype": (
            lambda: chebact.ChebyshevLagrange(3, dtype=dtype),
            lambda: chebact.WeightedChebyshev(3, dtype=dtype),
            lambda: chebact.PrototypeSimilarity(3, dtype=dtype),
            lambda: chebact.nodes(3, dtype=dtype),
        ),
    }
    for name, group in calls.items():
        for call in group:
            with pytest.raises(TypeError) as raised:
                call()
            assert f"{name} must" in str(raised.value)
            assert str(dtype) in str(raised.value)


@pytest.mark.usefixtures("bfloat16_products")
@pytest.mark.parametrize("name", chebact.ACTIVATIONS)
def test_autocast_on_the_cpu_trains_and_keeps_float32_gradients(name):
    net = torch.nn.Sequential(torch.nn.Linear(4, 6), chebact.make_activation(name, 6), torch.nn.Linear(6, 1))
    x = drawn(8, 4)
    with torch.autocast("cpu", torch.bfloat16):
        out = net(x)
    assert out.dtype == torch.bfloat16
    out.float().sum().backward()
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in net.parameters())


def test_under_autocast_bfloat16_x_is_float32_rounded_once(kernel):
    layer, x = chebact.ChebyshevLagrange(3, init="gelu"), drawn(20, 3).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        y, kept = layer(x), layer(x.float())
    assert torch.equal(y, layer(x.float()).bfloat16())
    assert torch.equal(kept, layer(x.float()))  # a float32 x is not pulled down


@pytest.mark.parametrize("dtype", SERVED)
@pytest.mark.parametrize("name", chebact.ACTIVATIONS)
def test_every_activation_runs_in_every_served_type(name, dtype):
    layer = chebact.make_activation(name, 3).to(dtype)
    x = drawn(4, 3).to(dtype)
    assert layer(x).dtype == dtype
