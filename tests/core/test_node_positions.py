"""Where the nodes stand, against mpmath."""

import numpy
import pytest
import torch
from mpmath import mp, mpf
from support.truth import exact_nodes

from chebact import nodes
from chebact.node_positions import barycentric_weights, split_nodes, stretch

DEGREES = [1, 2, 3, 4, 5, 10, 30, 31, 100, 1000]
INTERVALS = [(-1.0, 1.0), (0.0, 1.0), (-3.0, 5.0), (100.0, 101.0), (-1e-3, 1e3), (0.1, 0.3)]


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("degree", DEGREES)
def test_nodes_are_mpmath_s_correctly_rounded_to_float64(degree, interval):
    wanted = [float(x) for x in exact_nodes(degree, interval)]
    assert nodes(degree, interval=interval).tolist() == wanted


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("degree", DEGREES[:-1])
def test_nodes_in_lower_types_are_nearest_to_mpmath_s(degree, dtype):
    unit = mpf(torch.finfo(dtype).eps) / 2
    for got, wanted in zip(nodes(degree, dtype=dtype).tolist(), exact_nodes(degree), strict=True):
        assert abs(mpf(got) - wanted) <= unit * max(abs(wanted), mpf(torch.finfo(dtype).smallest_normal)) * (
            1 + mpf("1e-6")
        )


def test_the_paper_s_cubic_nodes_in_closed_form():
    inner = numpy.sqrt(2) - 1
    numpy.testing.assert_array_max_ulp(nodes(3).numpy(), numpy.array([1.0, inner, -inner, -1.0]), maxulp=4)


@pytest.mark.parametrize("degree", [1, 3, 100])
def test_nodes_go_from_the_right_end_to_the_left_and_are_symmetric(degree):
    x = nodes(degree)
    assert x.dtype == torch.float64
    assert x.shape == (degree + 1,)
    assert (x[0], x[-1]) == (1.0, -1.0)
    assert bool((x[1:] < x[:-1]).all())
    assert torch.equal(x, -x.flip(0))


@pytest.mark.parametrize("degree", DEGREES)
def test_stretch_is_mpmath_s_one_over_cosine(degree):
    assert stretch(degree) == float(1 / mp.cos(mp.pi / (2 * (degree + 1))))


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64])
@pytest.mark.parametrize("degree", [3, 30, 1000])
def test_high_and_low_parts_together_have_twice_the_digits_of_mpmath_s_nodes(degree, dtype):
    high, low = split_nodes(degree, (-1.0, 1.0), dtype)
    unit = mpf(float(numpy.finfo(dtype).eps)) / 2
    for h, rest, wanted in zip(high, low, exact_nodes(degree), strict=True):
        assert abs(mpf(float(h)) + mpf(float(rest)) - wanted) <= 2 * unit**2


@pytest.mark.parametrize("degree", [1, 2, 3, 10, 30])
def test_barycentric_weights_are_the_products_of_the_definition_in_mpmath(degree):
    x = exact_nodes(degree)
    products = [1 / mp.fprod(x[j] - x[m] for m in range(degree + 1) if m != j) for j in range(degree + 1)]
    got = barycentric_weights(degree)
    for j, wanted in enumerate(products):
        assert abs(mpf(float(got[j])) / mpf(float(got[0])) - wanted / products[0]) <= 1e-14 * abs(wanted / products[0])


def test_nodes_follow_device_and_leave_no_shared_state():
    assert nodes(3, device="meta").device.type == "meta"
    first = nodes(3)
    first.zero_()
    assert nodes(3)[0] == 1.0
