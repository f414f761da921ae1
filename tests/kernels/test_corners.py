"""Narrow and far intervals, huge heights, infinite x, nodes: what every kernel makes of them, against mpmath."""

import math
import os

import numpy
import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

from support.kernel_calls import needs_cpu_kernel
from support.truth import end_slope_weights, exact_derivative, exact_nodes, regression_weights

from chebact import kernels
from chebact.basis import Basis, IntervalError, basis_of
from chebact.checks import TAILS
from chebact.functional import chebyshev_lagrange
from chebact.kernels.layout import Sizes

DEVICE = {"gpu": torch.device("cuda" if torch.cuda.is_available() else "cpu")}
ALL_KERNELS = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.gpu_interpreter) if name == "gpu" else name for name in kernels.NAMES]
)
UNITS = {torch.float32: 2.0**-24, torch.float64: 2.0**-53}
INF, NAN = math.inf, math.nan


def run(name, x, heights, grad=None, **choices):
    """The value, the gradient of x and that of the heights at every x of one axis, for one channel."""
    device = DEVICE.get(name, torch.device("cpu"))
    if (reason := kernels.why_not(name, device)) is not None:
        pytest.skip(f"the kernel {name!r} cannot run here: {reason}")
    basis = basis_of(Basis(heights.shape[-1] - 1, **choices))
    x, heights = x.to(device), heights.to(device).reshape(1, -1)
    grad = torch.ones_like(x) if grad is None else grad.to(device)
    with kernels.use(name), numpy.errstate(all="ignore"):  # Triton's interpreter computes with NumPy
        value = kernels.evaluate(x, heights, basis, 0, False)
        return [tensor.cpu() for tensor in (value, *kernels.gradients(x, grad, heights, basis, 0, False))]


def heights_of(degree, dtype=torch.float32, scale=1.0):
    return torch.randn(degree + 1, generator=torch.Generator().manual_seed(degree), dtype=dtype) * scale


def nodes_in(degree, dtype, interval=(-1.0, 1.0)):
    return torch.tensor([float(node) for node in exact_nodes(degree, interval)], dtype=torch.float64).to(dtype)


NARROW_AND_LARGE = [
    ((-1e-5, 1e-5), 4, 1.0), ((-1e-4, 1e-4), 20, 1.0), ((-1e-3, 1e-3), 10, 100.0), ((-1e-12, 1e-12), 5, 1.0),
    ((0.0, 1e-10), 4, 1e6), ((-1.0, 1.0), 60, 1e8), ((-1.0, 1.0), 4, 1e30), ((-1e15, 1e15), 6, 1e-10),
]  # fmt: skip


@ALL_KERNELS
@pytest.mark.parametrize(("interval", "degree", "scale"), NARROW_AND_LARGE, ids=str)
def test_slopes_at_and_beside_nodes_of_narrow_intervals_and_large_heights_are_mpmaths(name, interval, degree, scale):
    nodes, heights = nodes_in(degree, torch.float32, interval), heights_of(degree, scale=scale)
    beside = torch.nextafter(nodes[1:-1], torch.tensor(INF))
    x = torch.cat([nodes[1:-1], beside, torch.tensor([1e-30])]) if degree < 60 else nodes[29:32]
    x = x[(x > interval[0]) & (x < interval[1])]
    value, slope, _ = run(name, x, heights, interval=interval)
    want = [[float(exact_derivative(p, heights.tolist(), m, interval)) for p in x.tolist()] for m in (0, 1)]
    want, size = torch.tensor(want, dtype=torch.float64), degree * scale / (interval[1] - interval[0]) * 2
    assert (slope.double() - want[1]).abs().max() <= 64 * UNITS[torch.float32] * max(want[1].abs().max(), size)
    assert value.isfinite().all()


@ALL_KERNELS
@pytest.mark.parametrize("degree", [4, 7, 16, 60])
def test_derivatives_of_high_order_at_a_node_are_finite_and_mpmaths(name, degree):
    if name == "gpu" and degree > 16:
        pytest.skip("the interpreter takes long")
    heights, basis, x = heights_of(degree), Basis(degree), nodes_in(degree, torch.float32)[1:3]
    for order in (1, 2, 3, 4):
        basis = basis.derivative()
        got, _, _ = run(name, x, heights, order=order)
        want = torch.tensor([float(exact_derivative(p, heights.tolist(), order)) for p in x.tolist()]).double()
        largest = float(abs(exact_derivative(1.0, heights.tolist(), order)))
        assert (got.double() - want).abs().max() <= 64 * UNITS[torch.float32] * max(largest, want.abs().max().item())


