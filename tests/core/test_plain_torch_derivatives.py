"""Autograd through the formula in plain torch, as traced graphs and tensor subclasses have it, against mpmath."""

import warnings

import pytest
import torch
from support.truth import exact_derivative, exact_nodes
from torch.fx.experimental.proxy_tensor import make_fx

from chebact.functional import chebyshev_lagrange

UNITS = {torch.float32: 2.0**-24, torch.float64: 2.0**-53}


class Own(torch.Tensor):
    """A tensor that is a class of its own."""


def activation(x, heights):
    return chebyshev_lagrange(x, heights)


def through_subclass(x, heights):
    return chebyshev_lagrange(x.as_subclass(Own), heights)


def through_trace(x, heights):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.jit.trace says that it is deprecated
        return torch.jit.trace(activation, (torch.rand_like(x), heights))(x, heights)


def through_make_fx(x, heights):
    return make_fx(activation)(torch.rand_like(x), heights)(x, heights)


class Layer(torch.nn.Module):
    def forward(self, x, heights):
        return chebyshev_lagrange(x, heights)


def through_export(x, heights):
    return torch.export.export(Layer(), (torch.rand_like(x), heights)).module()(x, heights)


WAYS = [through_subclass, through_trace, through_make_fx, through_export]
EVERY_WAY = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


def beside_nodes(degree, dtype):
    """The nodes, the numbers up to three beside them, and some that are far from all; none outside."""
    nodes = torch.tensor([float(node) for node in exact_nodes(degree)], dtype=torch.float64).to(dtype)
    places = [nodes[1:-1], torch.tensor([1e-20, -1e-30, 0.3, -0.77], dtype=dtype)]
    for side in (2.0, -2.0):
        here = nodes
        for _ in range(3):
            here = torch.nextafter(here, torch.tensor(side, dtype=dtype))
            places.append(here)
    x = torch.cat(places)
    return x[x.abs() < 1]


def heights_of(degree, dtype):
    return torch.randn(1, degree + 1, generator=torch.Generator().manual_seed(degree), dtype=dtype)


def truth(x, heights, order):
    return torch.tensor([float(exact_derivative(p, heights, order)) for p in x.tolist()], dtype=torch.float64)


def close(got, want, size, units):
    error = ((got.detach().double() - want).abs().max() / size).item()
    assert error <= units, f"{error / units:.1f} times what is allowed"


CASES = [(way, degree, torch.float32) for way in WAYS for degree in (2, 3, 4, 10)]
CASES += [(through_subclass, degree, dtype) for degree in (1, 3, 5, 7, 20, 30) for dtype in UNITS]


@pytest.mark.parametrize(("way", "degree", "dtype"), CASES, ids=lambda each: getattr(each, "__name__", str(each)))
def test_first_and_second_derivative_at_and_beside_nodes_are_those_of_mpmath(way, degree, dtype):
    x, heights = beside_nodes(degree, dtype).requires_grad_(), heights_of(degree, dtype)
    out = way(x, heights)
    close(out, truth(x, heights[0].tolist(), 0), heights.abs().max(), 32 * UNITS[dtype] * (1 + degree / 10))
    (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    sizes = [float(max(abs(exact_derivative(end, heights[0].tolist(), m)) for end in (-1.0, 1.0))) for m in (1, 2)]
    sizes = [max(size, heights.abs().max().item() * degree) for size in sizes]
    units = UNITS[dtype] * (8 if dtype == torch.float32 else 8 * degree)
    close(slope, truth(x, heights[0].tolist(), 1), sizes[0], units)
    if degree > 1:
        (bend,) = torch.autograd.grad(slope.sum(), x)
        close(bend, truth(x, heights[0].tolist(), 2), sizes[1], units)


@EVERY_WAY
@pytest.mark.parametrize("degree", [3, 6])
def test_derivatives_in_the_heights_are_lagranges_functions_and_their_slopes(way, degree):
    x, heights = (
        beside_nodes(degree, torch.float64).requires_grad_(),
        heights_of(degree, torch.float64).requires_grad_(),
    )
    (slope,) = torch.autograd.grad(way(x, heights).sum(), x, create_graph=True)
    (mixed,) = torch.autograd.grad(slope.sum(), heights)
    (single,) = torch.autograd.grad(way(x, heights).sum(), heights)
    for j, one in enumerate(torch.eye(degree + 1).tolist()):
        for got, order in ((single, 0), (mixed, 1)):
            want = truth(x, one, order)
            close(got[0, j], want.sum(), want.abs().sum(), 100 * UNITS[torch.float64] * degree)


@EVERY_WAY
def test_third_derivative_above_degree_3_is_not_lost(way):
    x, heights = torch.tensor([0.0, 0.31], dtype=torch.float64, requires_grad=True), heights_of(6, torch.float64)
    out = way(x, heights)
    for _ in range(3):
        (out,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    want = truth(x, heights[0].tolist(), 3)
    close(out, want, want.abs().max(), 1e-12)


@EVERY_WAY
@pytest.mark.parametrize("degree", [3, 6])
def test_gradient_beyond_the_ends_is_the_slope_at_the_end(way, degree):
    x, heights = torch.tensor([-3.0, 1.0, 7.0, 1e30], requires_grad=True), heights_of(degree, torch.float32)
    (slope,) = torch.autograd.grad(way(x, heights).sum(), x)
    want = truth(x.detach().clamp(-1, 1), heights[0].tolist(), 1)
    close(slope, want, want.abs().max(), 4 * UNITS[torch.float32])
