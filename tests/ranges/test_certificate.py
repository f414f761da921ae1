"""Certified bounds: a hunt for counterexamples by gradient ascent, corners and random points finds none."""

import numpy
import pytest
import torch
from numpy.polynomial.chebyshev import Chebyshev
from torch import nn

import chebact
from chebact import ChebyshevLagrange, NotPolynomialError, WeightedChebyshev
from chebact.networks import ResidualMLP
from chebact.ranges.bounds.curves import Curves, bound_curves


@pytest.fixture(autouse=True)
def _plain_torch():
    """The reference kernel: here many rare degrees and types are met once, which others would compile for."""
    with chebact.kernels.use("reference"):
        yield


def wild_(model, seed=0):
    """Random parameters and statistics, so that activations bend and inputs are outside of their intervals too."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for part in model.modules():
            if isinstance(part, ChebyshevLagrange | WeightedChebyshev):
                part.learned.normal_(generator=generator)
            elif isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d):
                part.running_mean.normal_(generator=generator)
                part.running_var.uniform_(0.2, 2.0, generator=generator)
                part.weight.normal_(generator=generator)
    return model.eval()


class Branches(nn.Module):
    """Sums, differences, concatenation, factors, a shared activation, functions and methods."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(3, 4), nn.Linear(3, 4)
        self.activation = ChebyshevLagrange(4, degree=2, tails="regression")
        self.last = nn.Linear(12, 2)

    def forward(self, x):
        a, b = self.activation(self.one(x)), self.activation(self.two(x))
        a = a - b / 2
        joined = torch.cat([a + 0.5, 2 * b, torch.tanh(-a)], dim=1)
        return self.last(joined.view(joined.shape[0], -1))


NETWORKS = {
    "mlp": lambda: nn.Sequential(
        nn.Linear(3, 6), ChebyshevLagrange(6), nn.Linear(6, 6), nn.BatchNorm1d(6), ChebyshevLagrange(6), nn.Linear(6, 2)
    ),
    "residual": lambda: ResidualMLP(3, 2, width=5, blocks=2),
    "replicas": lambda: ResidualMLP(3, 1, width=4, blocks=1, shortcut="mean", replicas=2),
    "no-tails": lambda: nn.Sequential(nn.Linear(3, 4), ChebyshevLagrange(4, tails="none", degree=5), nn.Linear(4, 1)),
    "series": lambda: nn.Sequential(nn.Linear(3, 4), WeightedChebyshev(4), nn.Linear(4, 1)),
    "groups": lambda: nn.Sequential(
        nn.Linear(3, 4), ChebyshevLagrange(4, groups=2, interval=(-0.5, 2.0), degree=4), nn.ReLU(), nn.Linear(4, 1)
    ),
    "branches": Branches,
    "convolutional": lambda: nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1),
        nn.BatchNorm2d(3),
        ChebyshevLagrange(3),
        nn.AvgPool2d(2),
        nn.Dropout(0.5),
        nn.Conv2d(3, 2, 2),
        ChebyshevLagrange(2, degree=2),
        nn.Flatten(),
        nn.Linear(2, 2),
    ),
    "regression": lambda: nn.Sequential(
        nn.Linear(3, 6), ChebyshevLagrange(6, tails="regression", interval=(-0.1, 0.2)), nn.Linear(6, 2)
    ),
    "pooled": lambda: nn.Sequential(nn.Conv1d(1, 2, 2), ChebyshevLagrange(2, channel_dim=1), nn.MaxPool1d(2)),
}
BATCH = 64


def box_of(name, wide):
    shape = {"convolutional": (1, 4, 4), "pooled": (1, 5)}.get(name, (3,))
    generator = torch.Generator().manual_seed(1)
    middle, half = (torch.randn(shape, generator=generator), wide * torch.rand(shape, generator=generator))
    return middle - half, middle + half


def watched(model, x):
    """Every input of an activation, then the outputs: dict of (point, channel, ...), channels second."""
    found = {}

    def keep(name, part):
        def hook(module, inputs):
            replicated = part.replicas is not None
            rows = inputs[0].movedim(1, 0) if replicated else inputs[0]
            found.setdefault(name, []).append(rows)

        return hook

    learned = (ChebyshevLagrange, WeightedChebyshev)
    parts = [(name, part) for name, part in model.named_modules() if isinstance(part, learned)]
    handles = [part.register_forward_pre_hook(keep(name, part)) for name, part in parts]
    output = model(x)
    for handle in handles:
        handle.remove()
    return found, output