@ALL_KERNELS
def test_a_derivative_is_taken_at_x_and_not_at_the_node_that_x_is_the_rounding_of(name):
    degree, interval = 3, (10000.1, 10001.3)  # neighbouring numbers are a thousandth apart
    heights, x = heights_of(degree), nodes_in(degree, torch.float32, interval)[1:3]
    want = torch.tensor([float(exact_derivative(p, heights.tolist(), 1, interval)) for p in x.tolist()]).double()
    evaluated, _, _ = run(name, x, heights, interval=interval, order=1)
    _, slope, _ = run(name, x, heights, interval=interval)
    for got in (evaluated, slope):
        assert (got.double() - want).abs().max() <= 16 * UNITS[torch.float32] * want.abs().max()


FAR = [(-1.0, 1.0), (0.1, 0.7), (10.1, 11.3), (100.1, 101.3), (1000.0, 1002.6480991120777), (10000.1, 10001.3)]


@ALL_KERNELS
@pytest.mark.parametrize("tails", ["extrapolate", "regression"])
@pytest.mark.parametrize("interval", FAR, ids=str)
@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_slope_of_the_tails_is_mpmaths_wherever_the_interval_lies(name, tails, interval, degree):
    heights, width = heights_of(degree), interval[1] - interval[0]
    x = torch.tensor([interval[0] - 2 * width, interval[0] - width, interval[1] + width, interval[1] + 3 * width])
    _, slope, for_heights = run(name, x, heights, interval=interval, tails=tails)
    weights = {end: weights_of(tails, degree, end, interval) for end in (-1, 0)}
    slopes = {end: float(sum(w * y for w, y in zip(weights[end], heights.tolist(), strict=True))) for end in weights}
    want = torch.tensor([slopes[-1], slopes[-1], slopes[0], slopes[0]], dtype=torch.float64)
    size = max(float(sum(abs(w) for w in weights[end])) for end in weights) * heights.abs().max()
    assert (slope.double() - want).abs().max() <= 8 * UNITS[torch.float32] * size
    # decision 3: the height stands at the end as it is in the type, so the line begins there
    ends, places = nodes_in(degree, torch.float32, interval).double(), x.double()
    shares = torch.tensor([[float(w) for w in weights[end]] for end in (-1, -1, 0, 0)], dtype=torch.float64)
    shares = (
        shares
        * torch.stack([places[0] - ends[-1], places[1] - ends[-1], places[2] - ends[0], places[3] - ends[0]])[:, None]
    )
    shares[:2, -1] += 1
    shares[2:, 0] += 1
    assert (for_heights[0].double() - shares.sum(0)).abs().max() <= 16 * UNITS[torch.float32] * shares.abs().sum(
        0
    ).max()


def weights_of(tails, degree, end, interval):
    return (
        end_slope_weights(degree, end, interval)
        if tails == "extrapolate"
        else regression_weights(degree, 2, end, interval)
    )


@ALL_KERNELS
@pytest.mark.parametrize("dtype", UNITS, ids=str)
@pytest.mark.parametrize("degree", [1, 3, 4, 9])
@pytest.mark.parametrize("interval", [(-1.0, 1.0), (-2.0, 3.0), (0.0, 1e-3)], ids=str)
def test_infinite_x_is_the_limit_of_the_straight_lines_and_nan_stays_nan(name, degree, interval, dtype):
    x = torch.tensor([INF, -INF, NAN], dtype=dtype)
    rising = torch.tensor([float(node) for node in exact_nodes(degree)], dtype=dtype)  # the line x on [-1, 1]
    for heights in (rising, -rising):
        sign = heights[0].item()
        value, slope, for_heights = run(name, x, heights, interval=interval)
        assert value[:2].tolist() == [sign * INF, -sign * INF]
        want = torch.full((2,), sign * 2 / (interval[1] - interval[0]), dtype=dtype)
        torch.testing.assert_close(slope[:2], want, rtol=64 * UNITS[dtype], atol=0)
        assert value[2].isnan()
        assert slope[2].isnan()
        assert not for_heights.isfinite().any()
    value, slope, _ = run(name, x, torch.zeros(degree + 1, dtype=dtype), interval=interval)
    assert torch.equal(value[:2], torch.zeros(2, dtype=dtype))  # a level line stays level
    assert torch.equal(slope[:2], torch.zeros(2, dtype=dtype))
    assert value[2].isnan()
    assert slope[2].isnan()
    bend, _, _ = run(name, x[:2], rising, interval=interval, order=2)
    assert torch.equal(bend, torch.zeros(2, dtype=dtype))


