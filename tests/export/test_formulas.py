"""to_sympy, to_c and to_table against the networks themselves, the C compiler of the system, and NumPy."""

import ctypes
import shutil
import subprocess
import sys
import warnings

import numpy
import pytest
import torch
from support.other_models import drawn, filled
from torch import nn
from torch.nn import functional as F

import chebact
from chebact import ChebyshevLagrange, WeightedChebyshev
from chebact.export.reading import read_program
from chebact.networks import ResidualMLP

CHOICES = [
    {},
    {"tails": "regression"},
    {"tails": "none"},
    {"degree": 6},
    {"degree": 6, "tails": "none", "interval": (-2.0, 1.0)},
    {"interval": (0.0, 3.0)},
]


@pytest.mark.parametrize("choices", CHOICES, ids=str)
def test_the_expression_of_a_channel_has_its_values_and_its_derivative(choices):
    sympy = pytest.importorskip("sympy", reason="sympy is not installed")
    activation = filled(ChebyshevLagrange(3, dtype=torch.float64, **choices))
    expression = activation.to_sympy(channel=1, symbol="z")
    points = torch.linspace(-3, 4, 29, dtype=torch.float64, requires_grad=True)
    wanted = activation(points.unsqueeze(1).repeat(1, 3))[:, 1]
    (slopes,) = torch.autograd.grad(wanted.sum(), points)
    function = sympy.lambdify("z", expression, "numpy")
    slope = sympy.lambdify("z", expression.diff("z"), "numpy")
    numbers = points.detach().numpy()
    numpy.testing.assert_allclose(function(numbers), wanted.detach().numpy(), rtol=1e-9, atol=1e-9)
    numpy.testing.assert_allclose(slope(numbers), slopes.numpy(), rtol=1e-8, atol=1e-8)


def test_the_expressions_of_a_small_network_have_its_outputs():
    sympy = pytest.importorskip("sympy", reason="sympy is not installed")
    network = ResidualMLP(2, 2, width=2, blocks=1, shortcut="mean", activation="cl").double()
    for part in network.modules():
        if isinstance(part, ChebyshevLagrange):
            filled(part)
    outputs = chebact.to_sympy(network)
    x = drawn(5, 2).double()
    for row in x:
        values = {f"x{i}": number for i, number in enumerate(row.tolist())}
        symbols = {symbol: values[symbol.name] for symbol in sympy.Matrix(outputs).free_symbols}
        got = [float(output.subs(symbols)) for output in outputs]
        numpy.testing.assert_allclose(got, network(row.unsqueeze(0))[0].detach().numpy(), rtol=1e-7, atol=1e-9)


def broken():
    activation = ChebyshevLagrange(1)
    activation.heights.data.fill_(torch.nan)
    return activation


def perceptron():
    return nn.Sequential(
        nn.Linear(3, 7),
        ChebyshevLagrange(7),
        nn.Linear(7, 5, bias=False),
        ChebyshevLagrange(5, degree=6, tails="regression"),
        nn.Dropout(0.5),
        nn.Linear(5, 5),
        WeightedChebyshev(5),
        nn.Tanh(),
        nn.Linear(5, 4),
        nn.ReLU(),
        nn.Linear(4, 2),
        ChebyshevLagrange(2, degree=5, tails="none", interval=(-2.0, 3.0)),
        nn.Sigmoid(),
    )


NETWORKS = {
    "perceptron": perceptron,
    "residual": lambda: ResidualMLP(3, 2, width=6, blocks=2, shortcut="mean"),
    "cubic": lambda: ResidualMLP(3, 2, width=6, blocks=2, activation="cubic"),
    "one layer": lambda: nn.Linear(3, 2),
}


