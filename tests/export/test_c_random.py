"""to_c of random small networks: layers in any order that fits, compiled and compared with torch in float64."""

import random

import pytest
import torch
from support.c_compiler import assert_c_agrees
from support.other_models import drawn, filled
from torch import nn

from chebact import ChebyshevLagrange


class Residual(nn.Module):
    def __init__(self, inner, sum_):
        super().__init__()
        self.inner, self.sum = inner, sum_

    def forward(self, x):
        y = self.inner(x)
        return x + y if self.sum else torch.cat((y, x[:, ::2]), 1)


def layer(draw, shape):
    """A random layer for planes of a shape (channel, height, width)."""
    channels, height, width = shape
    kernel = (draw.randint(1, min(3, height)), draw.randint(1, min(3, width)))
    stride, padding = (draw.randint(1, 2), draw.randint(1, 2)), tuple(draw.randint(0, k // 2) for k in kernel)
    groups = draw.choice([each for each in (1, 2, channels) if channels % each == 0])
    rows = [
        lambda: nn.Conv2d(
            channels, groups * draw.randint(1, 3), kernel, stride, padding, 1, groups, draw.random() < 0.5
        ),
        lambda: nn.Sequential(nn.Conv2d(channels, 4, kernel, padding=padding), nn.BatchNorm2d(4)),
        lambda: nn.BatchNorm2d(channels),
        lambda: nn.MaxPool2d(kernel, stride, padding, ceil_mode=draw.random() < 0.5),
        lambda: nn.AvgPool2d(kernel, stride, padding, draw.random() < 0.5, draw.random() < 0.5),
        lambda: ChebyshevLagrange(channels, degree=draw.randint(1, 7), tails=draw.choice(["extrapolate", "none"])),
        lambda: draw.choice([nn.ReLU(inplace=True), nn.GELU(), nn.SiLU(), nn.Hardswish(), nn.Softmax(1), nn.Tanh()]),
        lambda: Residual(nn.Conv2d(channels, channels, 3, padding=1), True),
        lambda: Residual(nn.Sequential(nn.Conv2d(channels, 2, 1), nn.ReLU()), False),
        lambda: nn.GroupNorm(groups, channels),
    ]
    return draw.choice(rows)()


def random_network(seed):
    """A network, and the shape of its input."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    shape = start = (draw.randint(1, 4), draw.randint(3, 9), draw.randint(3, 9))
    layers = []
    for _ in range(draw.randint(3, 9)):
        layers.append(layer(draw, shape).double().eval())
        for part in layers[-1].modules():
            if isinstance(part, ChebyshevLagrange):
                filled(part)
            if isinstance(part, nn.BatchNorm2d):
                part.running_mean.normal_()
                part.running_var.uniform_(0.5, 2)
        shape = tuple(layers[-1](torch.zeros(1, *shape, dtype=torch.float64)).shape[1:])
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(torch.Size(shape).numel(), 3)), start


@pytest.mark.parametrize("seed", range(16))
def test_a_random_network_is_the_same_in_c(seed, tmp_path):
    network, shape = random_network(seed)
    assert_c_agrees(network, drawn(2, *shape).double(), tmp_path)