@ALL_KERNELS
@pytest.mark.parametrize("dtype", UNITS, ids=str)
@pytest.mark.parametrize("degree", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("interval", [(-1.0, 1.0), (0.0, 1e-3)], ids=str)
def test_the_largest_numbers_give_no_nan_without_tails(name, degree, interval, dtype):
    most = torch.finfo(dtype).max
    x = torch.tensor([INF, -INF, most, -most, most / 2, 1e30, -1e20], dtype=dtype)
    for heights in (torch.zeros(degree + 1, dtype=dtype), heights_of(degree, dtype), heights_of(degree, dtype, 1e12)):
        value, slope, _ = run(name, x, heights, interval=interval, tails="none")
        assert not value.isnan().any()
        assert not slope.isnan().any()
        _, _, for_heights = run(name, x[2:], heights, torch.zeros_like(x[2:]), interval=interval, tails="none")
        assert torch.equal(for_heights, torch.zeros_like(for_heights))
    value, slope, _ = run(name, x, torch.zeros(degree + 1, dtype=dtype), interval=interval, tails="none")
    assert not value.any()
    assert not slope.any()
    line = torch.tensor([float(node) for node in exact_nodes(1)], dtype=dtype)
    value, _, _ = run(name, x, line, tails="none")
    assert torch.equal(value[2:], x[2:])
    assert value[:2].sign().tolist() == [1, -1]


@ALL_KERNELS
@pytest.mark.parametrize("tails", TAILS)
@pytest.mark.parametrize("degree", [1, 3, 4, 9])
def test_heights_near_the_largest_number_give_no_nan(name, tails, degree):
    most = torch.finfo(torch.float32).max
    x = torch.cat([nodes_in(degree, torch.float32), torch.tensor([0.0, 0.3, 1e-30, -1.5, 2.0, 100.0])])
    for pattern in (1.0, (-1.0) ** torch.arange(degree + 1)):
        heights = torch.full((degree + 1,), most) * pattern
        value, slope, _ = run(name, x, heights, tails=tails)
        assert not value.isnan().any()
        assert not slope.isnan().any()
        assert torch.equal(value[: degree + 1], heights)


@ALL_KERNELS
def test_interval_that_is_none_in_the_type_is_one_sentence(name, caplog):
    heights = heights_of(3)
    for interval in ((1e40, 1e40 + 1e29), (1.0, 1.0 + 1e-12)):
        with pytest.raises(IntervalError, match=r"^interval must have two .* ends in float32, got \(.*; use"):
            run(name, torch.zeros(3), heights, interval=interval)
        value, _, _ = run(name, torch.tensor([interval[0]], dtype=torch.float64), heights.double(), interval=interval)
        assert value.item() == heights[-1].item()
    with pytest.raises(IntervalError):  # left alone too, and no kernel counts as failed then
        chebyshev_lagrange(torch.zeros(3, 1), heights[None], interval=(1e40, 1e40 + 1e29))
    assert not caplog.records


@needs_cpu_kernel
@pytest.mark.parametrize("degree", [4, 9, 33])
@pytest.mark.parametrize("tails", ["extrapolate", "none"])
def test_bits_of_a_channel_do_not_depend_on_the_channels_beside_it(degree, tails):
    generator = torch.Generator().manual_seed(degree)
    x = torch.randn(20, 7, generator=generator, dtype=torch.float64).requires_grad_()
    heights = torch.randn(7, degree + 1, generator=generator, dtype=torch.float64)
    for channel in (0, 4):
        together = chebyshev_lagrange(x, heights, tails=tails)[:, channel]
        alone = chebyshev_lagrange(x[:, channel : channel + 1], heights[channel : channel + 1], tails=tails)[:, 0]
        assert torch.equal(together, alone)
        slopes = [torch.autograd.grad(each.sum(), x)[0] for each in (together, alone)]
        assert torch.equal(*slopes)


@ALL_KERNELS
@pytest.mark.parametrize("replicas", [None, 2])
def test_no_channels_are_an_empty_result_with_empty_gradients(name, replicas):
    leading = () if replicas is None else (replicas,)
    x, heights = torch.empty(*leading, 5, 0), torch.empty(*leading, 0, 4)
    place = basis_of(Basis(3)), len(leading) + 1, bool(leading)
    with kernels.use(name):
        assert kernels.evaluate(x, heights, *place).shape == x.shape
        for_x, for_heights = kernels.gradients(x, x, heights, *place)
    assert for_x.shape == x.shape
    assert for_heights.shape == heights.shape


def test_sizes_of_no_channels():
    from chebact.kernels.layout import find_layout

    layout = find_layout((5, 0), (1, 1), torch.float32, 0, torch.float32, 1, False)
    assert layout is not None
    assert layout.sizes == Sizes(1, 1, 0, 0)
