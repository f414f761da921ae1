"""Derivatives of every order and mode, against a plain torch implementation that shares nothing with the library."""

import itertools

import pytest
import torch
from support.truth import torch_activation, torch_chebyshev_sum
from torch.autograd import forward_ad
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

import chebact
from chebact.checks import TAILS
from chebact.functional import chebyshev_lagrange, weighted_chebyshev

DEGREES = [1, 3, 4, 9]
EVERY = pytest.mark.parametrize(("degree", "tails"), list(itertools.product(DEGREES, TAILS)))


@pytest.fixture
def pair(kernel, degree, tails):
    """The library's function of (x, values) and the plain one, with x of shape (..., 3)."""
    return (
        lambda x, values: chebyshev_lagrange(x, values, tails=tails, channel_dim=-1),
        lambda x, values: torch_activation(x, values, tails),
    )


def drawn(*shape, seed=0, reach=1.6):
    """Numbers on both sides of the ends and none on a node or an end."""
    return (torch.rand(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) * 2 - 1) * reach


def inputs(degree, rows=4, **choices):
    return drawn(rows, 3, **choices), drawn(3, degree + 1, seed=1)


def close(got, wanted):
    torch.testing.assert_close(got, wanted, rtol=1e-8, atol=1e-8)


@EVERY
@pytest.mark.parametrize(("x_needs", "values_need"), [(True, True), (True, False), (False, True)])
def test_gradcheck_of_torch_forward_reverse_and_batched(pair, degree, x_needs, values_need):
    x, values = inputs(degree, rows=1)
    leaves = (x.requires_grad_(x_needs), values.requires_grad_(values_need))
    assert torch.autograd.gradcheck(pair[0], leaves, check_forward_ad=True, fast_mode=True)
    assert torch.autograd.gradcheck(
        pair[0], leaves, check_batched_grad=True, check_batched_forward_grad=True, check_forward_ad=True
    )


@EVERY
@pytest.mark.parametrize(("x_needs", "values_need"), [(True, True), (True, False), (False, True)])
def test_gradgradcheck_of_torch_with_forward_over_reverse(pair, degree, x_needs, values_need):
    x, values = inputs(degree, rows=2)
    leaves = (x.requires_grad_(x_needs), values.requires_grad_(values_need))
    checks = {"check_fwd_over_rev": True, "check_rev_over_rev": True, "fast_mode": True}
    assert torch.autograd.gradgradcheck(pair[0], leaves, **checks, atol=1e-4)


@EVERY
def test_first_to_third_reverse_derivatives_are_plain_torch_s(pair, degree):
    for x_needs, values_need in ((True, True), (True, False), (False, True)):
        results = []
        for function in pair:
            x, values = inputs(degree)
            leaves = [t.requires_grad_() for t, need in ((x, x_needs), (values, values_need)) if need]
            out, orders = (function(x, values) ** 2).sum(), []
            for order in range(3):
                grads = torch.autograd.grad(out, leaves, create_graph=True)
                orders.append([g.detach() for g in grads])
                out = sum(((order + 2) * g**2 + g).sum() for g in grads)
            results.append(orders)
        close(*results)
        assert all(bool(g.any()) for order in results[0] for g in order), "silently zero"


@EVERY
def test_torch_func_jacobians_and_hessians_are_plain_torch_s(pair, degree):
    x, values = inputs(degree, rows=2)
    for transform in (jacrev, jacfwd):
        close(transform(pair[0], (0, 1))(x, values), transform(pair[1], (0, 1))(x, values))
    scalar, plain = (lambda x, v, f=f: (f(x, v) ** 2).sum() for f in pair)
    wanted = hessian(plain, (0, 1))(x, values)
    for second in (hessian, lambda f, a: jacrev(jacfwd(f, a), a), lambda f, a: jacrev(jacrev(f, a), a)):
        close(second(scalar, (0, 1))(x, values), wanted)
    for index in (0, 1):
        forward = jacfwd(jacfwd(scalar, index), index)(x, values)
        close(forward, wanted[index][index])  # torch's own Functions are silently zero in forward over forward


@EVERY
def test_torch_func_jvp_and_vjp_are_plain_torch_s(pair, degree):
    x, values = inputs(degree)
    tangents = (drawn(4, 3, seed=2), drawn(3, degree + 1, seed=3))
    got = jvp(pair[0], (x, values), tangents)
    close(got, jvp(pair[1], (x, values), tangents))
    assert bool(got[1].all())
    for index in (0, 1):
        one = [lambda t, f=f, index=index: f(*((t, values) if index == 0 else (x, t))) for f in pair]
        primal, tangent = ((x, values)[index],), (tangents[index],)
        close(jvp(one[0], primal, tangent), jvp(one[1], primal, tangent))
    cotangent = drawn(4, 3, seed=4)
    close(vjp(pair[0], x, values)[1](cotangent), vjp(pair[1], x, values)[1](cotangent))
    forward_of_reverse = [
        lambda x, v, f=f: jvp(lambda a, b: grad(lambda c, d: (f(c, d) ** 2).sum(), (0, 1))(a, b), (x, v), tangents)
        for f in pair
    ]
    close(forward_of_reverse[0](x, values), forward_of_reverse[1](x, values))


