"""A network as a polynomial: the same outputs without tails, or a refusal that names what is in the way."""

import pytest
import torch
from torch import nn

import chebact
from chebact import ChebyshevLagrange, NotPolynomialError
from chebact.networks import ResidualMLP
from chebact.ranges.operations import find_foreign_operations


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def network(scale=0.1, **options):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), ChebyshevLagrange(4, init="gelu", **options), nn.Linear(4, 2))
    with torch.no_grad():
        net[0].weight.mul_(scale)
        net[0].bias.mul_(scale)
    return net


@pytest.mark.parametrize(
    "options", [{}, {"degree": 2}, {"tails": "regression"}, {"degree": 7, "interval": (-2.0, 3.0)}]
)
def test_the_outputs_stay_and_the_model_too(options):
    net, x = network(**options), drawn(50, 3)
    result = chebact.to_polynomial(net, calibration=[x[:20], x[20:]])
    assert result.model[1].tails == "none"
    assert net[1].tails == options.get("tails", "extrapolate")
    assert torch.equal(result.model[1].heights, net[1].heights)
    largest = (result.model(x) - net(x)).abs().max().item()
    assert result.report.largest_change == pytest.approx(largest, abs=1e-9)
    assert largest <= 4e-7
    assert result.report.largest_output == pytest.approx(net(x).abs().max().item(), rel=1e-6)
    assert result.report.degrees == {"1": options.get("degree", 3)}
    far = 1e3 * x
    assert (result.model(far) - net(far)).abs().max() > 1.0  # the tails are gone


def test_the_polynomial_is_one_in_float64():
    """Along a line the outputs are a polynomial of one variable: differences of order degree + 1 vanish."""
    net = network(degree=3).double()
    model = chebact.to_polynomial(net, calibration=drawn(9, 3).double()).model
    t = torch.arange(5, dtype=torch.float64)[:, None]
    outputs = model(drawn(1, 3).double() + 40 * t)
    assert net(drawn(1, 3).double() + 40 * t).diff(n=4, dim=0).abs().max() > 1e-3
    assert outputs.diff(n=4, dim=0).abs().max() <= 1e-12 * outputs.abs().max()


def test_channels_that_leave_the_interval_are_listed():
    net, x = network(scale=1.0), drawn(200, 3)
    used = net[0](x).detach().abs().amax(dim=0)
    outside = [str(channel) for channel in range(4) if used[channel] > 0.95]
    assert 0 < len(outside) < 4
    with pytest.raises(NotPolynomialError, match=f"1: {len(outside)} of 4 channels: {outside[0]} \\(") as refusal:
        chebact.to_polynomial(net, calibration=x)
    assert "train with chebact.range_penalty" in str(refusal.value)
    assert refusal.value.ranges["1"].channels_beyond(0.05) == [(int(channel),) for channel in outside]
    widest = float(used.max())
    assert chebact.to_polynomial(network(scale=0.95 / widest - 1e-6), calibration=x).report.headroom >= 0.05
    with pytest.raises(NotPolynomialError):
        chebact.to_polynomial(network(scale=0.95 / widest + 1e-3), calibration=x)


def test_replicas_are_named():
    net = ResidualMLP(3, replicas=2, width=4, blocks=1)
    with torch.no_grad():
        net.first.weight[1] *= 100.0
    with pytest.raises(NotPolynomialError, match=r"replica 1 channel \d"):
        chebact.to_polynomial(net, calibration=drawn(2, 20, 3))


