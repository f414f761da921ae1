"""The error against mpmath with the paper's exact nodes: at most 32 units times the largest height, at any degree."""

import math

import pytest
import torch
from mpmath import mp, mpf
from support.truth import end_slope_weights, exact_nodes, exact_polynomial, lagrange_functions, regression_weights

from chebact.checks import TAILS
from chebact.functional import chebyshev_lagrange, weighted_chebyshev

DEGREES = [1, 2, 3, 5, 10, 30, 100, 1000]
UNITS = {torch.float32: 2.0**-24, torch.float64: 2.0**-53}
INTERVALS = [(0.0, 1.0), (-3.0, 5.0), (100.0, 101.0), (-0.001, 1000.0), (0.1, 0.3), (-1e-20, 1e-20), (-1e20, 2e20)]
ALL_TYPES = pytest.mark.parametrize("dtype", UNITS, ids=["float32", "float64"])


def evaluate(x, y, dtype, **choices):
    """The library's value at every float of x for one row of heights."""
    return chebyshev_lagrange(torch.tensor(x, dtype=dtype), torch.tensor([y], dtype=dtype), **choices).tolist()


def rounded(numbers, dtype):
    return torch.tensor([float(number) for number in numbers], dtype=torch.float64).to(dtype).tolist()


def next_to(x, dtype, direction):
    return torch.nextafter(torch.tensor(x, dtype=dtype), torch.tensor(direction, dtype=dtype)).item()


