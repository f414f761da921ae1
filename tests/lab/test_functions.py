"""The synthetic functions against formulas written out in numpy, point by point."""

import math

import numpy as np
import pytest
import torch

from chebact.lab.functions import DATASETS, RECIPE_FORMS, plotted_slice, published_split, recipe, sample, target

FEATURES = {"pendulum": 3, "arrhenius": 3, "gravity": 4, "sigmoid": 5, "jump": 4, "prelu": 3, "step": 1}


def pendulum(x):
    return -x[1] * x[2] * math.sin(2 * math.pi * x[0])


def arrhenius(x, released):
    return x[1] * math.exp(-x[2] * x[0]) / 4 if released else x[1] * math.exp(-x[2] * x[0] / 4)


def gravity(x):
    return x[1] * x[2] * x[3] / (0.2 + x[0] * x[0])


def sigmoid(x):
    return 2 * x[1] / (1 + math.exp(-10 * x[2] * (x[0] - x[3] + 0.5))) + x[4] - 0.5


def prelu(x):
    return 0.1 * x[0] * x[1] if x[0] < 0 else x[0] * x[2]


def jump(x, released):
    threshold = x[1] - 3 / 4
    if x[0] < threshold:
        return 4 * x[2] * x[0]
    return 0.1 * x[3] * (4 * x[2] * x[0] - (threshold if released else x[2]) / 2)


def step_paper(x):
    for height in (-0.8, -0.4, 0.0, 0.4, 0.8):
        if x[0] < height:
            return height
    return 0.8


def step_released(x):
    if x[0] < -0.8:
        return -0.8
    if x[0] < -0.4:
        return -0.4
    if x[0] < 0.4:
        return 0.0
    return 0.4 if x[0] < 0.8 else 0.8


TRUTH = {
    ("pendulum", "paper"): pendulum,
    ("arrhenius", "paper"): lambda x: arrhenius(x, released=False),
    ("arrhenius", "released"): lambda x: arrhenius(x, released=True),
    ("gravity", "paper"): gravity,
    ("sigmoid", "paper"): sigmoid,
    ("prelu", "paper"): prelu,
    ("jump", "paper"): lambda x: jump(x, released=False),
    ("jump", "released"): lambda x: jump(x, released=True),
    ("step", "paper"): step_paper,
    ("step", "released"): step_released,
}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_the_table_has_the_papers_seven():
    assert {name: row.features for name, row in DATASETS.items()} == FEATURES
    assert [name for name, row in DATASETS.items() if row.smooth] == ["pendulum", "arrhenius", "gravity", "sigmoid"]


def published_form(form):
    """The recommended recipe has the functions of the released one."""
    return "released" if form == "recommended" else form


@pytest.mark.parametrize("form", RECIPE_FORMS)
@pytest.mark.parametrize("dataset", DATASETS)
def test_targets_equal_the_formulas(dataset, form):
    truth = TRUTH.get((dataset, published_form(form))) or TRUTH[dataset, "paper"]
    x, y = sample(dataset, 500, recipes=form, generator=generator(), dtype=torch.float64)
    expected = np.array([truth(point) for point in x.numpy()])
    np.testing.assert_allclose(y.squeeze(1).numpy(), expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("form", RECIPE_FORMS)
def test_step_at_its_edges(form):
    edges = torch.tensor([[-1.0], [-0.8], [-0.4], [0.0], [0.4], [0.8], [1.0]], dtype=torch.float64)
    truth = TRUTH["step", published_form(form)]
    assert target("step", edges, form).squeeze(1).tolist() == [truth(point) for point in edges.numpy()]


def test_whole_numbered_points_are_points_too():
    for dataset, count in FEATURES.items():
        x = torch.arange(-1, 2).repeat(count, 1).T
        torch.testing.assert_close(target(dataset, x), target(dataset, x.float()))


def test_draws_are_uniform_and_noise_is_gaussian():
    x, clean = sample("sigmoid", 40_000, generator=generator(), dtype=torch.float64)
    _, noisy = sample("sigmoid", 40_000, noise=0.04, generator=generator(), dtype=torch.float64)
    assert x.abs().max() <= 1
    torch.testing.assert_close(x.mean(0), torch.zeros(5, dtype=torch.float64), atol=0.012, rtol=0)
    torch.testing.assert_close(x.var(0), torch.full((5,), 1 / 3, dtype=torch.float64), atol=0.01, rtol=0)
    disturbance = (noisy - clean) / 0.04
    assert abs(disturbance.mean()) < 0.02
    assert abs(disturbance.std() - 1) < 0.02
    assert abs((disturbance**4).mean() - 3) < 0.2


def test_the_same_points_for_every_noise_form_and_type():
    first, _ = sample("jump", 50, generator=generator(3))
    for options in ({"noise": 0.04}, {"recipes": "released"}):
        assert torch.equal(sample("jump", 50, generator=generator(3), **options)[0], first)
    wide, _ = sample("jump", 50, generator=generator(3), dtype=torch.float64)
    assert torch.equal(wide.float(), first)
    assert not torch.equal(sample("jump", 50, generator=generator(4))[0], first)


def test_sampling_leaves_the_global_generator_alone():
    state = torch.random.get_rng_state()
    sample("prelu", 10, noise=0.1, generator=generator())
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_published_draw_is_torchs_with_seed_five(dataset):
    (x, y), (test_x, test_y) = published_split(dataset, noise=0.04, recipes="released")
    with torch.random.fork_rng():
        torch.manual_seed(5)
        points = torch.rand(2000, FEATURES[dataset]) * 2 - 1
        torch.rand(100, FEATURES[dataset])
        noise = torch.zeros(1000).normal_(mean=0, std=0.04)
    assert torch.equal(torch.cat([x, test_x]), points)
    truth = TRUTH.get((dataset, "released")) or TRUTH[dataset, "paper"]
    expected = np.array([truth(point) for point in points.double().numpy()])
    np.testing.assert_allclose(test_y.squeeze(1), expected[1000:], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(y.squeeze(1) - noise, expected[:1000], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_plotted_slice(dataset):
    x, y = plotted_slice(dataset, 41, "released")
    np.testing.assert_allclose(x[:, 0], np.linspace(-1, 1, 41), atol=1e-7)
    assert (x[:, 1:] == 0.5).all()
    assert y.shape == (41, 1)


def test_any_leading_shape():
    x = torch.rand(2, 3, 4, generator=generator())
    assert target("gravity", x).shape == (2, 3, 1)
    assert torch.equal(target("gravity", x)[1, 2], target("gravity", x[1, 2]))
    assert sample("step", 0, generator=generator())[1].shape == (0, 1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: recipe("pendulumm"), ("pendulumm", "gravity")),
        (lambda: sample("step", 10, noise=-0.1), ("noise", "-0.1")),
        (lambda: sample("step", 10, noise=float("nan")), ("noise", "nan")),
        (lambda: sample("step", -1), ("points", "-1")),
        (lambda: published_split("step", noise=-1), ("noise", "-1")),
        (lambda: plotted_slice("step", -1), ("points", "-1")),
        (lambda: sample("step", 1, recipes="mine"), ("recipes", "mine", "released")),
        (lambda: target("jump", torch.zeros(5, 3)), ("jump", "4", "(5, 3)")),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError) as caught:
        call()
    assert all(word in str(caught.value) for word in words)
