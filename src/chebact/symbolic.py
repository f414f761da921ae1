"""One channel as an expression of SymPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chebact.pieces import Pieces

if TYPE_CHECKING:
    from sympy import Expr

__all__ = ["expression_of", "import_sympy"]


def import_sympy() -> Any:
    """SymPy, which comes with torch."""
    try:
        import sympy
    except ImportError as error:
        raise ImportError(
            "sympy must be installed for to_sympy, got none; install it with `pip install sympy`"
        ) from error
    return sympy


def expression_of(pieces: Pieces, x: Expr) -> Expr:
    """The pieces as a Piecewise of x; as a polynomial where there are no lines.

    >>> from chebact.basis import Basis
    >>> from chebact.pieces import pieces_of
    >>> sympy = import_sympy()
    >>> expression_of(pieces_of([1.0, 0.0, 1.0], Basis(2, "none")), sympy.Symbol("x"))
    1.0*x**2
    """
    sympy = import_sympy()
    t = x if (pieces.middle, pieces.half) == (0.0, 1.0) else (x - pieces.middle) / pieces.half
    terms = [c * (t**k if pieces.powers else sympy.chebyshevt(k, t)) for k, c in enumerate(pieces.coefficients) if c]
    inside = sympy.expand(sum(terms, sympy.Integer(0)))
    if pieces.lines is None:
        return inside
    (a, b), (left, left_slope, right, right_slope) = pieces.ends, pieces.lines
    below, above = left + left_slope * (x - a), right + right_slope * (x - b)
    return sympy.Piecewise((below, x <= a), (above, x >= b), (inside, True))
