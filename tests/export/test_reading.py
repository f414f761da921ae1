"""What is read from a network as steps: what is refused, what SymPy writes, and the work space of C."""

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.other_models import drawn, filled
from torch import nn
from torch.nn import functional as F

import chebact
from chebact import ChebyshevLagrange
from chebact.export.c.buffers import place_vectors
from chebact.export.program import Program, Step
from chebact.export.reading import read_program


class Forward(nn.Module):
    def __init__(self, function, layer=None):
        super().__init__()
        self.function, self.layer = function, layer

    def forward(self, x):
        return self.function(self.layer, x)


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls += 1
        return 2 * x


def with_infinity():
    layer = nn.Conv2d(3, 1, 1)
    layer.weight.data[0, 0] = torch.inf
    return layer


PLANES = (1, 3, 8, 8)
REFUSED = {
    "three dimensions": (nn.Sequential(nn.Conv3d(1, 1, 1)), (1, 1, 2, 2, 2), r"got conv3d of 0 \(Conv3d\); export"),
    "transposed": (nn.ConvTranspose2d(3, 1, 1), PLANES, "got conv_transpose2d"),
    "circular": (nn.Conv2d(3, 1, 3, padding=1, padding_mode="circular"), PLANES, "got pad with mode 'circular'"),
    "no statistics": (
        nn.Sequential(nn.BatchNorm2d(3, track_running_stats=False)),
        PLANES,
        r"0 \(BatchNorm2d\), which has no running statistics",
    ),
    "instance norm": (nn.InstanceNorm2d(3), PLANES, "got instance_norm"),
    "no divisor": (nn.AdaptiveAvgPool2d(3), PLANES, r"from \(8, 8\) to \(3, 3\), which is no divisor"),
    "indices": (Forward(lambda _, x: F.max_pool2d(x, 2, return_indices=True)[0]), PLANES, "max_pool2d_with_indices"),
    "attention": (nn.TransformerEncoderLayer(4, 2, 8), (1, 5, 4), "got scaled_dot_product_attention of self_attn"),
    "two outputs": (Forward(lambda _, x: (x, x)), PLANES, "output of network must be one tensor"),
    "a constant": (Forward(lambda _, x: torch.ones(1, 2)), PLANES, "network must depend on its input"),
    "state": (Counts(), PLANES, "network must have no state, got a call that changes calls"),
    "dropout": (Forward(lambda _, x: F.dropout(x)), PLANES, "got native_dropout"),
    "half": (Forward(lambda _, x: x.half().float()), PLANES, "got _to_copy to torch.float16"),
    "infinite": (with_infinity(), PLANES, "finite weights"),
    "infinite number": (Forward(lambda _, x: x + torch.inf), PLANES, "got add with a number that is not finite"),
    "rows of planes": (
        Forward(lambda layer, x: layer(x.view(-1, 1, 8, 8)), nn.Conv2d(1, 1, 1)),
        PLANES,
        r"got conv2d of layer \(Conv2d\) on 3 rows per input",
    ),
    "slopes per channel": (nn.PReLU(3), PLANES, "got prelu with a slope per channel"),
    "axes apart": (Forward(lambda _, x: x.mean((1, 3))), PLANES, "got mean over axes that are not neighbours"),
    "two vectors": (Forward(lambda _, x: x @ x), PLANES, "got matmul of two tensors that are not constant"),
    "branch on numbers": (
        Forward(lambda _, x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))),
        PLANES,
        "got (sum|gt|cond)",
    ),
    "lazy": (nn.Sequential(nn.Conv2d(3, 2, 1), ChebyshevLagrange()), PLANES, "network must have been called once"),
    "replicas": (ChebyshevLagrange(3, replicas=2), (2, 1, 3), "network must be one network, got 2 replicas in it"),
    "another shape": (
        nn.Conv2d(3, 1, 1),
        (1, 2, 8, 8),
        r"example must be an input of the network, got shape \(1, 2, 8, 8\), which raised RuntimeError: Given groups",
    ),
    "no batch axis": (nn.Linear(3, 2), (3,), r"example must be an input with its batch axis, .* got shape \(3,\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_known_is_refused_by_its_name(name):
    network, shape, words = REFUSED[name]
    with pytest.raises(ValueError, match=words):
        read_program(network, drawn(*shape))


NO_EXAMPLE = {
    "convolution": nn.Conv2d(3, 1, 1),
    "convolution that could take a row": nn.Sequential(nn.Conv1d(1, 1, 3, padding=1), nn.Linear(12, 2)),
    "convolution before": nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(144, 2)),
    "part of the input": Forward(lambda layer, x: layer(x[:, -2:]), nn.Linear(2, 2)),
    "rows of the input": Forward(lambda layer, x: layer(x.view(-1, 3)), nn.Linear(3, 2)),
    "function": nn.Sequential(nn.Tanh(), nn.Linear(2, 2)),
}


