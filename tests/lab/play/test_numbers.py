"""The playground's numbers in real Chromium: the library's own, and derivatives and bounds as mpmath gives them."""

import math

import mpmath
import numpy
import pytest
import torch

import chebact
from chebact.basis import TAIL_ROWS
from chebact.initial import INITIAL_SHAPES

OFFERED = range(1, 31)
POINTS = 24
CLOSE = 1e-6  # of the largest that the sum of |y_j phi_j| makes possible, or of 1

EVALUATE = """cases => cases.map(({ degree, tails, k, interval, values, x }) => {
  const basis = chebact.maths.basis({ degree, tails, regressionNodes: k, interval });
  return {
    nodes: basis.nodes, slopes: basis.slopes(values), heights: x.map((at) => basis.value(values, at)),
    derivatives: x.map((at) => basis.derivative(values, at)),
    sizes: x.map((at) => basis.row(at).reduce((sum, phi, j) => sum + Math.abs(phi * values[j]), 0)),
  };
})"""


@pytest.fixture
def page(open_page, written):
    return open_page(written)


def case(degree, tails, k, interval, generator):
    a, b = interval
    nodes = chebact.nodes(degree, interval=interval)
    x = (a + b) / 2 + (b - a) * (torch.rand(POINTS, generator=generator, dtype=torch.float64) - 0.5) * 3
    special = torch.cat([nodes[:3], nodes[-2:] + 1e-12, torch.tensor([a, b, 0.0], dtype=torch.float64)])
    return {
        "degree": degree,
        "tails": tails,
        "k": k,
        "interval": list(interval),
        "values": torch.randn(degree + 1, generator=generator, dtype=torch.float64).tolist(),
        "x": torch.cat([x, special]).tolist(),
    }


