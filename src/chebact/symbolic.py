"""One channel as an expression of SymPy."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy

from chebact.checks import must_be
from chebact.pieces import Pieces

if TYPE_CHECKING:
    from sympy import Expr

__all__ = ["expression_of", "import_sympy", "undistributed"]

POWER_DEGREE = 6  # up to here powers of t in float64 have an error of 2e-13 of the largest height; 4e-5 at degree 30


def import_sympy() -> Any:
    """SymPy, which comes with torch."""
    try:
        import sympy
    except ImportError as error:
        raise ImportError(
            "sympy must be installed for to_sympy, got none; install it with `pip install sympy`"
        ) from error
    return sympy


def expression_of(pieces: Pieces, x: Expr, *, by_cases: bool = True) -> Expr:
    """The pieces as a Piecewise of x, or a sum with Min and Max of x; as a polynomial where there are no lines.

    Sums and products alone, accurate to 1e-12 of the largest height in float64 (tested to degree 30): powers of
    t = (x - middle) / half up to degree 6, above products of T_1, T_2, T_4, T_8 ... of t. Nothing is expanded, which
    would lose digits; `diff` multiplies numbers into x - middle and loses those of |middle| / half. With
    `by_cases` the lines are cases; SymPy would write cases of a sum of cases out as all their combinations.

    >>> from chebact.basis import Basis
    >>> from chebact.pieces import pieces_of
    >>> sympy = import_sympy()
    >>> expression_of(pieces_of([1.0, 0.0, 1.0], Basis(2, "none")), sympy.Symbol("x"))
    1.0*x**2
    >>> expression_of(pieces_of([1.0, 0.0, 1.0], Basis(2, "none", interval=(4.0, 8.0))), sympy.Symbol("x"))
    0.25*(x - 6.0)**2
    """
    sympy = import_sympy()
    if x == sympy.Symbol(""):
        raise ValueError(must_be("symbol", "the name of one", "", "pass a name such as 'x'"))
    with undistributed():
        if pieces.lines is None:
            return _inside(pieces, x)
        (a, b), (left, left_slope, right, right_slope) = pieces.ends, pieces.lines
        if by_cases:
            below, above = left + left_slope * (x - a), right + right_slope * (x - b)
            return sympy.Piecewise((below, x <= a), (above, x >= b), (_inside(pieces, x), True))
        least, most = (functools.partial(each, evaluate=False) for each in (sympy.Min, sympy.Max))  # compares nothing
        lines = left_slope * least(x - a, 0) + right_slope * most(x - b, 0)
        return _inside(pieces, most(a, least(x, b))) + lines


def undistributed() -> AbstractContextManager[Any]:
    """Inside its block SymPy leaves 2 (x - 1000) as it is; 2 x - 2000 has fewer digits near x = 1000."""
    from sympy.core.parameters import distribute

    return distribute(False)  # type: ignore[no-any-return]


def _inside(pieces: Pieces, x: Any) -> Any:
    unit = (pieces.middle, pieces.half) == (0.0, 1.0)
    t = x if unit else (x - pieces.middle if pieces.middle else x) * (1 / pieces.half)
    coefficients = _at_rounded_middle(pieces)
    if len(coefficients) > POWER_DEGREE + 1:
        return _by_doubling(coefficients, t)
    if not pieces.powers:
        coefficients = numpy.polynomial.chebyshev.cheb2poly(coefficients)
    terms = [float(c) * t**k for k, c in enumerate(coefficients) if c]
    return sum(terms, import_sympy().Integer(0))


def _at_rounded_middle(pieces: Pieces) -> Any:
    """The coefficients for t from the middle as float64 has it: P(t + e) = P(t) + e P'(t), e of a rounding error."""
    coefficients, (a, b) = numpy.array(pieces.coefficients), pieces.ends
    e = float(Fraction(pieces.middle) - (Fraction(a) + Fraction(b)) / 2) / pieces.half
    if e:
        kind = numpy.polynomial.polynomial.polyder if pieces.powers else numpy.polynomial.chebyshev.chebder
        slopes = kind(coefficients)
        coefficients[: len(slopes)] += e * slopes
    return coefficients


def _by_doubling(series: Any, t: Any) -> Any:
    """sum_k series_k T_k(t) as E(s) + t O(s) with s = T_2(t) = 2 t^2 - 1, and the same for the series E and O.

    T_2j(t) = T_j(s), and T_2j+1(t) = t (2 T_j(s) - 2 T_j-1(s) + ... +- T_0(s)). The numbers grow like degree^1.6, those
    of powers like 2.4^degree, and the length of the expression like degree log(degree); Clenshaw's rule written out
    grows like 1.6^degree.
    """
    if len(series) <= 2:
        terms = [float(c) * t**k for k, c in enumerate(series) if c]
        return sum(terms, import_sympy().Integer(0))
    odd = numpy.zeros(len(series) // 2)
    for j, c in enumerate(series[1::2]):
        odd[: j + 1] += 2.0 * c * (-1.0) ** numpy.arange(j, -1, -1)
    odd[0] /= 2
    s = 2 * t**2 - 1
    return _by_doubling(series[::2], s) + t * _by_doubling(odd, s)