class Functional(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.activation, self.function = ChebyshevLagrange(4), function

    def forward(self, x):
        return self.function(self.activation(x))


FOREIGN = [
    (nn.ReLU(), r"1 \(ReLU\): relu"),
    (nn.Tanh(), r"1 \(Tanh\): tanh"),
    (nn.GELU(), r"1 \(GELU\): gelu"),
    (nn.LayerNorm(4), r"1 \(LayerNorm\): native_layer_norm"),
    (nn.Softmax(dim=1), r"1 \(Softmax\): _softmax"),
    (nn.BatchNorm1d(4, track_running_stats=False), r"1 \(BatchNorm1d\): native_batch_norm"),
    (chebact.PrototypeSimilarity(4), "PrototypeSimilarity"),
    (Functional(torch.relu), r"1 \(Functional\): relu"),
    (Functional(lambda x: x if x.sum() > 0 else -x), r"1 \(Functional\): "),
    (Functional(lambda x: x / x.sum()), r"1 \(Functional\): div"),
    (Functional(lambda x: 2**x), r"1 \(Functional\): pow"),
    (Functional(lambda x: chebact.functional.chebyshev_lagrange(x, torch.zeros(4, 4))), r"1 \(Functional\): "),
]


@pytest.mark.parametrize(("part", "message"), FOREIGN)
def test_what_is_not_polynomial_is_named(part, message):
    model = nn.Sequential(ChebyshevLagrange(4, init="zeros"), part)
    with pytest.raises(NotPolynomialError, match=message):
        chebact.to_polynomial(model, calibration=0.5 * drawn(3, 4).clamp(-1, 1))


def test_max_pooling_is_named():
    model = nn.Sequential(ChebyshevLagrange(2, init="zeros"), nn.MaxPool2d(2))
    with pytest.raises(NotPolynomialError, match=r"MaxPool2d.*average pooling"):
        chebact.to_polynomial(model, calibration=torch.zeros(1, 2, 4, 4))


def test_polynomial_operations_are_not_named():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3),
        nn.BatchNorm2d(4),
        Functional(lambda x: torch.cat([x + x, x * x - x / 3, -(x**2)], dim=1)),
        nn.AvgPool2d(2),
        nn.Dropout(0.5),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        chebact.Cubic(),
        nn.Linear(12, 2),
    )
    assert find_foreign_operations(model, drawn(2, 2, 6, 6)) == []


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, "calibration or box must be given, got neither"),
        ({"calibration": torch.zeros(2, 3), "margin": -0.1}, ValueError, "margin must be at least 0"),
        ({"calibration": []}, ValueError, "calibration must be one batch or more"),
    ],
)
def test_wrong_arguments(options, error, message):
    with pytest.raises(error, match=message):
        chebact.to_polynomial(network(), **options)


def test_a_folded_model_is_refused():
    with pytest.raises(NotPolynomialError, match="model must not be folded, got 1"):
        chebact.to_polynomial(
            nn.Sequential(ChebyshevLagrange(2), chebact.fold_(ChebyshevLagrange(2))), calibration=torch.zeros(1, 2)
        )


def test_the_report_prints():
    report = chebact.to_polynomial(network(), calibration=drawn(9, 3)).report
    lines = str(report).splitlines()
    assert lines[0].split() == ["activation", "degree", "channels", "interval", "by", "least", "largest", "headroom"]
    assert lines[1].split()[:5] == ["1", "3", "4", "[-1,", "1]"]
    assert "change by at most" in lines[-1]


class Rounded(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.activation, self.how = ChebyshevLagrange(2), how

    def forward(self, x):
        return self.how(self.activation(x))


@pytest.mark.parametrize(
    ("how", "name"),
    [
        (lambda x: torch.div(x, 2, rounding_mode="floor"), "div"),
        (lambda x: x.int().float(), "_to_copy"),
    ],
)
def test_operations_that_round_are_named(how, name):
    with pytest.raises(NotPolynomialError, match=rf"the model \(Rounded\): {name}"):
        chebact.to_polynomial(Rounded(how), calibration=torch.zeros(3, 2))


def test_messages_name_the_argument_and_the_fold():
    with pytest.raises(ValueError, match="calibration must be an input that reaches"):
        chebact.to_polynomial(ChebyshevLagrange(2), calibration=torch.zeros(0, 2))
    with pytest.raises(TypeError, match=r"model must be a torch\.nn\.Module"):
        chebact.to_polynomial(3, calibration=torch.zeros(0, 2))
