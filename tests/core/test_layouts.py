"""Shapes and strides: what torch's own element-wise operations keep is kept, and no bit depends on the layout."""

import pytest
import torch

import chebact
from chebact.functional import chebyshev_lagrange

LAYOUTS = {
    "C": (lambda r: r(6), 0),
    "NC": (lambda r: r(5, 6), 1),
    "NLC by channel_dim -1": (lambda r: r(3, 4, 6), -1),
    "NCHW": (lambda r: r(2, 6, 5, 7), 1),
    "NCDHW": (lambda r: r(2, 6, 3, 4, 5), 1),
    "channels_last": (lambda r: r(2, 6, 5, 7).to(memory_format=torch.channels_last), 1),
    "channels_last_3d": (lambda r: r(2, 6, 3, 4, 5).to(memory_format=torch.channels_last_3d), 1),
    "transposed": (lambda r: r(6, 9).t(), 1),
    "channels outermost": (lambda r: r(6, 4, 5, 3).transpose(0, 1), 1),
    "permuted": (lambda r: r(3, 4, 6, 5).permute(3, 2, 0, 1), 1),
    "expanded batch": (lambda r: r(1, 6).expand(5, 6), 1),
    "expanded channels": (lambda r: r(5, 1).expand(5, 6), 1),
    "every other": (lambda r: r(8, 12)[::2, ::2], 1),
    "every other, transposed": (lambda r: r(12, 8)[::2, ::2].t(), 1),
    "every other channel of channels_last": (
        lambda r: r(2, 12, 5, 7).to(memory_format=torch.channels_last)[:, ::2],
        1,
    ),
    "every other row of channels_last": (
        lambda r: r(2, 6, 8, 5).to(memory_format=torch.channels_last)[:, :, ::2],
        1,
    ),
    "sliced": (lambda r: r(7, 9, 4)[1:5, 2:8, 1:3], 1),
    "sliced and permuted": (lambda r: r(4, 6, 5, 8).permute(2, 1, 0, 3)[..., 1:6], 1),
    "no batch": (lambda r: r(0, 6), 1),
    "no pixels": (lambda r: r(2, 6, 0, 3), 1),
    "one of each": (lambda r: r(1, 6, 1, 1), 1),
    "last of four": (lambda r: r(2, 3, 4, 6), 3),
    "first of three": (lambda r: r(6, 3, 4), 0),
    "large, so that threads share it": (lambda r: r(7, 6, 61, 67), 1),
    "large, channels_last": (lambda r: r(7, 6, 61, 67).to(memory_format=torch.channels_last), 1),
}
DEGREES = [3, 6]


def drawn(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(7))


def row_by_row(x, values, axis, **choices):
    """The contiguous truth: every channel alone, as a vector that shares one row of values."""
    parts = [
        chebyshev_lagrange(part.reshape(-1).clone(), row[None], **choices)
        for part, row in zip(x.unbind(axis), values, strict=True)
    ]
    return torch.stack([p.reshape(part.shape) for p, part in zip(parts, x.unbind(axis), strict=True)], axis)


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_shape_and_strides_are_those_of_torch_s_own_elementwise_result(layout, degree, kernel):
    make, axis = LAYOUTS[layout]
    x, values = make(drawn), drawn(6, degree + 1)
    y = chebyshev_lagrange(x, values, channel_dim=axis)
    assert y.shape == x.shape
    assert y.stride() == (x * 1).stride()
    assert y.stride() == torch.relu(x).stride()


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_forward_has_the_bits_of_the_contiguous_result(layout, degree, kernel):
    make, axis = LAYOUTS[layout]
    x, values = make(drawn), drawn(6, degree + 1)
    before = x.clone()
    y = chebyshev_lagrange(x, values, channel_dim=axis)
    assert torch.equal(x, before)
    assert torch.equal(y, chebyshev_lagrange(x.contiguous(), values, channel_dim=axis))
    assert torch.equal(y, row_by_row(x, values, axis))


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if "large" not in name])
def test_gradients_equal_those_of_the_contiguous_float64_result(layout, degree, kernel):
    make, axis = LAYOUTS[layout]
    x, values = make(drawn).double(), drawn(6, degree + 1).double()
    weight = drawn(*x.shape).double()

    def gradients(place, grad):
        x_leaf, v_leaf = place.detach().requires_grad_(), values.clone().requires_grad_()
        out = chebyshev_lagrange(x_leaf, v_leaf, channel_dim=axis)
        return torch.autograd.grad(out, (x_leaf, v_leaf), grad)

    by_layout, plain = gradients(x, weight), gradients(x.contiguous(), weight)
    assert torch.equal(by_layout[0], plain[0])
    torch.testing.assert_close(by_layout[1], plain[1], rtol=1e-12, atol=1e-12)
    if x.dim() > 1:
        other = weight.transpose(0, -1).contiguous().transpose(0, -1)  # the gradient in a layout of its own
        torch.testing.assert_close(gradients(x, other), plain, rtol=1e-12, atol=1e-12)
    spread = torch.ones((), dtype=x.dtype).expand(x.shape)  # what sum() sends back
    torch.testing.assert_close(gradients(x, spread), gradients(x.contiguous(), torch.ones_like(plain[0])))