def points(model, low, high, seed=0):
    """Corners and random points as inputs; with replicas each has the same."""
    generator = torch.Generator().manual_seed(seed)
    shares = torch.rand(BATCH, *low.shape, generator=generator)
    shares[: BATCH // 2] = shares[: BATCH // 2].round()
    return torch.minimum(torch.maximum(low + shares * (high - low), low), high)


def hunt(model, low, high, bounds, steps=15):
    """The largest excess over the bounds that gradient ascent finds: positive if a bound is wrong."""
    replicas = next((part.replicas for part in model.modules() if getattr(part, "replicas", None)), None)
    worst = -numpy.inf
    x = points(model, low, high)
    for step in range(steps):
        x = x.detach().requires_grad_()
        found, output = watched(model, x.expand(replicas, *x.shape) if replicas else x)
        excesses = []
        for name, calls in found.items():
            lowest, highest = (each.to(x.dtype) for each in (bounds[name].low, bounds[name].high))
            for rows in calls:
                ends = [end.reshape(*end.shape, *[1] * (rows.dim() - 1 - end.dim())) for end in (lowest, highest)]
                excesses.append(torch.maximum(rows - ends[1], ends[0] - rows).flatten(1))
        rows = output.movedim(1, 0) if replicas else output
        excesses.append(torch.maximum(rows - bounds.output_high, bounds.output_low - rows).flatten(1).to(x.dtype))
        every = torch.cat(excesses, dim=1)
        worst = max(worst, every.max().item())
        target = every[torch.arange(BATCH), (torch.arange(BATCH) + step // 5) % every.shape[1]].sum()
        (gradient,) = torch.autograd.grad(target, x)
        x = torch.minimum(torch.maximum(x + 0.2 * (high - low) * gradient.sign(), low), high)
    return worst


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("wide", [0.05, 1.5])
def test_a_hunt_finds_no_counterexample(name, wide):
    torch.manual_seed(0)
    model = wild_(NETWORKS[name]())
    low, high = box_of(name, wide)
    bounds = chebact.certify_ranges(model, (low, high))
    assert all(bool((each.low <= each.high).all()) for each in bounds.values())
    assert hunt(model, low, high, bounds) <= 0.0


def test_the_hunt_finds_bounds_that_are_slightly_wrong():
    """The first activation's bounds are attained at a corner, so a bound that is 1e-4 too tight is caught."""
    torch.manual_seed(0)
    model = wild_(NETWORKS["mlp"]())
    low, high = box_of("mlp", 1.5)
    bounds = chebact.certify_ranges(model, (low, high))
    bounds["1"].high[:] -= 1e-4 * (bounds["1"].high - bounds["1"].low)
    assert hunt(model, low, high, bounds) > 0.0


@pytest.mark.parametrize("name", ["mlp", "residual", "convolutional"])
def test_a_point_is_bounded_tightly_and_also_in_its_own_type(name):
    torch.manual_seed(0)
    model = wild_(NETWORKS[name]())
    low, _ = box_of(name, 0.5)
    for dtype, width in ((torch.float32, 0.05), (torch.float64, 1e-9)):
        model.to(dtype)
        output = model(low[None].to(dtype))[0].detach().double()
        bounds = chebact.certify_ranges(model, (low, low))
        assert bool((bounds.output_low <= output).all())
        assert bool((output <= bounds.output_high).all())
        assert (bounds.output_high - bounds.output_low).max() <= width * (1 + output.abs().max())


def test_it_is_no_looser_than_intervals_and_tighter_where_values_are_related():
    class Cancel(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.activation = nn.Linear(3, 3), ChebyshevLagrange(3, init="zeros")

        def forward(self, x):
            hidden = self.linear(x)
            return self.activation(hidden - 0.5 * hidden)

    torch.manual_seed(0)
    model = Cancel()
    low, high = -torch.ones(3), torch.ones(3)
    bounds = chebact.certify_ranges(model, (low, high))["activation"]
    weight, bias = model.linear.weight.detach().double(), model.linear.bias.detach().double()
    torch.testing.assert_close(bounds.high, 0.5 * (weight.abs().sum(dim=1) + bias), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["mlp", "residual", "replicas", "convolutional", "groups", "regression"])
def test_slopes_are_within_their_bounds(name):
    torch.manual_seed(0)
    model = wild_(NETWORKS[name]()).double()
    low, high = (each.double() for each in box_of(name, 0.3))
    bounds = chebact.certify_ranges(model, (low, high))
    replicas = 2 if name == "replicas" else None
    for x in points(model, low, high)[:8]:
        if replicas:
            jacobian = torch.func.jacrev(lambda x: model(x.expand(2, 1, 3))[:, 0])(x).movedim(-1, 1)
        else:
            jacobian = torch.func.jacrev(lambda x: model(x[None])[0])(x).flatten(1).T
        assert bool((bounds.slope_low <= jacobian).all() and (jacobian <= bounds.slope_high).all())
        assert jacobian.abs().sum(dim=1 if replicas else 0).max() <= bounds.lipschitz


@pytest.mark.parametrize("degree", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("tails", [True, False])
def test_bounds_of_polynomials_are_exact(degree, tails):
    """Against a fine grid of NumPy's own polynomials; many have no leading coefficient, some are constant."""
    random = numpy.random.default_rng(degree)
    coefficients = random.normal(size=(40, degree + 1))
    coefficients[:10, -1], coefficients[10:15, 1:] = 0.0, 0.0
    lines = random.normal(size=(40, 2)) if tails else None
    low = random.normal(size=40) if tails else random.uniform(-1.1, 0.5, size=40)
    high = low + random.exponential(size=40) * (1.0 if tails else 0.5)
    least, largest = bound_curves(Curves(coefficients, lines), low, high)
    for row in range(40):
        t = numpy.linspace(low[row], high[row], 4001)
        values = Chebyshev(coefficients[row])(numpy.clip(t, -1, 1) if tails else t)
        if tails:
            values += lines[row, 0] * numpy.minimum(t + 1, 0) + lines[row, 1] * numpy.maximum(t - 1, 0)
        size = 1 + numpy.abs(values).max()
        assert least[row] <= values.min()
        assert values.max() <= largest[row]
        slack = max(values.min() - least[row], largest[row] - values.max())
        assert slack <= (1e-3 if degree < 20 else 1e-2) * size  # the distance of the grid from the extreme


def test_a_polynomial_on_a_box():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), ChebyshevLagrange(3, init="gelu"), nn.Linear(3, 1))
    with torch.no_grad():
        model[0].weight.mul_(0.3)
        model[0].bias.zero_()
    result = chebact.to_polynomial(model, box=[(-1.0, 1.0), (0.0, 1.0)])
    assert result.report.calibrated is None
    assert result.report.largest_change <= 1e-6
    assert " box " in str(result.report)
    both = chebact.to_polynomial(model, box=[(-1.0, 1.0), (0.0, 1.0)], calibration=torch.rand(5, 2))
    assert both.report.headroom == result.report.headroom
    with pytest.raises(NotPolynomialError, match="on the box the inputs"):
        chebact.to_polynomial(model, box=[(-9.0, 9.0), (0.0, 1.0)])


class Writing(nn.Module):
    def __init__(self):
        super().__init__()
        self.activation = ChebyshevLagrange(2)

    def forward(self, x):
        hidden = x * 2
        flat = hidden.view(-1, 2)
        flat += 1.0
        return self.activation(hidden) + flat


class Asking(nn.Module):
    def __init__(self):
        super().__init__()
        self.activation = ChebyshevLagrange(2)

    def forward(self, x):
        return self.activation(x) if x.sum() > 0 else x


SQUARE = ChebyshevLagrange(2)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (nn.Sequential(SQUARE, nn.GELU()), r"1 \(GELU\)"),
        (nn.Sequential(SQUARE, nn.LayerNorm(2)), r"1 \(LayerNorm\)"),
        (nn.Sequential(SQUARE, nn.BatchNorm1d(2, track_running_stats=False)), "without running statistics"),
        (nn.Sequential(SQUARE, nn.Softplus(beta=2.0)), "an activation with options"),
        (nn.Sequential(SQUARE, chebact.PrototypeSimilarity(2)), r"1 \(PrototypeSimilarity\)"),
        (Writing(), "writes into a value that is read elsewhere"),
        (Asking(), r"torch\.fx can trace"),
    ],
)
def test_what_cannot_be_bounded_is_refused_by_name(model, message):
    with pytest.raises(ValueError, match=message):
        chebact.certify_ranges(model, [(-1.0, 1.0), (-1.0, 1.0)])


@pytest.mark.parametrize(
    ("box", "error", "message"),
    [
        ((torch.zeros(2), torch.ones(3)), ValueError, "of one shape"),
        ([(1.0, 0.0), (0.0, 1.0)], ValueError, r"box at \(0,\) must be two finite numbers, the lower first"),
        ([(0.0, float("nan")), (0.0, 1.0)], ValueError, "two finite numbers"),
        ((-1.0, 1.0), TypeError, "box must be a tuple"),
    ],
)
def test_wrong_boxes(box, error, message):
    with pytest.raises(error, match=message):
        chebact.certify_ranges(SQUARE, box)


class Calls(nn.Module):
    """A forward of its own between a linear layer and an activation."""

    def __init__(self, between):
        super().__init__()
        self.linear, self.activation, self.between = nn.Linear(2, 2), ChebyshevLagrange(2), between

    def forward(self, x):
        return self.activation(self.between(self, self.linear(x)))


class TwoInputs(Calls):
    def forward(self, x, y):
        return self.activation(self.linear(x) + y)


def hooked(place):
    model = nn.Sequential(nn.Linear(2, 2), ChebyshevLagrange(2))
    (model if place is None else model[place]).register_forward_hook(lambda module, inputs, output: 100 * output)
    return model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (hooked(0), r"0 \(Linear\) with a forward hook"),
        (hooked(1), r"1 \(ChebyshevLagrange\) with a forward hook"),
        (hooked(None), "a model with a forward hook"),
        (Calls(lambda self, x: nn.functional.dropout(x, 0.5)), "a dropout with training=True"),
        (TwoInputs(None), r"model must take one input, got 2 \(x, y\)"),
        (nn.Sequential(nn.MaxPool1d(2, return_indices=True), ChebyshevLagrange(2)), "return_indices=True"),
    ],
)
def test_what_would_not_be_sound_is_refused(model, message):
    with pytest.raises(ValueError, match=message):
        chebact.certify_ranges(model, [(-1.0, 1.0)] * 2)


