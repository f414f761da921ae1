"""The pictures for users: what is drawn is what the module does, on the axes given, and nothing global changes."""

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib import pyplot
from matplotlib.figure import Figure
from scipy.interpolate import BarycentricInterpolator
from torch import nn

import chebact
from chebact import ChebyshevLagrange, plot_activation, plot_activations, record_inputs
from chebact.checks import TAILS


@pytest.fixture(autouse=True)
def no_window(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    yield
    pyplot.close("all")


@pytest.fixture
def ax():
    return Figure().subplots()


def curve(ax, index=0):
    """The data of a curve; the nodes of each are drawn right after it."""
    return ax.lines[index].get_xydata()


def learned(channels=3, **choices):
    module = ChebyshevLagrange(channels, **choices)
    torch.manual_seed(1)
    nn.init.normal_(module.heights)
    return module


@pytest.mark.parametrize("tails", TAILS)
def test_the_curve_is_the_polynomial_with_its_tails(ax, tails):
    module = learned(tails=tails, degree=4)
    plot_activation(module, 1, ax=ax)
    x, y = curve(ax).T
    places, heights = chebact.nodes(4).numpy(), module.heights[1].detach().double().numpy()
    polynomial = BarycentricInterpolator(places, heights)
    inside = np.abs(x) <= 1
    assert inside.any()
    assert not inside.all()
    np.testing.assert_allclose(y[inside], polynomial(x[inside]), atol=1e-9)
    if tails == "none":
        np.testing.assert_allclose(y, polynomial(x), atol=1e-7)
    else:
        order = np.argsort(places)
        slopes = {
            "extrapolate": polynomial.derivative(1.0),
            "regression": np.polyfit(places[order][-2:], heights[order][-2:], 1)[0],
        }
        right = x > 1
        np.testing.assert_allclose(y[right], heights[0] + slopes[tails] * (x[right] - 1), atol=1e-7)
    np.testing.assert_allclose(curve(ax, 1), np.stack([places, heights], 1), atol=1e-12)


def test_the_histogram_counts_the_inputs_and_the_share_outside_is_said(ax):
    inputs = torch.randn(5000, 3, generator=torch.Generator().manual_seed(0)) * 1.5
    plot_activation(learned(), 2, inputs, ax, bins=20)
    low, high = ax.get_xlim()
    counts, edges = np.histogram(inputs[:, 2].double(), bins=20, range=(low, high))
    bars = [bar for bar in ax.patches if bar.get_width() == pytest.approx(edges[1] - edges[0])]
    np.testing.assert_allclose([bar.get_height() for bar in bars], counts / counts.max() / 3, atol=1e-12)
    np.testing.assert_allclose([bar.get_x() for bar in bars], edges[:-1], atol=1e-9)
    share = (inputs[:, 2].abs() > 1).double().mean().item()
    assert [text.get_text() for text in ax.texts] == [f"{share:.1%} of inputs\noutside the interval"]
    assert (low, high) == (pytest.approx(inputs[:, 2].min().item()), pytest.approx(inputs[:, 2].max().item()))


def test_the_tails_are_shaded_and_the_interval_is_not(ax):
    plot_activation(learned(interval=(-2.0, 3.0)), 0, ax=ax)
    low, high = ax.get_xlim()
    spans = sorted((patch.get_x(), patch.get_x() + patch.get_width()) for patch in ax.patches)
    assert spans == [(low, -2.0), (3.0, high)]


@pytest.mark.parametrize("layout", ["rows", "images", "last", "recorded"])
def test_inputs_in_every_form(ax, layout):
    x = torch.randn(6, 3, 5, 5)
    rows = x.movedim(1, -1).reshape(-1, 3)
    module = learned(channel_dim=-1) if layout == "last" else learned()
    given = {"rows": rows, "images": x, "last": x.movedim(1, -1)}.get(layout)
    if layout == "recorded":
        with record_inputs(module) as samples:
            module(x[:1])
        given, rows = samples[""], x[:1].movedim(1, -1).reshape(-1, 3)
    plot_activation(module, 1, given, ax)
    assert ax.texts[0].get_text() == f"{(rows[:, 1].abs() > 1).double().mean():.1%} of inputs\noutside the interval"


def test_several_channels_share_the_axes(ax):
    assert plot_activation(learned(), [0, 2], torch.zeros(4, 3), ax) is ax
    assert len(ax.lines) == 4
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["channel 0", "channel 2"]
    assert ax.lines[0].get_color() != ax.lines[2].get_color()


def test_groups_and_replicas_draw_their_own_values(ax):
    grouped = learned(4, groups=2)
    plot_activation(grouped, 3, ax=ax)
    np.testing.assert_allclose(curve(ax, 1)[:, 1], grouped.heights[1].detach().numpy(), atol=1e-7)
    many = learned(2, replicas=3)
    other = plot_activation(many, 1, torch.zeros(3, 5, 2), Figure().subplots(), replica=2)
    np.testing.assert_allclose(curve(other, 1)[:, 1], many.heights[2, 1].detach().numpy(), atol=1e-7)


@pytest.mark.parametrize("module", [nn.ReLU(), nn.Tanh(), chebact.Cubic()])
def test_plain_modules_have_a_curve_without_nodes(ax, module):
    plot_activation(module, 0, torch.linspace(-4, 2, 50).unsqueeze(1), ax)
    x, y = curve(ax).T
    np.testing.assert_allclose(y, module(torch.tensor(x)).numpy(), atol=1e-5)
    assert len(ax.lines) == 1
    assert not ax.texts


def test_weighted_chebyshev_is_drawn_as_numpy_evaluates_it(ax):
    module = chebact.WeightedChebyshev(2)
    nn.init.normal_(module.weights)
    plot_activation(module, 1, ax=ax)
    x, y = curve(ax).T
    np.testing.assert_allclose(
        y, np.polynomial.chebyshev.chebval(x, module.weights[1].detach().double().numpy()), atol=1e-7
    )


def test_nothing_global_changes_with_axes_of_the_users_own(ax):
    settings, figures = dict(matplotlib.rcParams), pyplot.get_fignums()
    module, model = learned(), nn.Sequential(nn.Linear(2, 3), learned())
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    plot_activation(module, 0, torch.zeros(3, 3), ax)
    plot_activations(model, torch.randn(9, 2, generator=torch.Generator().manual_seed(0)), figure=Figure())
    assert dict(matplotlib.rcParams) == settings
    assert pyplot.get_fignums() == figures
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)


