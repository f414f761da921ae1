"""Networks of polynomials for the tests of private inference."""

import torch
from torch import nn

from chebact import ChebyshevLagrange
from chebact.networks import ResidualMLP


def activation(channels, degree, *, spread=0.1, interval=(-1.0, 1.0), seed=0, **options):
    """GELU with normal noise on the heights, so that every channel has another polynomial."""
    made = ChebyshevLagrange(channels, degree=degree, tails="none", init="gelu", interval=interval, **options)
    noise = torch.randn(made.heights.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    with torch.no_grad():
        made.heights += spread * noise
    return made


def two_hidden(degree, features=5, width=8, outputs=3, **options):
    torch.manual_seed(degree)
    return nn.Sequential(
        nn.Linear(features, width),
        activation(width, degree, **options),
        nn.Linear(width, width),
        activation(width, degree, seed=1, **options),
        nn.Linear(width, outputs),
    ).double()


def one_hidden(degree, **options):
    torch.manual_seed(degree)
    return nn.Sequential(nn.Linear(5, 8), activation(8, degree, **options), nn.Linear(8, 3)).double()


def residual(degree, shortcut="add", blocks=2, **options):
    torch.manual_seed(degree)

    def make(channels, **more):
        return activation(channels, degree, **options, **more)

    return ResidualMLP(5, 3, activation=make, width=8, blocks=blocks, shortcut=shortcut).double()


def rows(count=40, features=5, seed=0):
    return torch.randn(count, features, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).clamp(-2, 2)
