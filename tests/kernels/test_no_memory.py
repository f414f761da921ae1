"""Tensors that have no memory of their own: a kernel that read their address would end the process."""

import pytest
import torch
from support.kernel_calls import tensors
from torch._subclasses import FakeTensorMode
from torch._vmap_internals import _vmap
from torch.testing._internal.two_tensor import TwoTensor

from chebact import kernels
from chebact.functional import chebyshev_lagrange, weighted_chebyshev

pytestmark = pytest.mark.usefixtures("left_alone")
DEGREES = pytest.mark.parametrize("degree", [3, 5])


@pytest.fixture(autouse=True)
def nothing_fails():
    """No kernel is given up for such a tensor."""
    yield
    assert not kernels.selection._failed


@DEGREES
@pytest.mark.parametrize("calls_before", [0, 1])
def test_zeros_that_torch_does_not_write_down(degree, calls_before):
    x, values = tensors(5, 4, degree=degree)
    x.requires_grad_()
    for _ in range(calls_before):
        chebyshev_lagrange(x, values)
    zeros = torch._efficientzerotensor(5, 4)
    got = torch.autograd.grad(chebyshev_lagrange(x, values), x, zeros)[0]
    torch.testing.assert_close(got, torch.zeros(5, 4), rtol=0, atol=0)
    torch.testing.assert_close(chebyshev_lagrange(zeros, values), chebyshev_lagrange(torch.zeros(5, 4), values))
    none = torch._efficientzerotensor(4, degree + 1)
    torch.testing.assert_close(chebyshev_lagrange(x.detach(), none), torch.zeros(5, 4), rtol=0, atol=0)


@DEGREES
def test_values_and_gradients_that_are_tensors_of_another_class(degree):
    x, values = tensors(5, 4, degree=degree)
    x.requires_grad_()
    y = chebyshev_lagrange(x, values)
    got = chebyshev_lagrange(x, TwoTensor(values, 2 * values))
    torch.testing.assert_close(got.a, y, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(got.b, 2 * y, rtol=1e-5, atol=1e-5)
    (wanted,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
    (slopes,) = torch.autograd.grad(y, x, TwoTensor(torch.ones(5, 4), torch.zeros(5, 4)))
    torch.testing.assert_close(slopes.a, wanted, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(slopes.b, torch.zeros(5, 4), rtol=0, atol=0)


@DEGREES
def test_tensors_that_are_only_pretended(degree):
    x, values = tensors(5, 4, degree=degree)
    before = weighted_chebyshev(x, values)
    for number in (x, torch.nn.Parameter(x.clone())):
        with FakeTensorMode(allow_non_fake_inputs=True):
            for function in (weighted_chebyshev, chebyshev_lagrange):
                assert function(number, values).shape == x.shape
    torch.testing.assert_close(weighted_chebyshev(x, values), before, rtol=0, atol=0)


@DEGREES
def test_older_vmap_without_derivatives(degree):
    x, values = tensors(5, 4, degree=degree)
    wanted = chebyshev_lagrange(x, values)
    several = _vmap(lambda each: chebyshev_lagrange(each, values))(x.expand(3, 5, 4))
    torch.testing.assert_close(several, wanted.expand(3, 5, 4), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(_vmap(lambda row: chebyshev_lagrange(row, values))(x), wanted, rtol=1e-5, atol=1e-5)