def test_without_axes_a_figure_of_pyplots_is_made():
    ax = plot_activation(learned())
    assert pyplot.gcf() is ax.figure


def test_a_model_is_drawn_layer_by_layer_and_left_as_it_was():
    model = nn.Sequential(nn.Linear(4, 6), learned(6), nn.BatchNorm1d(6), nn.Linear(6, 2), learned(2))
    model.train()
    means = model[2].running_mean.clone()
    batches = [(torch.randn(10, 4), torch.zeros(10)) for _ in range(3)]
    figure = plot_activations(model, batches, channels=3, figure=Figure())
    titles = [ax.get_title() for ax in figure.axes]
    assert titles == [f"module {name}, channel {k}" for name, count in ((1, 3), (4, 2)) for k in range(count)]
    assert [ax.get_ylabel() for ax in figure.axes] == ["output", "", "", "output", ""]
    assert [ax.get_xlabel() for ax in figure.axes] == ["", "", "", "input", "input"]
    assert model.training
    assert torch.equal(model[2].running_mean, means)
    assert not any("forward" in vars(part) for part in model.modules())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((nn.Linear(2, 2),), "module must be elementwise|mat1 and mat2"),
        (("relu",), "module must be a torch.nn.Module"),
        ((ChebyshevLagrange(2), 2), "channel must be between 0 and 1, got 2"),
        ((ChebyshevLagrange(2), []), "one or more channels"),
        ((ChebyshevLagrange(),), "call the module once"),
        ((ChebyshevLagrange(2), 0, torch.zeros(5, 3)), "2 channels like the module, got shape .5, 3"),
        ((ChebyshevLagrange(2), 0, [1.0]), "inputs must be a tensor"),
        ((nn.ReLU(), 4, torch.zeros(5, 3)), "channel must be between 0 and 2, got 4"),
    ],
)
def test_what_cannot_be_drawn_gets_a_sentence(ax, arguments, words):
    with pytest.raises((TypeError, ValueError, RuntimeError), match=words):
        plot_activation(*arguments, ax=ax)


def test_data_that_reaches_nothing_gets_a_sentence():
    with pytest.raises(ValueError, match="one or more batches"):
        plot_activations(nn.Sequential(learned()), [], figure=Figure())