@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_c_compiler_of_the_system_computes_what_the_network_does(name, real, tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler cc on this machine")
    torch.manual_seed(0)
    network = NETWORKS[name]().double().eval()
    for part in network.modules():
        if isinstance(part, (ChebyshevLagrange, WeightedChebyshev)):
            filled(part)
    path = chebact.to_c(network, tmp_path / "network.c", real=real)
    library = tmp_path / "network.so"
    flags = ["-std=c99", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, str(path), "-o", str(library), "-lm"], check=True, capture_output=True, text=True)
    kind = ctypes.c_float if real == "float" else ctypes.c_double
    function = ctypes.CDLL(str(library)).network
    x = drawn(20, 3).double()
    wanted = network(x).detach().numpy()
    for row, values in zip(x.tolist(), wanted, strict=True):
        out = (kind * 2)()
        function((kind * 3)(*row), out)
        size = max(1.0, numpy.abs(values).max())
        numpy.testing.assert_allclose(list(out), values, rtol=0, atol=(1e-6 if real == "float" else 1e-12) * size)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda path: chebact.to_c(nn.Sequential(nn.Conv2d(1, 1, 1)), path / "a.c"), "; pass example, an input with"),
        (lambda path: chebact.to_c(nn.Sequential(nn.Tanh()), path / "a.c"), "network must begin with a linear layer"),
        (
            lambda path: chebact.to_c(nn.Linear(1, 1), path / "no" / "a.c"),
            "path must be a file in a folder that exists, got '.*; pass the name of a file, or make its folder first",
        ),
        (lambda path: chebact.to_c(nn.Linear(1, 1), path / "a.c", name="2 x"), "name must be an identifier of C"),
        (
            lambda path: chebact.to_c(nn.Linear(1, 1), path / "a.c", real="half"),
            "real must be one of float, double, got 'half'",
        ),
        (lambda path: chebact.to_c(3, path / "a.c"), "network must be a torch.nn.Module, got 3"),
        (lambda path: ChebyshevLagrange().to_sympy(), "channels must be known, got None.*before to_sympy"),
        (lambda path: ChebyshevLagrange(2).to_table(bits=40), "bits must be between 2 and 20, got 40"),
        (lambda path: ChebyshevLagrange(2).to_table(range=(1, 0)), r"range must be \(a, b\) with a < b"),
        (lambda path: broken().to_table(), r"heights must be finite and below 1e307, got nan \(float\); train"),
        (lambda path: broken().to_sympy(), "heights must be finite"),
        (
            lambda path: ChebyshevLagrange(1).to_sympy(symbol=""),
            r"symbol must be the name of one, got '' \(str\); pass",
        ),
        (
            lambda path: chebact.to_c(nn.Linear(1, 1), path / ("a" * 300)),
            "path must be a file that can be written, .*, which raised OSError: File name too long; pass another one",
        ),
        (lambda path: ChebyshevLagrange(1).to_sympy(symbol=3), r"symbol must be the name of one, got 3 \(int\)"),
        *(
            (
                lambda path, name=name: chebact.to_c(nn.Linear(1, 1), path / "a.c", name=name),
                f"name must be one that C and the file do not use, got '{name}'",
            )
            for name in (
                "linear",
                "NAN",
                "isnan",
                "M_PI",
                "FP_NAN",
                "free",
                "float_t",
                "tanhf",
                "__x",
                "conjf",
                "strspn",
            )
        ),
        (lambda path: chebact.to_c(nn.Linear(1, 1), None), r"path must be a path, got None"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_written_is_said(call, words, tmp_path):
    with pytest.raises((ValueError, TypeError), match=words):
        call(tmp_path)


class Own(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.line, self.function = nn.Linear(2, 2), function

    def forward(self, x):
        return self.function(self.line(x), x)


class Twice(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape

    def forward(self, x):
        return self.shape(x) + x


def assigned(y, x):
    y[:, 0] = x[:, 1]
    return y


class Two(nn.Module):
    def forward(self, x, y):
        return x + y


def scripted():
    with warnings.catch_warnings(action="ignore"):  # that it is deprecated
        return torch.jit.trace(nn.Linear(2, 2), torch.zeros(1, 2))


ODD = {
    "x / 0": (Own(lambda y, x: y / 0), "got div by 0"),
    "unknown": (Own(lambda y, x: y.cumsum(1)), "network must be made of linear layers, .*, got cumsum; export other"),
    "random": (Own(lambda y, x: F.dropout(y)), "got (bernoulli|native_dropout|rand|dropout|empty_like)"),
    "slice": (Own(assigned), "got a write into a slice; export other"),
    "meta": (nn.Sequential(nn.Linear(2, 2, device="meta")), "must have numbers, got 0.weight on the meta device; call"),
    "script": (
        scripted(),
        "network must be a module of Python, got TorchScript in it; pass the module that it was made",
    ),
    "noise": (Own(lambda y, x: y + torch.rand(2)), "got rand, which draws random numbers"),
    "branch": (Own(lambda y, x: y if y.sum() > 0 else x), "torch.export can trace, got Own, which raised"),
    "in place": (
        nn.Sequential(nn.Linear(2, 2), Twice(ChebyshevLagrange(2, inplace=True))),
        r"got 1.shape \(ChebyshevLagrange\), which writes into a vector that is read elsewhere",
    ),
    "the input": (nn.Sequential(nn.Identity()), "must begin with a linear layer"),
    "two arguments": (Two(), "network must take one tensor, got the arguments x, y; join"),
    "activation first": (nn.Sequential(ChebyshevLagrange(2), nn.Linear(2, 2)), "must begin with a linear layer"),
    "channels": (nn.Sequential(nn.Linear(2, 2), ChebyshevLagrange(3)), "a row of 2 numbers, .*x must have 3 channels"),
    "widths": (nn.Sequential(nn.Linear(2, 2), nn.Linear(3, 2)), r"a row of 2 numbers, .*\(1x2 and 3x2\); pass"),
    "lazy": (nn.Sequential(nn.LazyLinear(2)), "network must have been called once"),
    "nan": (nn.Sequential(nn.Linear(1, 1), broken()), "finite weights and heights"),
}


@pytest.mark.parametrize("name", ODD)
def test_networks_that_would_come_out_wrong_are_refused(name):
    network, words = ODD[name]
    with pytest.raises(ValueError, match=words):
        read_program(network)


def test_a_vector_added_to_itself_is_twice_the_vector():
    assert [step.inputs for step in read_program(Own(lambda y, x: y + y)).steps] == [(0,), (1, 1)]


def test_the_table_of_a_constant_is_exact_and_nan_stays_nan():
    table = ChebyshevLagrange(1, init="zeros").to_table()
    assert table.error == 0
    numpy.testing.assert_array_equal(table([torch.nan, 1e9]), [numpy.nan, 0.0])


@pytest.mark.parametrize("bits", [4, 8, 12])
@pytest.mark.parametrize("choices", CHOICES, ids=str)
def test_no_point_of_the_range_is_further_off_than_the_table_says(bits, choices):
    activation = filled(ChebyshevLagrange(3, dtype=torch.float64, **choices))
    table = activation.to_table(bits, (-2.5, 3.5), channel=2)
    assert len(table.entries) == 2**bits
    assert numpy.abs(table.entries).max() <= 2 ** (bits - 1) - 1
    x = numpy.linspace(-2.5, 3.5, 100_001)[:-1]
    wanted = activation(torch.from_numpy(x).unsqueeze(1).repeat(1, 3))[:, 2].detach().numpy()
    difference = numpy.abs(table(x) - wanted).max()
    assert difference <= table.error * (1 + 1e-9)
    assert difference >= 0.9 * table.error


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("degree", [40, 3])
def test_numbers_too_large_for_float64_are_no_table(degree):
    """The entries were arbitrary and the error nan."""
    activation = ChebyshevLagrange(1, degree=degree, tails="none", dtype=torch.float64)
    activation.heights.data.copy_(drawn(1, degree + 1).double() * (1 if degree == 40 else 1e300))
    with pytest.raises(ValueError, match=r"range must be one where .* got \(-1000000000.0, 1000000000.0\).*; pass the"):
        activation.to_table(range=(-1e9, 1e9))


class Writer:
    def __init__(self):
        self.figures, self.histograms = {}, {}

    def add_figure(self, tag, figure, step):
        self.figures[tag, step] = figure

    def add_histogram(self, tag, values, step):
        self.histograms[tag, step] = values


def test_a_writer_gets_a_figure_and_two_histograms_per_activation():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    model = nn.Sequential(nn.Linear(3, 6), ChebyshevLagrange(6), nn.Linear(6, 2), ChebyshevLagrange(2))
    writer = Writer()
    assert chebact.log_activations(model, writer, 7, drawn(50, 3)) == 2
    assert set(writer.figures) == {("activations/1", 7), ("activations/3", 7)}
    assert len(writer.figures["activations/1", 7].axes[0].lines) >= 4
    assert writer.histograms["activations/1/inputs", 7].shape == (50, 6)
    assert torch.equal(writer.histograms["activations/3/heights", 7], model[3].heights)
    with pytest.raises(TypeError, match=r"writer must be an object with add_figure\(.*\), got 3 \(int\); pass a"):
        chebact.log_activations(model, 3, 0)
    with pytest.raises(TypeError, match=r"model must be a torch.nn.Module, got 'x' \(str\)"):
        chebact.log_activations("x", writer, 0)
    with pytest.raises(TypeError, match=r"step must be an integer, got '1' \(str\)"):
        chebact.log_activations(model, writer, "1")
    with pytest.raises(ValueError, match=r"data must be an input of the model.*shape \(2, 5\)"):
        chebact.log_activations(model, writer, 0, drawn(2, 5))
    with pytest.raises(ValueError, match="model must have a learned activation"):
        chebact.log_activations(nn.Linear(1, 1), writer, 0)


@pytest.mark.parametrize(
    ("missing", "call"),
    [
        ("matplotlib.figure", lambda: chebact.log_activations(nn.Sequential(ChebyshevLagrange(2)), Writer(), 0)),
        ("sympy", lambda: ChebyshevLagrange(2).to_sympy()),
    ],
    ids=["matplotlib", "sympy"],
)
def test_a_missing_package_is_named_with_the_command_that_brings_it(missing, call, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=f"{missing.partition('.')[0]} must be installed.*pip install"):
        call()


def test_tensorboard_s_writer_takes_them(tmp_path):
    tensorboard = pytest.importorskip("torch.utils.tensorboard", reason="tensorboard is not installed")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    writer = tensorboard.SummaryWriter(str(tmp_path))
    chebact.log_activations(nn.Sequential(ChebyshevLagrange(2)), writer, 1, drawn(20, 2))
    writer.close()
    assert any(path.stat().st_size > 1000 for path in tmp_path.iterdir())
