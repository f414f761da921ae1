"""Interpolation: values and coefficients, the polynomial, its derivatives, end slopes, an error bound.

Values are those at `nodes(degree)`, from the right end to the left, in the last axis; leading axes are arbitrary.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import torch

from chebact.autograd import evaluate
from chebact.basis import Basis, basis_of, chebyshev_at_nodes
from chebact.checks import (
    Interval,
    Tails,
    check_degree,
    check_integer,
    check_interval,
    check_number,
    check_tensor,
    must_be,
)
from chebact.functional import make_basis
from chebact.node_positions import stretch
from chebact.wide import matrix_on, widened

__all__ = ["coefficients_to_values", "end_slopes", "error_bound", "polynomial", "values_to_coefficients"]


def values_to_coefficients(values: torch.Tensor) -> torch.Tensor:
    """The Chebyshev coefficients c with P = sum_k c_k T_k of the polynomial through the values: (..., degree + 1).

    >>> values_to_coefficients(torch.tensor([1.0, -1.0]))  # the line x
    tensor([0., 1.])
    """
    matrix = matrix_on(chebyshev_at_nodes(_degree(values, "values")), values.device)
    solved: torch.Tensor = torch.linalg.solve(matrix, widened(values).unsqueeze(-1))
    return solved.squeeze(-1).to(values.dtype)


def coefficients_to_values(coefficients: torch.Tensor) -> torch.Tensor:
    """The values of sum_k c_k T_k at the nodes: (..., degree + 1).

    >>> coefficients_to_values(torch.tensor([0.0, 1.0]))
    tensor([ 1., -1.])
    """
    matrix = matrix_on(chebyshev_at_nodes(_degree(coefficients, "coefficients")), coefficients.device)
    return (widened(coefficients) @ matrix.T).to(coefficients.dtype)


def polynomial(
    x: torch.Tensor, values: torch.Tensor, *, derivative: int = 0, interval: Interval = (-1.0, 1.0)
) -> torch.Tensor:
    """The polynomial through `values` (degree + 1,), or one of its derivatives, at every element of x, without tails.

    >>> line = torch.tensor([1.0, -1.0])
    >>> polynomial(torch.tensor([0.25, 3.0]), line), polynomial(torch.tensor([0.25]), line, derivative=1)
    (tensor([0.2500, 3.0000]), tensor([1.]))
    """
    degree = _degree(values, "values")
    if values.dim() != 1:
        raise ValueError(must_be("values", "(degree + 1,)", values.shape))
    check_tensor("x", x)
    if x.device != values.device:
        raise ValueError(must_be("x", f"on the device of values, {values.device}", x.device))
    order = check_integer("derivative", derivative, least=0, most=degree + 1)
    basis = basis_of(Basis(degree, "none", interval=check_interval(interval), order=order))
    return evaluate(x, values[None], basis, 0, False)


def end_slopes(
    values: torch.Tensor,
    *,
    tails: Tails = "extrapolate",
    regression_nodes: int = 2,
    interval: Interval = (-1.0, 1.0),
) -> tuple[torch.Tensor, torch.Tensor]:
    """The slopes of the straight lines on the left and on the right: two tensors of the leading shape of `values`.

    >>> left, right = end_slopes(torch.tensor([1.0, 0.0, 1.0]))  # the parabola x^2
    >>> left, right
    (tensor(-2.), tensor(2.))
    """
    basis = make_basis(_degree(values, "values"), tails, regression_nodes, interval)
    if not basis.has_tails:
        raise ValueError(must_be("tails", "extrapolate or regression, to have slopes", tails))
    rows = matrix_on(basis.pieces[[-3, -1]], values.device)
    slopes = (widened(values) @ rows.T).to(values.dtype)
    return slopes[..., 0], slopes[..., 1]


def error_bound(
    degree: int, largest_derivative: float, *, interval: Interval = (-1.0, 1.0), stretched: bool = True
) -> float:
    """A bound of the interpolation error for a function f with max|f^(degree + 1)| = `largest_derivative`.

    With n = degree + 1 this is max|f^(n)| / (2^(n-1) n!) on [-1, 1], the paper's equation (1), times r^n, because the
    nodes are the Chebyshev nodes stretched by r; `stretched=False` gives the equation as printed.

    >>> round(error_bound(3, 1.0), 5), round(error_bound(3, 1.0, stretched=False), 5)  # sine, cosine, exp(x - 1)
    (0.00715, 0.00521)
    """
    count = check_degree(degree) + 1
    a, b = check_interval(interval)
    size = abs(check_number("largest_derivative", largest_derivative))
    if size == 0.0:
        return 0.0
    logarithm = math.log(size) - (count - 1) * math.log(2) - math.lgamma(count + 1) + count * math.log((b - a) / 2)
    logarithm += count * math.log(stretch(degree)) if stretched else 0.0
    return math.exp(logarithm) if logarithm < math.log(sys.float_info.max) else math.inf


def _degree(numbers: Any, name: str) -> int:
    check_tensor(name, numbers)
    if numbers.dim() == 0 or numbers.shape[-1] < 2:
        raise ValueError(must_be(name, "(..., degree + 1) with degree at least 1", numbers.shape))
    return int(numbers.shape[-1]) - 1
