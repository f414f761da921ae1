"""What the page says of a cell beside the paper's, why some differ, and the errors of interpolation."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from chebact.lab.synthetic.explanations import explain, standard_errors
from chebact.lab.synthetic.rows import Row
from chebact.lab.synthetic.tables import comparison
from chebact.lab.synthetic.theory import DEGREES, FUNCTIONS, bounds, largest_error


def row(mean=0.1, nan=0, paper=(0.1, 0.01, 0), **changes):
    base = Row("relu", "pendulum", 0.01, "released", 10, mean, 0.01, nan, *paper)
    return replace(base, **changes)


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (row(0.08), ("−2.0", "better")),
        (row(0.1), ("+0.0", "near")),
        (row(0.1199), ("+2.0", "near")),
        (row(0.135), ("+3.5", "worse")),
        (row(0.2), ("+10.0", "far")),
        (row(0.1, nan=1), ("+0.0", "worse")),
        (row(0.1, nan=6), ("", "far")),
        (row(None, nan=10, paper=(None, None, 8)), ("", "nan")),
        (row(0.1, paper=(None, None, None)), ("", "")),
    ],
)
def test_differences_are_told_and_coloured(cell, shown):
    assert comparison(cell) == shown


def test_exceptions_get_the_reason_that_their_seeds_show():
    assert "The median of our seeds, 0.1000, agrees; 2 of 10 seeds lie above the limit" in explain(
        row(0.26, values=(*[0.1] * 8, 0.9, 0.9))
    )
    assert "One seed of 10 diverged" in explain(row(0.1, nan=1, values=(*[0.1] * 9, None)))
    assert "The mean of the others, 0.1000, agrees" in explain(row(0.1, nan=1, values=(*[0.1] * 9, None)))
    assert "polynomial everywhere" in explain(row(0.1, nan=2, model="wcp", values=(*[0.1] * 8, None, None)))
    assert "another formula" in explain(row(0.3, recipes="paper", dataset="jump", values=(0.3,) * 10))
    assert "10 of 10" in explain(row(0.3, values=(0.3,) * 10))
    assert "It stays unexplained" in explain(row(0.3, values=(0.3,) * 10))
    assert "other roles" in explain(row(0.3, recipes="paper", dataset="sigmoid", values=(0.3,) * 10))
    assert standard_errors(row(0.13)) == pytest.approx(0.03 / math.sqrt(0.01**2 / 10 + 0.01**2 / 10))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.title)
def test_interpolation_errors_and_their_bound(function):
    """The polynomial by numpy's least squares at as many points as it has coefficients; the bound holds for all."""
    for degree in (1, 3, 8):
        angles = (2 * np.arange(degree + 1) + 1) * np.pi / (2 * degree + 2)
        places = np.cos(angles) / np.cos(angles[0])
        fitted = np.polynomial.Chebyshev.fit(places, function.formula(torch.tensor(places)).numpy(), degree)
        x = np.linspace(-1, 1, 4001)
        wanted = np.abs(fitted(x) - function.formula(torch.tensor(x)).numpy()).max()
        assert largest_error(function.formula, degree) == pytest.approx(wanted, rel=1e-6)
    if function.log_derivative is not None:
        for degree, bound in zip(DEGREES, bounds(function, stretched=True), strict=True):
            assert largest_error(function.formula, degree) <= bound * (1 + 1e-9) + 1e-14
