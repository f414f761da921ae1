"""A small network as expressions of SymPy, one for each output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn

from chebact.export.program import Curve, Step, read_program
from chebact.pieces import pieces_of
from chebact.symbolic import expression_of, import_sympy, undistributed

if TYPE_CHECKING:
    from sympy import Expr

__all__ = ["to_sympy"]


def to_sympy(network: nn.Module) -> list[Expr]:
    """The outputs of a small network as expressions of x0, x1, ...; they grow with every layer.

    The network is made of linear layers, learned activations, ReLU, tanh, sigmoid, sums and factors. Nothing is
    expanded, which would lose digits; `sympy.expand` does it for an output that is a polynomial.

    >>> from chebact import ChebyshevLagrange
    >>> line = nn.Linear(1, 1, bias=False)
    >>> _ = nn.init.constant_(line.weight, 2.0)
    >>> to_sympy(nn.Sequential(line, ChebyshevLagrange(1, degree=2, tails="none", init=[1.0, 0.0, 1.0])))
    [4.0*x0**2]
    """
    sympy, program = import_sympy(), read_program(network)
    vectors: list[list[Any]] = [list(sympy.symbols(f"x:{program.inputs}"))]
    with undistributed():
        for step in program.steps:
            vectors.append(_apply(step, [vectors[index] for index in step.inputs]))
    return vectors[-1]


def _apply(step: Step, given: list[list[Any]]) -> list[Any]:
    sympy, first = import_sympy(), given[0]
    if step.kind == "linear":
        bias = step.bias if step.bias is not None else [0] * step.size
        return [
            sum((float(w) * each for w, each in zip(row, first, strict=True)), _number(b))
            for row, b in zip(step.weight, bias, strict=True)
        ]
    if step.curve is not None:
        return [_curve(step.curve, channel, each) for channel, each in enumerate(first)]
    if step.kind == "add":
        return [a + b for a, b in zip(*given, strict=True)]
    if step.kind == "scale":
        return [step.factor * each for each in first]
    functions = {
        "relu": lambda x: sympy.Max(0, x),
        "tanh": sympy.tanh,
        "sigmoid": lambda x: 1 / (1 + sympy.exp(-x)),
        "cubic": lambda x: x**3,
    }
    return [functions[step.kind](each) for each in first]


def _number(bias: Any) -> Any:
    return import_sympy().Float(float(bias)) if bias else import_sympy().Integer(0)


def _curve(curve: Curve, channel: int, x: Any) -> Any:
    return expression_of(pieces_of(curve.heights[channel], curve.basis), x, by_cases=False)
