"""The digits of to_c where they are lost easily: intervals far from 0, high degrees, long sums, infinite inputs."""

import numpy
import pytest
import torch
from support.c_compiler import TOLERANCE, compile_c, run_c
from support.convolutional_networks import Forward
from support.other_models import drawn, filled
from torch import nn

import chebact
from chebact import ChebyshevLagrange, WeightedChebyshev

TYPES = {"float": torch.float32, "double": torch.float64}


def side_by_side(layers):
    """Layer k on column k alone: one file tests all of them."""
    parts = nn.ModuleList(layers)
    return Forward(
        lambda own, x: torch.cat([part(x[:, k : k + 1]) for k, part in enumerate(own.parts)], 1), parts=parts
    )


def c_and_torch(network, x, real, folder):
    """The outputs of C and of torch in float64, at inputs that C's type can hold."""
    x = x.to(TYPES[real]).double()
    path = chebact.to_c(network.double(), folder / "network.c", example=x[:1], real=real)
    with torch.no_grad():
        wanted = network(x).flatten(1).numpy()
    return run_c(compile_c(path), x, wanted.shape[1], real), wanted


def assert_columns_agree(got, wanted, real):
    """Each column relative to its own largest number."""
    assert (numpy.abs(got - wanted).max(axis=0) <= TOLERANCE[real] * numpy.abs(wanted).max(axis=0)).all()


FAR = [(1000.1, 1000.7), (100000.1, 100000.7), (-2.31, 3.17), (0.1, 6.3), (-1e-3, 1e-3)]


@pytest.mark.parametrize("real", TYPES)
def test_intervals_away_from_zero_keep_their_digits(real, tmp_path):
    """The middle in one number was off by 1.2e-3 in float and 2.1e-10 in double."""
    kinds = [(3, "extrapolate"), (2, "none"), (5, "regression")]
    choices = [(interval, degree, tails) for interval in FAR for degree, tails in kinds]
    layers = [filled(ChebyshevLagrange(1, interval=i, degree=n, tails=t)) for i, n, t in choices]
    ends = torch.tensor([interval for interval, _, _ in choices], dtype=torch.float64).T
    x = ends[0] + (ends[1] - ends[0]) * (1.2 * torch.rand(20, len(layers), dtype=torch.float64) - 0.1)
    assert_columns_agree(*c_and_torch(side_by_side(layers), x, real, tmp_path), real)


@pytest.mark.parametrize("real", TYPES)
def test_high_degrees_keep_their_digits_near_the_ends(real, tmp_path):
    """In float Clenshaw's rule was off by 9e-6 at degree 30."""
    layers = []
    for degree in (4, 6, 10, 20, 30, 40):
        for tails in ("extrapolate", "none"):
            layers.append(ChebyshevLagrange(1, degree=degree, tails=tails))
            layers[-1].heights.data.copy_(drawn(1, degree + 1, seed=degree).sign())
    x = 1 - torch.rand(60, len(layers), generator=torch.Generator().manual_seed(0), dtype=torch.float64) ** 3 / 10
    x[::2] *= -1
    assert_columns_agree(*c_and_torch(side_by_side(layers), x, real, tmp_path), real)


def test_means_norms_and_pools_of_many_numbers_keep_their_digits_in_float(tmp_path):
    """They were off by up to 9.7e-5."""
    network = Forward(
        lambda own, x: torch.cat(
            (own.norm(x.flatten(1)[:, :512]), own.pool(x).flatten(1), x.mean((2, 3)), own.softmax(x.flatten(1))), 1
        ),
        norm=nn.LayerNorm(512),
        pool=nn.AvgPool2d(64),
        softmax=nn.Softmax(1),
    )
    x = 100 + torch.rand(1, 1, 128, 128, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    got, wanted = c_and_torch(network, x, "float", tmp_path)
    for part in (slice(512), slice(512, 516), slice(516, 517), slice(517, None)):
        size = numpy.abs(wanted[:, part]).max()
        numpy.testing.assert_allclose(got[:, part], wanted[:, part], rtol=0, atol=1e-6 * size)


@pytest.mark.parametrize("real", TYPES)
def test_what_torch_gives_for_large_and_infinite_inputs_is_not_nan(real, tmp_path):
    flat = [ChebyshevLagrange(1, degree=2), ChebyshevLagrange(1, degree=5, init="zeros")]
    flat[0].heights.data.fill_(2.0)
    odd = [ChebyshevLagrange(1, degree=7, tails="none"), WeightedChebyshev(1, degree=31)]
    odd[0].heights.data.copy_(torch.linspace(-1, 1, 8))
    odd[1].weights.data[0, 31] = -1.0
    x = torch.tensor([1e10, -1e10, 1e30, -1e30, torch.inf, -torch.inf], dtype=torch.float64)
    got, wanted = c_and_torch(side_by_side([*flat, *odd]), x.unsqueeze(1).expand(-1, 4).clone(), real, tmp_path)
    numpy.testing.assert_array_equal(got[:, :2], [[2.0, 0.0]] * 6)
    numpy.testing.assert_array_equal(numpy.sign(got[:4, 2:]), numpy.sign(wanted[:4, 2:]))
    assert numpy.isinf(got[2:4, 3]).all()