@EVERY
def test_vmap_over_x_or_values_or_both_is_a_loop(pair, degree):
    x, values = drawn(5, 4, 3), drawn(5, 3, degree + 1, seed=1)
    close(vmap(pair[0], (0, None))(x, values[0]), torch.stack([pair[0](each, values[0]) for each in x]))
    close(vmap(pair[0], (None, 0))(x[0], values), torch.stack([pair[0](x[0], each) for each in values]))
    close(vmap(pair[0])(x, values), torch.stack([pair[0](*each) for each in zip(x, values, strict=True)]))
    close(vmap(pair[0], (1, None), 1)(x, values[0]), pair[0](x, values[0]))
    per_sample = [vmap(grad(lambda v, x, f=f: (f(x, v) ** 2).sum()), (None, 0))(values[0], x) for f in pair]
    close(*per_sample)
    nested = [vmap(vmap(grad(lambda v, x, f=f: f(x, v).sum()), (None, 0)), (0, None))(values, x) for f in pair]
    close(*nested)


@pytest.mark.parametrize("degree", DEGREES)
def test_vmap_over_replicas_is_a_loop(degree, kernel):
    x, values = drawn(5, 2, 4, 3), drawn(5, 2, 3, degree + 1, seed=1)
    function = lambda a, b: chebyshev_lagrange(a, b, channel_dim=-1)  # noqa: E731
    close(vmap(function)(x, values), torch.stack([function(*each) for each in zip(x, values, strict=True)]))
    close(vmap(function, (0, None))(x, values[0]), torch.stack([function(each, values[0]) for each in x]))
    gradient = grad(lambda b, a: (function(a, b) ** 2).sum())
    wanted = torch.stack([gradient(b, a) for a, b in zip(x, values, strict=True)])
    close(vmap(gradient)(values, x), wanted)


@EVERY
def test_second_derivative_outside_is_zero_and_first_is_not(pair, degree, tails):
    if tails == "none":
        pytest.skip("without tails there is no outside")
    x = torch.tensor([[-7.0, -1.5, 1.25], [30.0, -2.0, 1e6]], dtype=torch.float64, requires_grad=True)
    out = pair[0](x, drawn(3, degree + 1, seed=1))
    (first,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert bool(first.all())
    assert not bool(second.any())


@EVERY
def test_dual_numbers_of_torch_autograd_forward_ad(pair, degree):
    x, values = inputs(degree)
    tangent = drawn(4, 3, seed=2)
    with forward_ad.dual_level():
        got, wanted = (forward_ad.unpack_dual(f(forward_ad.make_dual(x, tangent), values)).tangent for f in pair)
    close(got, wanted)


@pytest.mark.parametrize("degree", DEGREES)
def test_weighted_chebyshev_has_the_recurrence_s_derivatives(degree, kernel):
    x, weights = inputs(degree, rows=3)
    ours = lambda a, b: weighted_chebyshev(a, b, channel_dim=-1)  # noqa: E731
    leaves = (x.clone().requires_grad_(), weights.clone().requires_grad_())
    assert torch.autograd.gradcheck(ours, leaves, check_forward_ad=True, check_batched_grad=True, atol=1e-4)
    assert torch.autograd.gradgradcheck(ours, leaves, check_fwd_over_rev=True, atol=1e-3, fast_mode=True)
    scalars = [lambda a, b, f=f: (f(a, b) ** 2).sum() for f in (ours, torch_chebyshev_sum)]
    torch.testing.assert_close(hessian(scalars[0], (0, 1))(x, weights), hessian(scalars[1], (0, 1))(x, weights))


@pytest.mark.parametrize("name", chebact.ACTIVATIONS)
def test_every_activation_of_the_table_is_twice_differentiable_in_x_and_parameters(name):
    layer = chebact.make_activation(name, 3).double()
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(drawn(*p.shape, seed=5))
    names, tensors = zip(*layer.named_parameters(), strict=True) if list(layer.parameters()) else ((), ())

    def call(x, *parameters):
        return functional_call(layer, dict(zip(names, parameters, strict=True)), (x,))

    leaves = (drawn(3, 3).requires_grad_(), *(t.detach().clone().requires_grad_() for t in tensors))
    assert torch.autograd.gradcheck(call, leaves, check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(call, leaves, check_fwd_over_rev=True, atol=1e-4, fast_mode=True)
