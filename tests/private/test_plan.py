"""A plan is the network exactly, and its costs follow from its shape."""

import math

import numpy
import pytest
import torch
from support.polynomial_networks import activation, residual, rows, two_hidden
from torch import nn

from chebact import ChebyshevLagrange, Cubic, WeightedChebyshev, fold_
from chebact.private import plan
from chebact.private.folding import LARGEST
from chebact.private.packing import diagonals_of
from chebact.private.parameters import LEAST_SCALE, MOST_BITS, suggest_parameters


def largest_difference(model, x):
    with torch.no_grad():
        expected = model(x).numpy()
    return numpy.abs(plan(model).evaluate(x) - expected).max() / max(1, numpy.abs(expected).max())


DEGREES = (1, 2, 3, 4, 5, 6, 7, 9, 15)
BETWEEN = (5, 6, 7, 9)  # trees like those of degree 4 and 15: of one spread each, of the others in the slow tests


@pytest.mark.parametrize(
    ("degree", "spread"),
    [
        pytest.param(degree, spread, marks=pytest.mark.slow if degree in BETWEEN and spread != 0.1 else ())
        for degree in DEGREES
        for spread in (0.0, 0.1, 10.0)
    ],
)
def test_folding_is_exact(degree, spread):
    assert largest_difference(two_hidden(degree, spread=spread, interval=(-2.0, 3.0)), rows()) < 1e-10


@pytest.mark.parametrize("shortcut", ["add", "mean"])
@pytest.mark.parametrize("degree", [2, 3, 5])
def test_sums_with_earlier_vectors_are_exact(degree, shortcut):
    assert largest_difference(residual(degree, shortcut), rows()) < 1e-10


@pytest.mark.parametrize(
    "heights",
    [
        [0.0, 0.0, 0.0],  # nothing
        [1.0, 0.0, -1.0],  # a line: no square
        [1.0, 1e-9, -1.0],  # nearly a line: the square would have a shift of 1e9
        [1.0, 0.0, 1.0],  # the square itself
    ],
)
def test_lines_and_squares_beside_each_other_are_exact(heights):
    model = two_hidden(2)
    with torch.no_grad():
        model[1].heights[::2] = torch.tensor(heights, dtype=torch.float64)
    assert largest_difference(model, rows()) < 1e-10
    made = plan(model)
    assert made.stages[0].form == "square"
    x = model[0](rows()).clamp(-1, 1).detach().numpy()
    z = (x + (made.stages[0].bias - model[0].bias.detach().numpy())) ** 2
    assert z.max() <= LARGEST * (1 + 1e-12)


@pytest.mark.parametrize(
    "function", [torch.square, torch.cos, lambda x: x**3, lambda x: x**6 - x**2 / 2, torch.zeros_like]
)
@pytest.mark.parametrize("degree", [2, 3, 4, *(pytest.param(each, marks=pytest.mark.slow) for each in (5, 6)), 8])
def test_polynomials_without_some_powers_are_exact(function, degree):
    model = nn.Sequential(
        nn.Linear(5, 8), ChebyshevLagrange(8, degree=degree, tails="none").fit_(function), nn.Linear(8, 3)
    ).double()
    model[1].fit_(function)
    if function is torch.zeros_like:
        with pytest.raises(ValueError, match="must depend on its input"):
            plan(model)
    else:
        assert largest_difference(model, rows()) < 1e-10


def test_other_polynomial_activations_and_folded_ones_are_read():
    model = nn.Sequential(nn.Linear(5, 8), Cubic(), nn.Linear(8, 8), WeightedChebyshev(8, degree=4), nn.Linear(8, 2))
    model.double()
    with torch.no_grad():
        model[3].weights.normal_(generator=torch.Generator().manual_seed(0))
    assert largest_difference(model, rows()) < 1e-10
    assert largest_difference(fold_(two_hidden(3)), rows()) < 1e-10
    assert [stage.form for stage in plan(model).stages] == ["cubic", "tree", "none"]


