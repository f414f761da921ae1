"""to_c of convolutional networks: the C compiler of the system against torch in float64."""

import copy
import importlib.util
import subprocess
from pathlib import Path

import pytest
import torch
from support.c_compiler import STRICT, assert_c_agrees, compile_c, compiler, run_c
from support.other_models import ResidualNet as Others
from support.other_models import drawn, filled
from torch import nn
from torch.nn import functional as F

import chebact
from chebact import ChebyshevLagrange, WeightedChebyshev
from chebact.export.c.calls import CALLS
from chebact.export.elements import ELEMENTS, PAIRS
from chebact.export.reading import read_program
from chebact.lab.images.network import ShakeShakeResNet

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
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
    spec = importlib.util.spec_from_file_location("residual_digits", EXAMPLES / "residual_digits.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    network = stirred(module.ResidualNet(width=6))
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
    networks = [(network, x[:1].float()) for network, x in map(made, NETWORKS)]
    networks += [(Branches(*FUNCTIONS), drawn(1, 16)), (Branches(*POOLS), drawn(1, 4, 9, 8))]
    kinds = {step.kind for network, x in networks for step in read_program(network, x).steps}
    assert kinds == {*ELEMENTS, *PAIRS, *CALLS}


def test_a_network_in_training_is_read_as_in_evaluation_and_stays_in_training(tmp_path):
    network, x = made("shake-shake")
    network.train()
    network.blocks[0].eval()
    before, modes = copy.deepcopy(network.state_dict()), [part.training for part in network.modules()]
    state = torch.get_rng_state()
    training = chebact.to_c(network, tmp_path / "training.c", example=x[:1])
    assert [part.training for part in network.modules()] == modes
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(each, before[name]) for name, each in network.state_dict().items())
    evaluation = chebact.to_c(network.eval(), tmp_path / "evaluation.c", example=x[:1])
    assert training.read_text() == evaluation.read_text()


def test_dropout_in_forward_follows_the_mode(tmp_path):
    network = Forward(lambda own, x: own.line(F.dropout(x, training=own.training)), line=nn.Linear(3, 2)).train()
    assert [step.kind for step in read_program(network, drawn(1, 3)).steps] == ["linear"]


@pytest.mark.parametrize("memory", [torch.channels_last, torch.contiguous_format])
def test_the_memory_format_of_the_example_does_not_matter(memory, tmp_path):
    network, x = made("plain")
    path = chebact.to_c(network, tmp_path / "network.c", example=x.to(memory_format=memory))
    assert path.read_text() == chebact.to_c(network, tmp_path / "again.c", example=drawn(1, 3, 9, 8)).read_text()
    assert "takes 216 numbers of shape (3, 9, 8) in C order" in path.read_text()


def test_the_work_space_may_be_an_argument(tmp_path):
    network, x = made("digits")
    path = chebact.to_c(network, tmp_path / "network.c", example=x, real="double", work="argument")
    text = path.read_text()
    assert "void network(const real *in, real *out, real *work)" in text
    space = int(text.partition("work space is ")[2].partition(" ")[0])
    wanted = network.double().eval()(x).detach().numpy()
    got = run_c(compile_c(path), x, 10, "double", space)
    assert abs(got - wanted).max() < 1e-12 * abs(wanted).max()
    linear = chebact.to_c(nn.Linear(3, 2), tmp_path / "linear.c", work="argument")  # which needs no work space
    compile_c(linear)


def test_a_large_work_space_is_not_put_on_the_stack(tmp_path):
    network = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 1, 1))
    with pytest.raises(ValueError, match="work must be 'argument' for a work space of more than 262144 bytes, got 'st"):
        chebact.to_c(network, tmp_path / "network.c", example=drawn(1, 1, 100, 100))
    path = chebact.to_c(network, tmp_path / "network.c", example=drawn(1, 1, 100, 100), work="argument")
    assert "80000 numbers (320000 bytes)" in path.read_text()


def test_the_stack_is_as_large_as_the_file_says(tmp_path):
    """That of gcc's own count, which has a few registers and addresses more."""
    if (
        "Free Software Foundation"
        not in subprocess.run([compiler(), "--version"], capture_output=True, text=True).stdout
    ):
        pytest.skip("cc is not gcc, which counts the stack")
    network, x = made("shake-shake")
    path = chebact.to_c(network, tmp_path / "network.c", example=x)
    space = int(path.read_text().partition(" numbers (")[2].partition(" bytes")[0])
    compile_c(path, f"-Wstack-usage={space + 512}")


def test_equal_tables_are_one_and_norms_are_part_of_the_convolution(tmp_path):
    shared = nn.Conv2d(2, 2, 3, padding=1)
    network = nn.Sequential(shared, nn.BatchNorm2d(2), nn.ReLU(), shared, nn.ReLU(), shared)
    path = chebact.to_c(network, tmp_path / "network.c", example=drawn(1, 2, 5, 5))
    text = path.read_text()
    assert text.count("static const real weight") == 2  # the first one has the norm in it
    assert text.count("static const window") == 1
    assert "affine" not in text
    assert "real work[100];" in text  # two planes of two channels, in place of five


def test_a_norm_of_a_vector_that_is_read_elsewhere_is_not_folded(tmp_path):
    network = Forward(
        lambda own, x: own.norm(y := own.conv(x)) + y, conv=nn.Conv2d(2, 2, 3), norm=nn.BatchNorm2d(2, momentum=None)
    )
    assert_c_agrees(stirred(network), drawn(2, 2, 5, 5).double(), tmp_path)


MAIN = """
#include <stdio.h>
#include "network.c"
int main(void)
{
    static real in[%d], out[%d];
    for (int k = 0; k < %d; ++k) in[k] = (real)((k * 37 %% 101) - 50) / 25;
    network(in, out);
    for (int k = 0; k < %d; ++k) printf("%%.17g\\n", (double)out[k]);
    return 0;
}
"""


@pytest.mark.parametrize("name", ["plain", "joined", "shake-shake"])
def test_nothing_is_read_or_written_outside_of_its_vector(name, tmp_path):
    network, x = made(name)
    inputs = x[0].numel()
    outputs = network.double().eval()(x[:1]).numel()
    chebact.to_c(network, tmp_path / "network.c", example=x, real="double")
    main = tmp_path / "main.c"
    main.write_text(MAIN % (inputs, outputs, inputs, outputs))
    checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"]
    command = [compiler(), *STRICT, *checks, str(main), "-o", str(tmp_path / "main"), "-lm"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("the compiler has no sanitizers")
    result = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    numbers = torch.tensor([(k * 37 % 101 - 50) / 25 for k in range(inputs)], dtype=torch.float64)
    wanted = network(numbers.reshape(1, *x.shape[1:])).detach().flatten()
    got = torch.tensor([float(line) for line in result.stdout.split()], dtype=torch.float64)
    assert (got - wanted).abs().max() <= 1e-12 * wanted.abs().max()
