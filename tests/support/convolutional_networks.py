"""Small convolutional networks by name, with statistics and heights that are not those of the start."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import chebact
from chebact import ChebyshevLagrange, WeightedChebyshev
from chebact.lab.images.network import ShakeShakeResNet
from support.benchmarks import load_benchmark
from support.other_models import ResidualNet as Others
from support.other_models import drawn, filled

NORMS = (nn.BatchNorm1d, nn.BatchNorm2d)


def stirred(network, seed=0):
    """The network with running statistics, factors and heights that are not those of the start."""
    generator = torch.Generator().manual_seed(seed)
    for part in network.modules():
        if isinstance(part, NORMS) and part.running_mean is not None:
            part.running_mean.normal_(generator=generator)
            part.running_var.uniform_(0.5, 2.0, generator=generator)
        if isinstance(part, (*NORMS, nn.GroupNorm, nn.LayerNorm)) and part.weight is not None:
            part.weight.data.normal_(1.0, 0.3, generator=generator)
            part.bias.data.normal_(generator=generator)
        if isinstance(part, (ChebyshevLagrange, WeightedChebyshev)):
            filled(part)
    return network


def plain():
    return nn.Sequential(
        nn.Conv2d(3, 6, 3, padding=1, bias=False),
        nn.BatchNorm2d(6),
        ChebyshevLagrange(6),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 8, 3),
        ChebyshevLagrange(8, degree=6, tails="regression"),
        nn.BatchNorm2d(8, affine=False),
        nn.AvgPool2d(2, ceil_mode=True),
        nn.Dropout(0.5),
        nn.Flatten(),
        nn.LazyLinear(10),
        nn.BatchNorm1d(10),
        nn.ReLU(inplace=True),
        nn.Linear(10, 4),
        nn.LogSoftmax(1),
    )


def one_dimension():
    return nn.Sequential(
        nn.Conv1d(2, 4, 5, stride=2, padding="valid", dilation=2),
        nn.BatchNorm1d(4),
        ChebyshevLagrange(4, channel_dim=1),
        nn.MaxPool1d(3, 2, 1),
        nn.Conv1d(4, 6, 3, padding="same", groups=2),
        nn.AvgPool1d(2),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(1),
        nn.Linear(6, 3),
    )


def replaced_digits():
    """The network of examples/residual_digits.py after surgery."""
    pytest.importorskip("sklearn", reason="the example needs scikit-learn")
    network = stirred(load_benchmark("residual_digits", folder="examples").ResidualNet(width=6))
    return chebact.replace_activations(network, drawn(4, 1, 8, 8), interval="fit").model


def replaced_others():
    network = stirred(Others())
    return chebact.replace_activations(network, drawn(4, 3, 8, 8)).model


class Forward(nn.Module):
    """A network whose forward method is a function; its modules are attributes."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        return self.function(self, x)


def joined(own, x):
    """Concatenation, slices, in-place sums, broadcasting, a constant, padding, a view of views."""
    a, b = own.first(x), own.second(x)
    gate = torch.sigmoid(own.gate(b.mean((2, 3), keepdim=True)))
    y = torch.cat((a, b * gate, x[:, 1:]), 1)
    y += own.shift
    y = F.pad(y, (1, 0, 2, -1), value=0.5)[:, :, ::2, 1::2]
    y = F.pad(y.flip(0) if own.training else y, (0, 1))
    y = 2 - y / 3 + torch.max(y, y * own.scale)
    return own.head(y.view(y.size(0), -1)).squeeze(1)


def join_network():
    return Forward(
        joined,
        first=nn.Conv2d(2, 3, 3, padding=1),
        second=nn.Conv2d(2, 4, 1, bias=False),
        gate=nn.Conv2d(4, 4, 1),
        shift=nn.Parameter(drawn(8, 1, 1)),
        scale=nn.Parameter(drawn(5)),
        head=nn.Linear(8 * 4 * 5, 3),
    )


def channels_last(own, x):
    """Learned activations along other axes than 1, and one function for all."""
    y = own.conv(x).permute(0, 2, 3, 1)
    y = own.last(y)
    y = own.all(own.rows(y))
    return own.head(own.grouped(y.transpose(1, 3).contiguous()).flatten(1))


def axes_network():
    return Forward(
        channels_last,
        conv=nn.Conv2d(2, 4, 3, padding=1),
        last=ChebyshevLagrange(4, channel_dim=-1),
        rows=ChebyshevLagrange(5, channel_dim=1, degree=2),
        all=ChebyshevLagrange(groups=1),
        grouped=ChebyshevLagrange(4, groups=2, channel_dim=1),
        head=nn.Linear(4 * 5 * 6, 3),
    )


def norm_network():
    return nn.Sequential(
        nn.Conv2d(2, 4, 3),
        nn.GroupNorm(2, 4),
        nn.GELU(),
        nn.LayerNorm([4, 3, 4]),
        nn.Linear(4, 5, bias=False),
        nn.LayerNorm(5, elementwise_affine=False),
        nn.Softmax(1),
    )


def folded():
    network = plain()
    chebact.materialize(network, drawn(1, 3, 9, 8))
    return chebact.fold_(stirred(network))


NETWORKS = {
    "plain": (plain, (3, 9, 8)),
    "folded": (folded, (3, 9, 8)),
    "1-D": (one_dimension, (2, 31)),
    "digits": (replaced_digits, (1, 8, 8)),
    "others": (replaced_others, (3, 8, 8)),
    "shake-shake": (
        lambda: ShakeShakeResNet(1, activation="cl-extrapolate", widths=(4, 8, 8, 8), blocks=1),
        (1, 9, 9),
    ),
    "joined": (join_network, (2, 7, 8)),
    "axes": (axes_network, (2, 5, 6)),
    "norms": (norm_network, (2, 5, 6)),
}


def made(name):
    """A network of the table, and three inputs."""
    build, shape = NETWORKS[name]
    torch.manual_seed(0)
    network, x = build(), drawn(3, *shape)
    return stirred(chebact.materialize(network, x)), x.double()