@pytest.mark.parametrize("name", NO_EXAMPLE)
def test_a_network_that_does_not_tell_the_size_of_its_input_asks_for_an_example(name):
    with pytest.raises(ValueError, match="pass example, an input with its batch axis"):
        read_program(NO_EXAMPLE[name])


@pytest.mark.parametrize(
    "network",
    [
        nn.Sequential(nn.Flatten(), nn.Dropout(), nn.Linear(3, 2)),
        Forward(lambda layer, x: layer(x.view(x.size(0), -1)), nn.Linear(3, 2)),
        Forward(lambda layer, x: layer(x) + x.mean(1, keepdim=True), nn.Linear(3, 2)),
    ],
)
def test_a_linear_layer_that_takes_the_input_tells_its_size(network):
    assert read_program(network).inputs == 3


def test_a_number_that_float_cannot_hold_is_refused(tmp_path):
    layer = nn.Linear(1, 1).double()
    layer.weight.data.fill_(1e39)
    with pytest.raises(ValueError, match=r"numbers that fit in float32, got 1e\+39; pass real='double'"):
        chebact.to_c(layer, tmp_path / "network.c")
    layer.weight.data.fill_(1e-60)
    assert "{\n    0.0f\n}" in chebact.to_c(layer, tmp_path / "network.c").read_text()


def symbolic():
    return nn.Sequential(
        nn.Unflatten(1, (2, 2)),
        ChebyshevLagrange(2, channel_dim=1, degree=2, tails="none"),
        nn.BatchNorm1d(2),
        nn.Linear(2, 3),
        nn.Flatten(),
        Forward(lambda _, x: torch.cat((F.gelu(x)[:, ::2], x[:, 1:] * x[:, :1]), 1).unflatten(1, (2, 4)).sum(1)),
        Forward(lambda _, x: F.pad(F.softplus(x) - x / 2, (1, 0), value=0.5)),
    )


def test_a_formula_knows_the_same_steps_but_those_of_planes():
    sympy = pytest.importorskip("sympy", reason="sympy is not installed")
    torch.manual_seed(0)
    network = symbolic().double().eval()
    filled(network[1])
    network[2].running_mean.normal_()
    x = drawn(4, 4).double()
    outputs = chebact.to_sympy(network, example=x)
    symbols = sympy.symbols("x:4")
    for row, wanted in zip(x, network(x).detach().numpy(), strict=True):
        values = dict(zip(symbols, row.tolist(), strict=True))
        got = [float(sympy.sympify(output).subs(values)) for output in outputs]
        numpy.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match=r"to be a formula, got convolution; write it with chebact.to_c"):
        chebact.to_sympy(nn.Conv2d(1, 1, 1), example=drawn(1, 1, 2, 2))


@st.composite
def programs(draw):
    """Steps that read any earlier vectors; `add` and `relu` may write over one of them."""
    sizes, steps = [draw(st.integers(1, 9))], []
    for index in range(draw(st.integers(1, 12))):
        inputs = tuple(draw(st.lists(st.integers(0, index), min_size=1, max_size=2)))
        pointwise = draw(st.booleans()) and len({sizes[each] for each in inputs}) == 1
        sizes.append(sizes[inputs[0]] if pointwise else draw(st.integers(1, 9)))
        steps.append(Step("add" if pointwise else "linear", inputs, sizes[-1]))
    return Program(sizes[0], tuple(steps))


@given(programs())
@settings(max_examples=300, deadline=None)
def test_a_vector_is_there_when_it_is_read(program):
    places, space = place_vectors(program, {"add"})
    memory = [0] * space
    for index, step in enumerate(program.steps, 1):
        for each in step.inputs:
            if each:
                size = program.steps[each - 1].size
                assert memory[places[each] : places[each] + size] == [each] * size
        if index == len(program.steps):
            return
        held = {k for each in step.inputs if each for k in range(places[each], places[each] + step.size)}
        target = range(places[index], places[index] + step.size)
        assert step.kind == "add" or not any(
            set(target) & set(range(places[each], places[each] + program.steps[each - 1].size))
            for each in step.inputs
            if each
        )
        assert step.kind != "add" or set(target) <= held or not set(target) & held
        memory[target.start : target.stop] = [index] * step.size