def test_adjacent_linear_layers_are_one():
    model = nn.Sequential(nn.Linear(5, 64), nn.Linear(64, 8), activation(8, 2), nn.Linear(8, 99), nn.Linear(99, 1))
    made = plan(model)
    assert (made.levels, made.width) == (3, 8)
    assert [{k: each.shape for k, each in stage.weights.items()} for stage in made.stages] == [{0: (8, 5)}, {2: (1, 8)}]


@pytest.mark.parametrize(("degree", "levels"), [(2, 1), (3, 2), (4, 3), (5, 3), (7, 3), (8, 4), (15, 4)])
def test_an_activation_takes_the_levels_that_are_promised(degree, levels):
    made = plan(two_hidden(degree, spread=1.0))
    assert [cost.levels for cost in made.costs] == [1 + levels, 1 + levels, 1]
    assert levels == (1 if degree == 2 else math.ceil(math.log2(degree + 1)))


def test_a_cubic_is_monic_unless_its_leading_coefficient_is_near_zero():
    odd = nn.Sequential(nn.Linear(5, 8), ChebyshevLagrange(8, degree=3, tails="none", init="tanh"), nn.Linear(8, 1))
    assert [stage.form for stage in plan(odd).stages] == ["cubic", "none"]
    assert plan(odd).costs[0].ciphertext_products == 2
    with torch.no_grad():
        odd[1].heights[3] = torch.tensor([0.0, 0.0, 0.1, 0.3]) + torch.tensor([1e-6, 0, 0, 0])
        odd[1].fit_(lambda x: x**2 + 1e-6 * x**3)
    assert [stage.form for stage in plan(odd).stages] == ["tree", "none"]


def test_the_suggested_moduli_stay_within_the_standard():
    assert MOST_BITS == {1024: 27, 2048: 54, 4096: 109, 8192: 218, 16384: 438, 32768: 881}
    assert LEAST_SCALE >= 32
    for levels in range(1, 25):
        found = suggest_parameters(levels, 64)
        assert sum(found.modulus_bits) <= MOST_BITS[found.ring]
        assert (found.levels, len(found.modulus_bits)) == (levels, levels + 2)
        smaller = [most for ring, most in MOST_BITS.items() if 128 <= ring < found.ring]
        assert all((most - 20) // (levels + 2) < LEAST_SCALE for most in smaller)
    with pytest.raises(ValueError, match="model must be at most 24 levels deep"):
        suggest_parameters(25)


def product_by_diagonals(matrix, x, width):
    """The product as the packing computes it, on plain numbers."""
    found = diagonals_of(matrix, width)
    vector, total = numpy.zeros(width), numpy.zeros(width)
    vector[: len(x)] = x
    for k, numbers in found.numbers.items():
        giant = k - k % found.stride
        total += numpy.roll(numpy.roll(vector, -(k % found.stride)) * numbers, -giant)
    for step in found.sums:
        total = total + numpy.roll(total, -step)
    return total[: len(matrix)]


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (2, 32), (3, 30), (16, 16), (30, 3), (32, 30), (32, 32)])
def test_diagonals_multiply_like_the_matrix(shape):
    draw = numpy.random.default_rng(0)
    matrix, x = draw.normal(size=shape), draw.normal(size=shape[1])
    assert product_by_diagonals(matrix, x, 32) == pytest.approx(matrix @ x, abs=1e-12)
    if shape[0] == shape[1]:
        diagonal = numpy.diag(matrix.diagonal())
        assert product_by_diagonals(diagonal, x, 32) == pytest.approx(diagonal @ x, abs=1e-12)
        assert len(diagonals_of(diagonal, 32).numbers) == 1


def test_the_plan_prints_as_a_table():
    text = str(plan(two_hidden(2)))
    assert [line.split()[-4:] for line in text.splitlines()[1:5]] == [
        ["2", "1", "8", "4"], ["2", "1", "8", "4"], ["1", "0", "4", "3"], ["5", "2", "20", "11"],
    ]  # fmt: skip
    assert "ring 16384, moduli 50+40+40+40+40+40+50 = 300 bits (128-bit security)" in text