def cases():
    generator = torch.Generator().manual_seed(5)
    for degree in [*OFFERED, 47, 100]:
        for interval in ((-1.0, 1.0), (-0.5, 3.0)):
            for tails in TAIL_ROWS:
                counts = sorted({2, degree // 2 + 2, degree + 1} - {degree + 2}) if tails == "regression" else [2]
                for k in counts:
                    yield case(degree, tails, k, interval, generator)


def library(case):
    """Heights, derivatives and end slopes as chebact gives them in float64."""
    choices = {"tails": case["tails"], "regression_nodes": case["k"], "interval": tuple(case["interval"])}
    values = torch.tensor(case["values"], dtype=torch.float64)
    x = torch.tensor(case["x"], dtype=torch.float64, requires_grad=True)
    with chebact.kernels.use("reference"):  # the others would be compiled anew for every basis here
        heights = chebact.functional.chebyshev_lagrange(x[:, None], values[None], **choices)[:, 0]
        (derivatives,) = torch.autograd.grad(heights.sum(), x)
    slopes = chebact.end_slopes(values, **choices) if case["tails"] != "none" else None
    return heights.detach().numpy(), derivatives.numpy(), slopes


def test_every_degree_offered_gives_the_librarys_numbers(page):
    assert page.evaluate("[chebact.state.MOST.offered, chebact.state.MOST.read]") == [max(OFFERED), 100]
    given = list(cases())
    for asked, got in zip(given, page.evaluate(EVALUATE, given), strict=True):
        told = {name: asked[name] for name in ("degree", "tails", "k", "interval")}
        heights, derivatives, slopes = library(asked)
        size = numpy.maximum(1.0, got["sizes"])
        wanted = chebact.nodes(asked["degree"], interval=tuple(asked["interval"])).numpy()
        assert numpy.allclose(got["nodes"], wanted, rtol=0, atol=2e-15), told
        assert numpy.all(numpy.abs(got["heights"] - heights) <= CLOSE * size), told
        steep = numpy.maximum(1.0, numpy.abs(derivatives))
        assert numpy.all(numpy.abs(got["derivatives"] - derivatives) <= CLOSE * numpy.maximum(size, steep)), told
        if slopes is not None:
            assert numpy.allclose(got["slopes"], [float(slope) for slope in slopes], rtol=1e-6, atol=1e-6), told


NAMED = {"relu": "relu(x)", "leaky_relu": "leaky_relu(x)", "gelu": "gelu(x)", "silu": "silu(x)", "tanh": "tanh(x)",
         "sigmoid": "sigmoid(x)", "identity": "x", "zeros": "0"}  # fmt: skip
TORCH = {
    "elu(x)": torch.nn.functional.elu,
    "mish(x)": torch.nn.functional.mish,
    "softplus(x)": torch.nn.functional.softplus,
    "|x|": torch.abs,
    "step(x)": lambda x: (x > 0).double(),
    "sin(pi x)": lambda x: torch.sin(math.pi * x),
    "erf(3 x)": lambda x: torch.erf(3 * x),
    "2|x - 0.3| - |x|/2": lambda x: 2 * (x - 0.3).abs() - x.abs() / 2,
    "-x^2 + 2^-x": lambda x: -(x**2) + 2**-x,
    "x**3/3 - 1e-1x": lambda x: x**3 / 3 - 0.1 * x,
    "max(x, min(0.5, 2 x))": lambda x: torch.maximum(x, torch.minimum(torch.tensor(0.5), 2 * x)),
    "1 / 2 x": lambda x: 0.5 * x,
    "log(x + 4) sqrt(x + 4) + atan(x) - cosh(x) sinh(x) / exp(x)": lambda x: (
        torch.log(x + 4) * torch.sqrt(x + 4) + torch.atan(x) - torch.cosh(x) * torch.sinh(x) / torch.exp(x)
    ),
    "tan(x / 2) cos(x) (x + 2)^1.5": lambda x: torch.tan(x / 2) * torch.cos(x) * (x + 2) ** 1.5,
    "T3(x) − 2·T_2(x)": lambda x: 4 * x**3 - 3 * x - 2 * (2 * x**2 - 1),
    "(x+3)^x": lambda x: (x + 3) ** x,
}


def test_formulas_and_named_starts_are_what_torch_computes(page):
    x = torch.linspace(-1.9, 1.9, 41, dtype=torch.float64)
    functions = TORCH | {formula: INITIAL_SHAPES[name] for name, formula in NAMED.items()}
    assert set(NAMED) == set(INITIAL_SHAPES)
    got = page.evaluate(
        "([formulas, x]) => formulas.map(f => { const read = chebact.formula.compile(f); return x.map(read.at) })",
        [list(functions), x.tolist()],
    )
    for (formula, function), heights in zip(functions.items(), got, strict=True):
        assert numpy.allclose(heights, function(x).numpy(), rtol=1e-13, atol=1e-14), formula


@pytest.mark.parametrize("degree", [2, 3, 7])
def test_what_the_library_writes_is_read(page, degree):
    values = torch.randn(1, degree + 1, generator=torch.Generator().manual_seed(degree), dtype=torch.float64)
    module = chebact.ChebyshevLagrange(groups=1, degree=degree, dtype=torch.float64)
    with torch.no_grad():
        module.heights.copy_(values)
    pieces = [line.split(":", 1)[1].strip() for line in module.to_formula(digits=17).splitlines()]
    places = [-1.7, 0.37, 1.9]
    got = page.evaluate("pairs => pairs.map(([f, x]) => chebact.formula.compile(f).at(x))", list(zip(pieces, places)))  # noqa: B905
    wanted = module(torch.tensor(places, dtype=torch.float64)).tolist()
    assert numpy.allclose(got, wanted, rtol=1e-12, atol=1e-12)


NOT_FORMULAS = {
    "": "a formula in x is wanted",
    "2 +": "before the end",
    "(x": "“)” is wanted",
    "x)": "“)” is not wanted there",
    "|x": "“|” is wanted",
    "x $ 2": "“$” is not understood",
    "alert(1)": "“alert” is not known",
    "constructor": "“constructor” is not known",
    "__proto__": "“__proto__” is not known",
    "toString(x)": "“toString” is not known",
    "sin x": "“(” is wanted before “x”",
    "max(x)": "“,” is wanted",
    "T999(x)": "“T999” is not known",
    "(" * 50 + "x" + ")" * 50: "too many brackets",
    "-" * 90 + "x": "too many brackets",
    "x+" * 200 + "x": "at most 300 characters",
}


def test_what_is_not_a_formula_gets_a_sentence(page):
    got = page.evaluate(
        """formulas => formulas.map((f) => {
          try { chebact.formula.compile(f); return ["read", f]; } catch (e) { return [e.constructor.name, e.message]; }
        })""",
        list(NOT_FORMULAS),
    )
    for (formula, said), (kind, message) in zip(NOT_FORMULAS.items(), got, strict=True):
        assert kind == "FormulaError", formula
        assert said in message, formula


SMOOTH = {
    "sin(x)": mpmath.sin,
    "exp(x)": mpmath.exp,
    "tanh(2 x)": lambda x: mpmath.tanh(2 * x),
    "gelu(x)": lambda x: x * (1 + mpmath.erf(x / mpmath.sqrt(2))) / 2,
    "silu(x)": lambda x: x / (1 + mpmath.exp(-x)),
    "1 / (1 + x^2)": lambda x: 1 / (1 + x**2),
    "softplus(x) sqrt(x + 3)": lambda x: mpmath.log(1 + mpmath.exp(x)) * mpmath.sqrt(x + 3),
    "|x + 2| cos(3 x)": lambda x: (x + 2) * mpmath.cos(3 * x),
}


BOUND = """([degree, formulas]) => formulas.map((f) => {
  const basis = chebact.maths.basis({ degree, tails: "extrapolate", regressionNodes: 2, interval: [-1, 1] });
  const target = chebact.formula.compile(f), values = basis.nodes.map(target.at);
  return { bound: chebact.analysis.bound(target, basis), error: chebact.analysis.errorOf(target, basis)(values) };
})"""


def largest_derivative(function, order):
    """The largest |f^(order)| on [-1, 1]: a grid, then three finer ones around its largest."""
    left, right = -1.0, 1.0
    with mpmath.workdps(40):
        for _ in range(4):
            places = numpy.linspace(left, right, 17)
            sizes = [abs(mpmath.taylor(function, mpmath.mpf(x), order)[-1]) for x in places]
            best = int(numpy.argmax([float(size) for size in sizes]))
            left, right = places[max(0, best - 1)], places[min(16, best + 1)]
        return float(max(sizes) * mpmath.factorial(order))


@pytest.mark.parametrize("degree", [1, 3, 9])
def test_the_bound_is_that_of_the_equation_and_the_error_keeps_to_it(page, degree):
    for function, got in zip(SMOOTH.values(), page.evaluate(BOUND, [degree, list(SMOOTH)]), strict=True):
        derivative = largest_derivative(function, degree + 1)
        bound = got["bound"]["stretched"]
        assert bound == pytest.approx(chebact.error_bound(degree, derivative), rel=1e-4)
        assert got["bound"]["printed"] == pytest.approx(
            chebact.error_bound(degree, derivative, stretched=False), rel=1e-4
        )
        x = torch.linspace(-1, 1, 1001, dtype=torch.float64)
        heights = torch.tensor([float(function(float(node))) for node in chebact.nodes(degree)], dtype=torch.float64)
        truth = torch.tensor([float(function(float(place))) for place in x], dtype=torch.float64)
        error = float((chebact.polynomial(x, heights) - truth).abs().max())
        assert error - 1e-14 <= got["error"]["size"] <= error * 1.001 + 1e-14  # 1001 points miss little of the largest
        assert got["error"]["size"] <= bound


NO_BOUND = {
    "corner": ["|x|", "relu(x)", "step(x - 0.2)", "elu(x)", "max(x, x^2 - 1)", "leaky_relu(x)"],
    "unbounded": ["sqrt(x + 1)", "(x + 1)^2.5", "1 / (x - 0.3)^2"],
}


@pytest.mark.parametrize("reason", NO_BOUND)
def test_what_the_equation_is_not_about_has_no_bound(page, reason):
    found = page.evaluate(BOUND, [3, NO_BOUND[reason]])
    assert [list(each["bound"]) for each in found] == [[reason]] * len(NO_BOUND[reason])