def places_of(degree, dtype, interval=(-1.0, 1.0)):
    """Points between the ends: drawn, near nodes, near the ends; never a node itself."""
    count = 6 if degree == 1000 else 40
    generator = torch.Generator().manual_seed(degree)
    a, b = interval
    drawn = (a + (b - a) * torch.rand(count, dtype=torch.float64, generator=generator)).to(dtype).tolist()
    nodes = rounded(exact_nodes(degree, interval), dtype)
    chosen = sorted({0, 1, degree // 3, degree // 2, degree - 1, degree} & set(range(degree + 1)))
    near = [next_to(nodes[j], dtype, side) for j in chosen for side in (a, b)]
    far = 4 * UNITS[dtype] * max(abs(a), abs(b))
    near += rounded([a + far, b - far, a + 1e-3 * (b - a), b - 1e-5 * (b - a)], dtype)
    return [x for x in drawn + near if a < x < b and x not in nodes]


def heights_of(degree, dtype, interval=(-1.0, 1.0)):
    """Rows of heights, at most 1 in size: drawn, alternating, and the signs that make the value at a place largest."""
    generator = torch.Generator().manual_seed(degree + 1)
    drawn = (torch.rand(degree + 1, dtype=torch.float64, generator=generator) * 2 - 1).to(dtype).tolist()
    place = exact_nodes(degree, interval)[0] - (mpf(interval[1]) - mpf(interval[0])) / (3 * (degree + 1) ** 2)
    worst = [1.0 if phi >= 0 else -1.0 for phi in lagrange_functions(place, degree, interval)]
    return {"drawn": drawn, "alternating": [(-1.0) ** j for j in range(degree + 1)], "worst": worst}


@ALL_TYPES
@pytest.mark.parametrize("degree", DEGREES)
def test_value_is_within_32_units_of_mpmath(degree, dtype, kernel):
    x = places_of(degree, dtype)
    functions = [lagrange_functions(place, degree) for place in x]
    for name, y in heights_of(degree, dtype).items():
        bound = 32 * UNITS[dtype] * max(map(abs, y))
        exact = [mp.fdot(phi, y) for phi in functions]
        errors = [abs(mpf(got) - want) / bound for got, want in zip(evaluate(x, y, dtype), exact, strict=True)]
        assert max(errors) <= 1, f"{name}: {float(max(errors)) * 32:.1f} units at {x[errors.index(max(errors))]!r}"


@ALL_TYPES
@pytest.mark.parametrize("tails", TAILS)
@pytest.mark.parametrize("degree", [1, 2, 3, 5, 30])
def test_value_between_the_ends_is_mpmath_s_with_any_tails(degree, tails, dtype, kernel):
    x, y = places_of(degree, dtype), heights_of(degree, dtype)["worst"]
    for place, got in zip(x, evaluate(x, y, dtype, tails=tails), strict=True):
        assert abs(mpf(got) - exact_polynomial(place, y)) <= 32 * UNITS[dtype]


@ALL_TYPES
@pytest.mark.parametrize("interval", INTERVALS, ids=str)
@pytest.mark.parametrize("degree", [1, 2, 3, 4, 30])
def test_value_on_other_intervals_is_within_32_units_of_mpmath(degree, interval, dtype, kernel):
    ends = rounded(interval, dtype)
    if [float(e) for e in ends] != list(interval):
        interval = (float(ends[0]), float(ends[1]))  # ends that the type can hold, so that all x lie between them
    x = places_of(degree, dtype, interval)
    for name, y in heights_of(degree, dtype, interval).items():
        for place, got in zip(x, evaluate(x, y, dtype, interval=interval), strict=True):
            error = abs(mpf(got) - exact_polynomial(place, y, interval)) / UNITS[dtype]
            assert error <= 32, f"{name}: {float(error):.1f} units at {place!r}"


@ALL_TYPES
@pytest.mark.parametrize("interval", [(-1.0, 1.0), (-3.0, 5.0), (0.1, 0.3)], ids=str)
@pytest.mark.parametrize("tails", TAILS)
@pytest.mark.parametrize("degree", DEGREES)
def test_at_every_node_in_its_type_the_height_itself_comes_out(degree, tails, interval, dtype, kernel):
    x = rounded(exact_nodes(degree, interval), dtype)
    for y in heights_of(degree, dtype, interval).values():
        got = evaluate(x, y, dtype, tails=tails, interval=interval)
        assert got == y


@ALL_TYPES
@pytest.mark.parametrize(("tails", "count"), [("extrapolate", 2), ("regression", 2), ("regression", 4)])
@pytest.mark.parametrize("degree", [3, 5, 10, 100, 1000])
def test_straight_lines_are_mpmath_s(degree, tails, count, dtype, kernel):
    """Within 32 units of the sum of the sizes of the terms, which is what any order of summing them can promise."""
    for end, side in ((0, 1.0), (-1, -1.0)):
        fitted = tails == "regression"
        weights = regression_weights(degree, count, end) if fitted else end_slope_weights(degree, end)
        x = rounded([side * (1 + d) for d in (1e-6, 0.01, 0.5, 3.0, 1e4, 1e30)], dtype)
        for y in heights_of(degree, dtype).values():
            exact = [mpf(v) for v in y]
            slope, size = mp.fdot(weights, exact), mp.fsum(abs(w * v) for w, v in zip(weights, exact, strict=True))
            for place, got in zip(x, evaluate(x, y, dtype, tails=tails, regression_nodes=count), strict=True):
                away = mpf(place) - mpf(side)
                error = abs(mpf(got) - (exact[end] + slope * away))
                assert error <= 32 * UNITS[dtype] * (1 + size * abs(away))


@ALL_TYPES
@pytest.mark.parametrize("tails", ["extrapolate", "regression"])
@pytest.mark.parametrize("degree", DEGREES)
def test_value_and_slope_are_continuous_at_the_ends(degree, tails, dtype, kernel):
    y = heights_of(degree, dtype)["drawn"]
    values = torch.tensor([y], dtype=dtype)
    for end, side in ((0, 1.0), (-1, -1.0)):
        weights = end_slope_weights(degree, end)
        size = float(mp.fsum(abs(w) for w in weights))
        inside, outside = next_to(side, dtype, 0.0), next_to(side, dtype, 2 * side)
        x = torch.tensor([inside, side, outside], dtype=dtype, requires_grad=True)
        out = chebyshev_lagrange(x, values, tails=tails)
        assert out[1].item() == y[end]
        step = 2 * UNITS[dtype]
        assert (out - y[end]).abs().max().item() <= 32 * UNITS[dtype] + 2 * size * step
        if tails == "extrapolate":
            (slopes,) = torch.autograd.grad(out.sum(), x)
            exact = float(mp.fdot(weights, [mpf(v) for v in y]))
            curvature = (degree**4 + 1) * step  # Markov's bound of the second derivative, over one step
            assert (slopes - exact).abs().max().item() <= 64 * UNITS[dtype] * size + 8 * curvature


@ALL_TYPES
@pytest.mark.parametrize("tails", TAILS)
@pytest.mark.parametrize("degree", DEGREES)
def test_no_finite_x_gives_nan_and_lines_are_finite_to_1e30(degree, tails, dtype, kernel):
    largest = torch.finfo(dtype).max
    small = [0.0, -0.0, torch.finfo(dtype).smallest_normal, torch.finfo(dtype).tiny / 4, 1 - 1e-7, 1 + 1e-7, 1.5, 30.0]
    x = [s * v for v in [*small, 1e3, 1e10, 1e20, 1e30, largest / 2, largest] for s in (1, -1)]
    for y in heights_of(degree, dtype).values():
        got = evaluate(x, y, dtype, tails=tails)
        assert not any(map(math.isnan, got))
        if tails != "none":
            assert all(math.isfinite(out) for place, out in zip(x, got, strict=True) if abs(place) <= 1e30)


@ALL_TYPES
@pytest.mark.parametrize("degree", [1, 2, 3, 4, 9])
def test_weighted_chebyshev_is_mpmath_s_sum(degree, dtype, kernel):
    w = torch.linspace(-1, 1, degree + 1, dtype=dtype)
    x = torch.tensor([-3.0, -1.0, -0.99, -0.3, 0.0, 0.2, 0.77, 1.0, 1.25, 5.0], dtype=dtype)
    for place, got in zip(x.tolist(), weighted_chebyshev(x, w[None]).tolist(), strict=True):
        terms = [mpf(c) * mp.chebyt(k, mpf(place)) for k, c in enumerate(w.tolist())]
        size = max(mpf(degree + 1), mp.fsum(map(abs, terms)))
        assert abs(mpf(got) - mp.fsum(terms)) <= 32 * UNITS[dtype] * size


@ALL_TYPES
@pytest.mark.parametrize("degree", [2, 3, 4, 9])
def test_one_chebyshev_polynomial_far_outside_has_no_trace_of_the_others(degree, dtype, kernel):
    x = torch.tensor([[1.25], [-3.0], [30.0], [-100.0]], dtype=dtype, requires_grad=True)
    for k in range(degree + 1):
        weights = torch.eye(degree + 1, dtype=dtype)[k : k + 1].requires_grad_()
        y = weighted_chebyshev(x, weights)
        slopes, _ = torch.autograd.grad(y.sum(), (x, weights), retain_graph=True)
        for at, (place,) in enumerate(x.tolist()):
            value = mp.chebyt(k, mpf(place))
            slope = k * mp.chebyu(k - 1, mpf(place)) if k else 0
            assert abs(mpf(y[at].item()) - value) <= 32 * UNITS[dtype] * abs(value)
            assert abs(mpf(slopes[at].item()) - slope) <= 32 * UNITS[dtype] * abs(slope)
            (share,) = torch.autograd.grad(y[at].sum(), weights, retain_graph=True)
            assert abs(mpf(share[0, k].item()) - value) <= 32 * UNITS[dtype] * abs(value)


@pytest.mark.parametrize("degree", [4, 10, 30])
def test_slope_far_outside_is_mpmath_s_without_tails(degree, kernel):
    y, nodes = heights_of(degree, torch.float64)["drawn"], exact_nodes(degree)
    for place in (1.0 + 2.0**-40, 1.5, -100.0, 1e6):
        x = torch.tensor([[place]], dtype=torch.float64, requires_grad=True)
        (slope,) = torch.autograd.grad(chebyshev_lagrange(x, torch.tensor([y], dtype=torch.float64), tails="none"), x)
        terms = []
        for own, height in zip(nodes, y, strict=True):
            others = [node for node in nodes if node != own]
            phi = mp.fprod((mpf(place) - node) / (own - node) for node in others)
            terms.append(mpf(height) * phi * mp.fsum(1 / (mpf(place) - node) for node in others))
        wanted = mp.fsum(terms)
        assert abs(mpf(slope.item()) - wanted) <= 32 * degree * UNITS[torch.float64] * abs(wanted)
