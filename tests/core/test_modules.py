"""The modules in a user's hands: built, copied, saved, lazy, in optimizers and across two processes."""

import copy
import inspect
import io
import math
import pickle
import re

import numpy
import pytest
import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.nn.utils import parametrizations, parametrize

import chebact
from chebact import ChebyshevLagrange, PrototypeSimilarity, WeightedChebyshev, make_activation
from chebact.checks import TAILS
from chebact.initial import DEFAULT_INIT, INITIAL_SHAPES

TRUTH = {
    "zeros": lambda x: 0.0,
    "relu": lambda x: max(x, 0.0),
    "leaky_relu": lambda x: x if x > 0 else 0.01 * x,
    "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "silu": lambda x: x / (1 + math.exp(-x)),
    "tanh": math.tanh,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "identity": lambda x: x,
}


def drawn(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def filled(module):
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(drawn(*p.shape, seed=1))
    return module


def test_the_constructor_s_arguments_and_defaults():
    parameters = list(inspect.signature(ChebyshevLagrange).parameters.values())
    assert (parameters[0].name, parameters[0].default) == ("channels", None)
    wanted = {
        "degree": 3, "tails": "extrapolate", "regression_nodes": 2, "init": DEFAULT_INIT, "groups": None,
        "channel_dim": None, "interval": (-1.0, 1.0), "inplace": False, "device": None, "dtype": None,
    }  # fmt: skip
    keywords = {p.name: p.default for p in parameters[1:] if p.kind is inspect.Parameter.KEYWORD_ONLY}
    assert {name: keywords[name] for name in wanted} == wanted


@pytest.mark.parametrize("interval", [(-1.0, 1.0), (-4.0, 2.0)])
@pytest.mark.parametrize("name", INITIAL_SHAPES)
def test_named_shapes_are_python_s_math_at_the_nodes(name, interval):
    layer = ChebyshevLagrange(2, degree=9, init=name, interval=interval, dtype=torch.float64)
    places = chebact.nodes(9, interval=interval)
    wanted = [TRUTH[name](x) for x in places.tolist()]
    numpy.testing.assert_allclose(layer.heights.detach().numpy(), [wanted, wanted], rtol=1e-14, atol=1e-16)
    assert torch.equal(layer(places.repeat(2, 1).T), layer.heights.T)  # and the activation goes through them


def test_callables_a_channel_fit_and_reset():
    layer = ChebyshevLagrange(3, degree=4, init=lambda x: torch.stack([x, x**2, torch.cos(x)]), dtype=torch.float64)
    x = chebact.nodes(4)
    assert torch.equal(layer.heights, torch.stack([x, x**2, torch.cos(x)]))
    assert layer.fit_(torch.sin) is layer
    assert torch.equal(layer.heights, torch.sin(x).expand(3, 5))
    assert layer.fit_("tanh").heights.requires_grad
    layer.reset_parameters()
    assert torch.equal(layer.heights[1], x**2)


@pytest.mark.parametrize("degree", [10, 40])
def test_fit_comes_as_close_to_sine_as_the_error_bound_says(degree):
    layer = ChebyshevLagrange(1, degree=degree, dtype=torch.float64).fit_(torch.sin)
    x = torch.linspace(-1, 1, 500, dtype=torch.float64)[:, None]
    assert (layer(x) - torch.sin(x)).abs().max().item() <= chebact.error_bound(degree, 1.0) + 1e-15


class Builder(nn.Module):
    """A model of the usual kind: it is given a class or a function and calls it without a width."""

    def __init__(self, act_layer, **choices):
        super().__init__()
        self.first, self.act1 = nn.Conv2d(3, 6, 3), act_layer(**choices)
        self.second, self.act2 = nn.Conv2d(6, 4, 1), act_layer(**choices)

    def forward(self, x):
        return self.act2(self.second(self.act1(self.first(x))))


@pytest.mark.parametrize("choices", [{}, {"inplace": True}, {"inplace": False}])
def test_a_builder_may_pass_no_width(choices):
    net = Builder(ChebyshevLagrange, **choices)
    assert is_lazy(net.act1.heights)
    net(drawn(2, 3, 8, 8)).sum().backward()
    assert (net.act1.heights.shape, net.act2.heights.shape) == ((6, 4), (4, 4))
    assert bool(net.act2.heights.grad.any())
    assert type(net.act1.heights) is nn.Parameter


@pytest.mark.parametrize("kind", [ChebyshevLagrange, WeightedChebyshev])
@pytest.mark.parametrize(
    ("choices", "shape", "values"),
    [
        ({}, (2, 5), (5, 4)),
        ({}, (5,), (5, 4)),
        ({"channel_dim": -1}, (2, 3, 7), (7, 4)),
        ({"groups": 2, "channel_dim": 1}, (2, 6, 3), (2, 4)),
        ({"replicas": 3}, (3, 2, 5), (3, 5, 4)),
        ({"groups": 1}, (), (1, 4)),
    ],
)
def test_lazy_modules_learn_their_width_and_go_through_state_dicts(kind, choices, shape, values):
    lazy, x = kind(**choices), drawn(*shape)
    saved = pickle.loads(pickle.dumps(lazy.state_dict()))
    again = kind(**choices)
    assert again.load_state_dict(saved, strict=True) == ([], [])
    known = copy.deepcopy(lazy)
    y = known(x)
    assert (y.shape, known.learned.shape) == (shape, values)
    filled(known)
    for loaded in (lazy, again, kind(**choices).double(), copy.deepcopy(known)):
        assert loaded.load_state_dict(known.state_dict(), strict=True) == ([], [])
        torch.testing.assert_close(loaded(x.to(loaded.learned.dtype)), known(x), check_dtype=False)
    if "groups" not in choices:
        with pytest.raises(RuntimeError, match=lazy.parameter_name):
            known.load_state_dict(kind(**choices).state_dict())


@pytest.mark.parametrize("lazy", [False, True])
def test_state_dicts_pass_torch_load_with_weights_only(lazy):
    net = nn.Sequential(nn.Linear(2, 3), ChebyshevLagrange(None if lazy else 3, init="gelu"))
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    other = nn.Sequential(nn.Linear(2, 3), ChebyshevLagrange(None if lazy else 3))
    assert other.load_state_dict(torch.load(file, weights_only=True)) == ([], [])


@pytest.mark.parametrize("name", chebact.ACTIVATIONS)
def test_deepcopy_and_pickle_keep_everything(name):
    layer, x = filled(make_activation(name, 4, 5)), drawn(3, 4)
    layer(x.clone().requires_grad_()).sum().backward()  # with all caches filled
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(twin(x), layer(x))
        assert repr(twin) == repr(layer)
        for p in twin.parameters():
            p.data.zero_()
    assert all(bool(p.any()) for p in layer.parameters())


EXAMPLES = [
    ChebyshevLagrange(), ChebyshevLagrange(3), ChebyshevLagrange(groups=1),
    ChebyshevLagrange(4, groups=2, inplace=True),
    ChebyshevLagrange(3, degree=7, tails="regression", regression_nodes=4, init="relu", interval=(0.0, 2.0)),
    ChebyshevLagrange(3, tails="none", channel_dim=-1, replicas=2), WeightedChebyshev(4, degree=5, groups=2),
    WeightedChebyshev(), PrototypeSimilarity(4), PrototypeSimilarity(4, replicas=2, channel_dim=-1), chebact.Cubic(),
]  # fmt: skip


@pytest.mark.parametrize("module", EXAMPLES, ids=repr)
def test_repr_builds_the_same_module_again(module):
    again = eval(repr(module), {name: getattr(chebact, name) for name in chebact.__all__})
    assert repr(again) == repr(module)
    assert again.__dict__.keys() == module.__dict__.keys()
    plain = (int, str, tuple, bool, type(None))
    assert all(again.__dict__[k] == v for k, v in module.__dict__.items() if isinstance(v, plain))
    assert getattr(again, "basis", None) == getattr(module, "basis", None)
    if isinstance(module, ChebyshevLagrange) and not is_lazy(module.heights):
        assert torch.equal(again.heights, module.heights)


def read_formula(text):
    """A printed formula as a Python function of x: the outside truth for to_formula is Python's own arithmetic."""
    pieces = []
    for line in text.splitlines():
        where, what = line.split(":", 1)
        what, _, shift = what.partition("with t = ")
        code = re.sub(r"([0-9.)]) +(?=[xtT(])", r"\1*", what.strip()).replace("^", "**")
        code = re.sub(r"T(\d+)\(([xt])\)", r"cheb(\1, \2)", code)
        pieces.append(("True" if where == "all x" else where, code, shift.strip() or "x"))

    def evaluate(x):
        for where, code, shift in pieces:
            if eval(where, {"x": x}):
                names = {"x": x, "t": eval(shift, {"x": x})}
                names["cheb"] = lambda k, t: float(numpy.polynomial.Chebyshev.basis(k)(t))
                return eval(code, names)
        raise AssertionError(f"no piece for {x}")

    return evaluate


@pytest.mark.parametrize("interval", [(-1.0, 1.0), (0.0, 2.0), (-3.0, -0.5), (1.5, 4.0)])
@pytest.mark.parametrize("tails", TAILS)
@pytest.mark.parametrize("degree", [1, 2, 3, 4, 8])
def test_the_printed_formula_evaluates_to_the_activation(degree, tails, interval):
    layer = filled(ChebyshevLagrange(3, degree=degree, tails=tails, interval=interval, dtype=torch.float64))
    a, b = interval
    x = torch.linspace(a - 1, b + 1, 23, dtype=torch.float64)
    for channel in range(3):
        function = read_formula(layer.to_formula(channel, digits=17))
        wanted = layer(x[:, None].expand(-1, 3))[:, channel].tolist()
        numpy.testing.assert_allclose([function(v) for v in x.tolist()], wanted, rtol=1e-9, atol=1e-9)


def test_formula_of_zeros_groups_and_replicas():
    assert set(ChebyshevLagrange(2, init="zeros").to_formula().split()) >= {"0"}
    layer = filled(ChebyshevLagrange(4, groups=2, replicas=2))
    assert layer.to_formula(0, replica=1) == layer.to_formula(1, replica=1) != layer.to_formula(2, replica=1)
    assert layer.to_formula(3, replica=0) != layer.to_formula(3, replica=1)


def test_inplace_overwrites_only_where_nothing_is_recorded(kernel):
    layer = filled(ChebyshevLagrange(3, inplace=True))
    x = drawn(5, 3)
    wanted = filled(ChebyshevLagrange(3))(x.clone())
    for place in (x.clone(), drawn(3, 5).t().copy_(x), torch.empty(10, 3)[::2].copy_(x)):
        with torch.no_grad():
            y = layer(place)
        assert y.data_ptr() == place.data_ptr()
        assert torch.equal(place, wanted)
    kept = x.clone()
    layer(kept).sum().backward()
    assert torch.equal(kept, x)
    leaf = x.clone().requires_grad_()
    layer(leaf * 1).sum().backward()
    assert torch.equal(leaf, x)
    assert bool(leaf.grad.any())


def test_inplace_tells_autograd_that_the_tensor_changed(kernel):
    a = drawn(3, 4).requires_grad_()
    saved = a.exp()
    with torch.no_grad():
        filled(ChebyshevLagrange(4, inplace=True))(saved)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()


class Even(nn.Module):
    def forward(self, heights):
        return (heights + heights.flip(-1)) / 2

    def right_inverse(self, heights):
        return heights


def test_a_parametrized_shape_is_that_shape_for_good():
    layer, x = ChebyshevLagrange(8, init="gelu", dtype=torch.float64), drawn(5, 8).double()
    parametrize.register_parametrization(layer, "heights", Even())
    torch.testing.assert_close(layer(x), layer(-x), rtol=0, atol=1e-14)
    optimizer = torch.optim.SGD(chebact.parameter_groups(layer, lr=0.1)[1]["params"], lr=0.1)
    layer(x).sum().backward()
    optimizer.step()
    torch.testing.assert_close(layer(x), layer(-x), rtol=0, atol=1e-14)
    assert layer.fit_(torch.square)(torch.full((1, 8), 0.5).double())[0, 0].item() == pytest.approx(0.25, abs=0.2)
    twin = copy.deepcopy(layer)
    twin.load_state_dict(layer.state_dict())
    wanted = layer(x).detach()
    assert torch.equal(twin(x), wanted)
    parametrize.remove_parametrizations(layer, "heights")
    assert torch.equal(layer(x), wanted)


@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm", "orthogonal"])
def test_torch_s_own_parametrizations_take_the_heights(name):
    layer = getattr(parametrizations, name)(filled(ChebyshevLagrange(3)), "heights")
    layer(drawn(5, 3)).sum().backward()
    assert all(p.grad is not None for p in layer.parameters())
    rows = layer.heights.detach()
    if name == "orthogonal":
        torch.testing.assert_close(rows @ rows.T, torch.eye(3), rtol=0, atol=1e-5)
    weighted = getattr(parametrizations, name)(filled(WeightedChebyshev(3)), "weights")
    assert weighted(drawn(5, 3)).shape == (5, 3)
