"""The compiled range penalty against its definition in plain torch: values, gradients and every way to ask for them."""

import pytest
import torch
from torch.autograd import grad

import chebact
from chebact import ChebyshevLagrange
from chebact.kernels import use
from chebact.ranges.excess import excess_penalty
from chebact.ranges.scan import scan_for

MARGIN = 0.2


def drawn(*shape, scale=1.0, dtype=torch.float64):
    return (scale * torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)).to(dtype)


def penalty_of(activation, x, weight=1.0):
    with chebact.range_penalty(activation, MARGIN, weight=weight) as penalty:
        result = activation(x)
    return result, penalty.value()


SHAPES = [
    ((5, 3), {}),
    ((64, 37), {}),
    ((3, 7, 5), {"channel_dim": 1}),
    ((3, 5, 7, 19), {}),
    ((4, 33, 17, 16), {}),
    ((2, 1, 300), {"channel_dim": 1}),
    ((3, 40, 5), {"replicas": 3}),
    ((2, 3, 6, 5, 4), {"replicas": 2}),
    ((9, 4, 3), {"groups": 1}),
    ((700, 2, 70), {"channel_dim": 1}),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("shape", "options"), SHAPES)
@pytest.mark.parametrize("interval", [(-1.0, 1.0), (-0.5, 3.0)])
def test_value_and_gradient_are_those_of_the_definition(shape, options, interval, dtype):
    first = int("replicas" in options)
    channels = {} if "groups" in options else {"channels": shape[first + 1]}
    activation = ChebyshevLagrange(**channels, **options, interval=interval, dtype=dtype)
    x = drawn(*shape, scale=0.9, dtype=dtype).requires_grad_()
    assert scan_for(activation, x, MARGIN) is not None
    axis = None if "groups" in options else first + 1
    expected = excess_penalty(x, interval, MARGIN, axis, bool(first))
    _, value = penalty_of(activation, x)
    bound = {"rtol": 1e-5 if dtype == torch.float32 else 1e-13, "atol": 1e-12}
    torch.testing.assert_close(value, expected, **bound)
    torch.testing.assert_close(grad(value, x), grad(expected, x), **{**bound, "atol": 1e-8})


@pytest.mark.parametrize("layout", ["channels_last", "permuted", "gaps"])
def test_other_layouts(layout):
    x = drawn(4, 6, 20, 18)
    if layout == "channels_last":
        x = x.to(memory_format=torch.channels_last)
    elif layout == "permuted":
        x = x.transpose(2, 3)
    else:
        x = x[:, :, :, ::2]
    x = x.requires_grad_()
    _, value = penalty_of(ChebyshevLagrange(6, dtype=torch.float64), x)
    expected = excess_penalty(x, (-1.0, 1.0), MARGIN, 1, False)
    torch.testing.assert_close((value, *grad(value, x)), (expected, *grad(expected, x)), rtol=1e-13, atol=1e-15)


def test_the_bits_do_not_depend_on_the_threads():
    activation, x = ChebyshevLagrange(32), drawn(32, 32, 16, 16, dtype=torch.float32).requires_grad_()
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            result, value = penalty_of(activation, x)
            found.append((value, *grad(result.sum() + value, x)))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])


def test_the_gradient_is_added_to_that_of_the_activation():
    activation, x = ChebyshevLagrange(5, init="gelu", dtype=torch.float64), drawn(8, 5).requires_grad_()
    result, value = penalty_of(activation, x, weight=3.0)
    loss = result.square().sum() + value
    inputs = (x, activation.heights)
    expected = grad(activation(x).square().sum() + 3.0 * excess_penalty(x, (-1.0, 1.0), MARGIN, 1, False), inputs)
    for _ in range(2):  # the graph is used again
        torch.testing.assert_close(grad(loss, inputs, retain_graph=True), expected, rtol=1e-12, atol=1e-15)
    again = grad(loss, inputs, create_graph=True)
    torch.testing.assert_close(again, expected, rtol=1e-12, atol=1e-15)
    several = grad(loss, inputs, torch.tensor([1.0, 2.0], dtype=torch.float64), is_grads_batched=True)
    torch.testing.assert_close(several[0][1], 2 * expected[0], rtol=1e-12, atol=1e-15)


def test_with_nothing_outside_the_gradient_is_zero_and_there():
    activation, x = ChebyshevLagrange(3), torch.full((4, 3), 0.5, requires_grad=True)
    result, value = penalty_of(activation, x)
    assert value.item() == 0.0
    assert torch.equal(grad(value, x, retain_graph=True)[0], torch.zeros(4, 3))
    torch.testing.assert_close(grad(result.sum() + value, x), grad(activation(x).sum(), x), rtol=0, atol=0)


@pytest.mark.parametrize("shape", [(40, 3), (2, 3, 33)])
@pytest.mark.parametrize("number", [torch.nan, torch.inf])
def test_what_is_not_finite_is_not_hidden(shape, number):
    x = torch.zeros(shape)
    for place in (0, -1):
        each = x.clone()
        each.view(-1)[place] = number
        _, value = penalty_of(ChebyshevLagrange(3, channel_dim=1), each.requires_grad_())
        assert not value.isfinite()


def test_a_requested_kernel_is_used_and_agrees():
    activation, x = ChebyshevLagrange(5), drawn(8, 5, dtype=torch.float32).requires_grad_()
    with use("reference"):
        assert scan_for(activation, x, MARGIN) is None
        expected = penalty_of(activation, x)[1]
    with use("cpu"):
        torch.testing.assert_close(penalty_of(activation, x)[1], expected, rtol=1e-6, atol=0)


def test_the_margin_stays_and_the_weight_may_change():
    activation, x = ChebyshevLagrange(5), drawn(8, 5, dtype=torch.float32).requires_grad_()
    penalty = chebact.range_penalty(activation, MARGIN, weight=1.0)
    with penalty:
        activation(x)
    once = penalty.value().item()
    penalty.weight = 2.0
    assert penalty.value().item() == pytest.approx(2 * once)
    with pytest.raises(AttributeError):
        penalty.margin = 0.5