@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (0,), (2, 1, 3), (1, 2, 3, 4), (2, 1, 2, 1, 2), (2,) * 6])
def test_any_rank_with_one_group_is_the_flat_result(shape, kernel):
    x = drawn(*shape)
    for channel_dim in (1, -1, 0):
        layer = chebact.ChebyshevLagrange(groups=1, init="tanh", channel_dim=channel_dim)
        y = layer(x)
        assert y.shape == x.shape
        assert torch.equal(y.reshape(-1), layer(x.reshape(-1)))
        y.sum().backward()
        assert layer.heights.grad.shape == (1, 4)


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize("shape", [(3, 6), (3, 5, 6), (3, 6, 4, 6), (3, 0, 6)])
def test_replica_axis_equals_a_loop_over_replicas(shape, axis, degree, kernel):
    rank = len(shape) - 1
    axis = -1 if shape[min(2, rank)] != 6 else axis
    x, values = drawn(*shape).requires_grad_(), drawn(3, 6, degree + 1).requires_grad_()
    y = chebyshev_lagrange(x, values, channel_dim=axis)
    loop = torch.stack([chebyshev_lagrange(each, row, channel_dim=axis) for each, row in zip(x, values, strict=True)])
    assert torch.equal(y, loop)
    weight = drawn(*shape)
    for got, wanted in zip(
        torch.autograd.grad(y, (x, values), weight), torch.autograd.grad(loop, (x, values), weight), strict=True
    ):
        torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layout", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_replica_axis_anywhere_in_memory(layout, kernel):
    back = [layout.index(k) for k in range(3)]
    shape = (3, 4, 6)
    x = drawn(*(shape[k] for k in layout)).permute(back)
    values = drawn(3, 6, 4)
    assert x.shape == shape
    y = chebyshev_lagrange(x, values, channel_dim=-1)
    assert torch.equal(y, chebyshev_lagrange(x.contiguous(), values, channel_dim=-1))
    assert y.stride() == (x * 1).stride()


def test_shared_values_a_replica(kernel):
    x, values = drawn(3, 5, 2), drawn(3, 1, 4)
    wanted = torch.stack([chebyshev_lagrange(each, row) for each, row in zip(x, values, strict=True)])
    assert torch.equal(chebyshev_lagrange(x, values), wanted)
    assert torch.equal(chebyshev_lagrange(x[:, 0, 0], values), wanted[:, 0, 0])


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
@pytest.mark.parametrize("replicas", [None, 2])
def test_groups_equal_explicit_repetition(groups, replicas, kernel):
    layer = chebact.ChebyshevLagrange(6, groups=groups, replicas=replicas)
    with torch.no_grad():
        layer.heights.copy_(drawn(*layer.heights.shape))
    x = drawn(*(() if replicas is None else (replicas,)), 5, 6, 3)
    full = layer.heights.detach().repeat_interleave(6 // groups, dim=-2).requires_grad_()
    y, wanted = layer(x), chebyshev_lagrange(x, full)
    assert torch.equal(y, wanted)
    y.sum().backward()
    wanted.sum().backward()
    summed = full.grad.unflatten(-2, (groups, 6 // groups)).sum(-2)
    torch.testing.assert_close(layer.heights.grad, summed, rtol=1e-5, atol=1e-5)