def test_dropout_of_the_evaluation_mode_and_relu6_are_bounded():
    free = Calls(lambda self, x: nn.functional.dropout(x, 0.5, training=self.training))
    bounds = chebact.certify_ranges(free, [(-1.0, 1.0)] * 2)["activation"]
    reach = free.linear.weight.detach().double().abs().sum(dim=1) + free.linear.bias.detach().double()
    torch.testing.assert_close(bounds.high, reach, rtol=1e-4, atol=1e-4)
    six = chebact.certify_ranges(nn.Sequential(nn.Flatten(), nn.ReLU6(), ChebyshevLagrange(1)), [(-1.0, 9.0)])
    assert float(six["2"].high) == pytest.approx(6.0, rel=1e-4)


def test_ends_of_a_box_are_those_of_the_type_of_the_model():
    """A client clips to 0.1 in float32, which is above 0.1."""
    bounds = chebact.certify_ranges(nn.Sequential(nn.Flatten(), ChebyshevLagrange(1)), [(-0.7, 0.1)])["1"]
    assert float(bounds.high) >= float(torch.tensor(0.1)) > 0.1
    assert float(bounds.low) <= float(torch.tensor(-0.7))


def test_softplus_falls_where_its_line_begins():
    model = nn.Sequential(nn.Flatten(), nn.Softplus(), ChebyshevLagrange(1)).double()
    for low, high in ((19.9, 20 + 1e-10), (20.0, 20.1)):
        bounds = chebact.certify_ranges(model, [(low, high)])["2"]
        values = nn.functional.softplus(torch.tensor([20.0, 20 + 1e-10], dtype=torch.float64))
        assert bounds.low <= values.min()
        assert values.max() <= bounds.high


def test_an_end_of_a_box_must_be_a_number():
    with pytest.raises(TypeError, match="an end of box must be a number, got 'a'"):
        chebact.certify_ranges(nn.Sequential(nn.Linear(2, 2), ChebyshevLagrange(2)), [("a", 1.0), (0.0, 1.0)])


@pytest.mark.parametrize("features", [1, 3])
def test_a_box_of_another_shape_than_an_input_is_named(features):
    model = torch.nn.Sequential(torch.nn.Linear(2, 4), chebact.ChebyshevLagrange(4))
    message = rf"box must be in the shape of one input of the model, got shape \({features},\); the model raised: mat1"
    with pytest.raises(ValueError, match=message):
        chebact.certify_ranges(model, [(-1.0, 1.0)] * features)


def test_a_division_by_zero_is_refused_by_name():
    class Quotient(torch.nn.Sequential):
        def forward(self, x):
            return super().forward(x) / 0

    with pytest.raises(ValueError, match="got a division by zero"):
        chebact.certify_ranges(Quotient(chebact.ChebyshevLagrange(2)), [(-1.0, 1.0)] * 2)
