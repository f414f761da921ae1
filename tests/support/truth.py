"""Outside truth: the paper's formulas in mpmath, in extended precision, and in plain torch, all without the library."""

from functools import lru_cache

import numpy
import torch
from mpmath import mp, mpf

DIGITS = 50
mp.dps = DIGITS


@lru_cache(maxsize=64)
def exact_nodes(degree, interval=(-1.0, 1.0)):
    """x_k = r cos((2k - 1) pi / (2 (n + 1))) with r = 1 / cos(pi / (2 (n + 1))), moved to the interval; mpf."""
    count = degree + 1
    a, b = mpf(interval[0]), mpf(interval[1])
    unit = [mp.cos((2 * k - 1) * mp.pi / (2 * count)) / mp.cos(mp.pi / (2 * count)) for k in range(1, count + 1)]
    if degree % 2 == 0:
        unit[degree // 2] = mpf(0)  # where the cosine of pi / 2 is rounded to almost nothing
    inner = [(a + b) / 2 + (b - a) / 2 * x for x in unit[1:-1]]
    return [b, *inner, a]


@lru_cache(maxsize=64)
def exact_weights(degree):
    """Barycentric weights of those nodes: (-1)^k sin((2k - 1) pi / (2 (n + 1)))."""
    return [(-1) ** k * mp.sin((2 * k + 1) * mp.pi / (2 * (degree + 1))) for k in range(degree + 1)]


def lagrange_functions(x, degree, interval=(-1.0, 1.0)):
    """The Lagrange basis at one exact x, as mpf."""
    nodes, x = exact_nodes(degree, interval), mpf(x)
    if x in nodes:
        return [mpf(x == node) for node in nodes]
    quotients = [w / (x - node) for w, node in zip(exact_weights(degree), nodes, strict=True)]
    total = mp.fsum(quotients)
    return [q / total for q in quotients]


def exact_polynomial(x, values, interval=(-1.0, 1.0)):
    """P(x) for a float x and float values."""
    functions = lagrange_functions(x, len(values) - 1, interval)
    return mp.fdot(functions, [mpf(y) for y in values])


def end_slope_weights(degree, end, interval=(-1.0, 1.0)):
    """P'(end) as weights of the values; `end` is 0 for the right end and -1 for the left."""
    nodes, weights = exact_nodes(degree, interval), exact_weights(degree)
    here, own = nodes[end], weights[end]
    slopes = [mpf(0) if x == here else (w / own) / (here - x) for w, x in zip(weights, nodes, strict=True)]
    slopes[end] = -mp.fsum(slopes)
    return slopes


def regression_weights(degree, count, end, interval=(-1.0, 1.0)):
    """Cov(x, y) / Var(x) over the `count` nodes at that end, as weights of the values."""
    nodes = exact_nodes(degree, interval)
    chosen = range(count) if end == 0 else range(degree + 1 - count, degree + 1)
    mean = mp.fsum(nodes[j] for j in chosen) / count
    variance = mp.fsum((nodes[j] - mean) ** 2 for j in chosen)
    return [(x - mean) / variance if j in chosen else mpf(0) for j, x in enumerate(nodes)]


def lagrange(x, nodes):
    """Lagrange's products, from the left and from the right of every node."""
    factors = x[..., None] - nodes
    ones = numpy.ones_like(factors[..., :1])
    before = numpy.concatenate([ones, factors[..., :-1]], -1).cumprod(-1)
    after = numpy.concatenate([ones, factors[..., :0:-1]], -1).cumprod(-1)[..., ::-1]
    return before * after / between(nodes).prod(-1)


def between(nodes):
    """The distances of every node from the others, and 1 from itself."""
    return nodes[:, None] - nodes + numpy.eye(len(nodes))


def differentiation(nodes):
    """The slope at node k of the function of node j, in row k and column j."""
    products = between(nodes).prod(-1)
    matrix = products[:, None] / products / between(nodes)
    numpy.fill_diagonal(matrix, (1 / between(nodes)).sum(-1) - 1)
    return matrix


def extended(numbers):
    return numpy.array([numpy.longdouble(str(number)) for number in numbers])


def torch_polynomial(x, values, interval=(-1.0, 1.0)):
    """P(x) by Lagrange's products, in plain torch; `values` broadcast against x with the nodes in the last axis."""
    nodes = [float(node) for node in exact_nodes(values.shape[-1] - 1, interval)]
    total = torch.zeros_like(x)
    for j, here in enumerate(nodes):
        product = torch.ones_like(x)
        for m, other in enumerate(nodes):
            if m != j:
                product = product * ((x - other) / (here - other))
        total = total + product * values[..., j]
    return total


def torch_activation(x, values, tails="extrapolate", regression_nodes=2, interval=(-1.0, 1.0)):
    """The paper's equation (2) in plain torch; `values` are (C, degree + 1) or (1, degree + 1), and x is (..., C)."""
    inside = torch_polynomial(x, values, interval)
    if tails == "none":
        return inside
    degree = values.shape[-1] - 1
    for end, bound in ((0, interval[1]), (-1, interval[0])):
        if tails == "extrapolate":
            weights = end_slope_weights(degree, end, interval)
        else:
            weights = regression_weights(degree, regression_nodes, end, interval)
        slope = values @ torch.tensor([float(w) for w in weights], dtype=x.dtype)
        line = values[..., end] + slope * (x - bound)
        inside = torch.where(x >= bound if end == 0 else x <= bound, line, inside)
    return inside


def torch_chebyshev_sum(x, weights):
    """sum_k w_k T_k(x) by the recurrence, in plain torch."""
    before, here = torch.ones_like(x), x
    total = before * weights[..., 0] + here * weights[..., 1]
    for k in range(2, weights.shape[-1]):
        before, here = here, 2 * x * here - before
        total = total + here * weights[..., k]
    return total


@lru_cache(maxsize=256)
def _powers(degree, interval):
    """The matrix that takes heights at the nodes to coefficients of powers of t = (x - middle) / half, mpf."""
    unit = [(x - _middle(interval)) / _half(interval) for x in exact_nodes(degree, interval)]
    return mp.matrix([[t**k for k in range(degree + 1)] for t in unit]) ** -1


def _middle(interval):
    return (mpf(interval[0]) + mpf(interval[1])) / 2


def _half(interval):
    return (mpf(interval[1]) - mpf(interval[0])) / 2


def exact_derivative(x, values, order=1, interval=(-1.0, 1.0)):
    """The derivative of that order at float x of the polynomial through the float values at the exact nodes, mpf."""
    degree = len(values) - 1
    weights = _powers(degree, interval) * mp.matrix([mpf(y) for y in values])
    t = (mpf(x) - _middle(interval)) / _half(interval)
    terms = (weights[k] * mp.ff(k, order) * t ** (k - order) for k in range(order, degree + 1))
    return mp.fsum(terms) / _half(interval) ** order
