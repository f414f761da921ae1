"""to_c of convolutional networks: the C compiler of the system against torch in float64."""

import copy

import pytest
import torch
from support.c_compiler import assert_c_agrees
from support.convolutional_networks import NETWORKS, Forward, made
from support.other_models import drawn
from torch import nn
from torch.nn import functional as F

import chebact
from chebact.export.c.calls import CALLS
from chebact.export.elements import ELEMENTS, PAIRS
from chebact.export.reading import read_program


@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("name", NETWORKS)
def test_c_computes_what_a_convolutional_network_does(name, real, tmp_path):
    network, x = made(name)
    assert_c_agrees(network, x, tmp_path, real)


class Branches(nn.Module):
    """Many layers on the same input, their results side by side: one file tests all of them."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        return torch.cat([layer(x).flatten(1) for layer in self.layers], 1)


CONVOLUTIONS = [
    nn.Conv2d(4, 3, 1),
    nn.Conv2d(4, 6, (3, 2), stride=(2, 3), padding=(2, 1), groups=2),
    nn.Conv2d(4, 4, 3, padding="same", dilation=(2, 3), groups=4, bias=False),
    nn.Conv2d(4, 2, 4, padding="same"),
    nn.Conv2d(4, 2, (2, 5), padding="valid", dilation=(3, 1)),
    nn.Conv2d(4, 2, 3, stride=4, padding=5, dilation=2),
    nn.Conv2d(4, 2, 2, padding=7, stride=5),
    nn.Conv2d(4, 2, (9, 8)),
]
POOLS = [
    nn.MaxPool2d(2),
    nn.MaxPool2d(3, 2, 1),
    nn.MaxPool2d((3, 2), (1, 3), (1, 0), dilation=(2, 1), ceil_mode=True),
    nn.AvgPool2d(3),
    nn.AvgPool2d(3, 2, 1),
    nn.AvgPool2d(3, 2, 1, count_include_pad=False),
    nn.AvgPool2d((4, 3), (3, 2), (2, 1), ceil_mode=True),
    nn.AvgPool2d((4, 3), (3, 2), (2, 1), ceil_mode=True, count_include_pad=False),
    nn.AvgPool2d(2, 3, divisor_override=5),
    nn.AdaptiveAvgPool2d(1),
    nn.AdaptiveAvgPool2d((3, 1)),
    nn.AdaptiveAvgPool2d((None, 4)),
]


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")  # torch's, of its own speed
@pytest.mark.parametrize("layers", [CONVOLUTIONS, POOLS], ids=["convolutions", "pools"])
def test_odd_strides_paddings_dilations_and_groups(layers, tmp_path):
    assert_c_agrees(copy.deepcopy(Branches(*layers)), drawn(2, 4, 9, 8).double(), tmp_path)


LAYERS_1D = [
    nn.Conv1d(4, 6, 3, stride=2, padding=3, dilation=2, groups=2),
    nn.Conv1d(4, 3, 4, padding="same"),
    nn.MaxPool1d(3, 2, 1, dilation=2),
    nn.MaxPool1d(4, 3, 2, ceil_mode=True),
    nn.AvgPool1d(4, 3, 2, ceil_mode=True),
    nn.AvgPool1d(3, 2, 1, count_include_pad=False),
    nn.AdaptiveAvgPool1d(3),
]


def test_layers_in_one_dimension(tmp_path):
    assert_c_agrees(copy.deepcopy(Branches(*LAYERS_1D)), drawn(2, 4, 12).double(), tmp_path)


FUNCTIONS = [
    *(nn.ReLU(), nn.ReLU6(), nn.Tanh(), nn.Sigmoid(), nn.LeakyReLU(0.2), nn.ELU(1.3), nn.SELU(), nn.CELU(0.7)),
    *(nn.GELU(), nn.GELU("tanh"), nn.SiLU(), nn.Mish(), nn.Softplus(), nn.Softplus(2.0, 3.0), nn.LogSigmoid()),
    *(nn.Hardswish(), nn.Hardsigmoid(), nn.Hardtanh(-0.5, 2.0), nn.PReLU(), nn.Softsign(), nn.Tanhshrink()),
    *(chebact.Cubic(), nn.Softmin(1), nn.Identity()),
    *map(
        lambda function: Forward(lambda own, x: function(x)),
        [
            lambda x: x.clamp(min=-0.5),
            lambda x: x.clamp(max=0.5),
            lambda x: x.abs() + x.sin() - x.cos() * (x / 8).exp(),
            lambda x: x**2 + x**3 + x**4,
            lambda x: torch.minimum(x, -x) - torch.maximum(x, 1 / (3 + x.abs())),
            lambda x: torch.add(x, x[:1], alpha=-0.3) / (1 + x * x),
            lambda x: torch.lerp(x, torch.relu(x), 0.25).square(),
            lambda x: F.relu(x.clone(), inplace=True) * F.gelu(x, approximate="tanh") - 1,
            lambda x: torch.stack((x, x.sum(1, keepdim=True).expand_as(x)), 1),
            lambda x: torch.log_softmax(torch.cat(x.chunk(2, 1)[::-1], 1), 1).float().to(x.dtype),
        ],
    ),
]


@pytest.mark.parametrize("real", ["float", "double"])
def test_every_function_of_an_element(real, tmp_path):
    network = copy.deepcopy(Branches(*FUNCTIONS))
    x = 3 * drawn(3, 16).double()
    x[0, :4] = torch.tensor([30.0, -30.0, 0.0, -3.0])
    for layer in network.layers:  # relative to the largest output of this layer alone
        layer.double()
    assert_c_agrees(network, x, tmp_path, real)


def test_every_kind_of_step_has_been_compiled():
    networks = [(network, x[:1].float()) for network, x in map(made, ("plain", "joined", "axes", "norms"))]
    networks += [(Branches(*FUNCTIONS), drawn(1, 16)), (Branches(*POOLS), drawn(1, 4, 9, 8))]
    kinds = {step.kind for network, x in networks for step in read_program(network, x).steps}
    assert kinds == {*ELEMENTS, *PAIRS, *CALLS}
