"""A small network as expressions of SymPy, one for each output."""

from __future__ import annotations

import itertools
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from chebact.export.elements import ELEMENTS, PAIRS
from chebact.export.program import Step
from chebact.export.reading import read_program
from chebact.pieces import pieces_of
from chebact.symbolic import expression_of, import_sympy, undistributed

if TYPE_CHECKING:
    from sympy import Expr

__all__ = ["to_sympy"]


def to_sympy(network: nn.Module, *, example: Tensor | None = None) -> list[Expr]:
    """The outputs of a small network as expressions of x0, x1, ...; they grow with every layer.

    The network is made of linear layers, activations, batch norm, sums, products and reshaping. One that does not
    begin with a linear layer needs an `example`, an input with its batch axis. Nothing is expanded, which would lose
    digits; `sympy.expand` does it for an output that is a polynomial.

    >>> from chebact import ChebyshevLagrange
    >>> line = nn.Linear(1, 1, bias=False)
    >>> _ = nn.init.constant_(line.weight, 2.0)
    >>> to_sympy(nn.Sequential(line, ChebyshevLagrange(1, degree=2, tails="none", init=[1.0, 0.0, 1.0])))
    [4.0*x0**2]
    """
    sympy, program = import_sympy(), read_program(network, example)
    vectors: list[list[Any]] = [list(sympy.symbols(f"x:{program.inputs}"))]
    with undistributed():
        for step in program.steps:
            vectors.append(_apply(step, [vectors[index] for index in step.inputs]))
    return vectors[-1]


def _apply(step: Step, given: list[list[Any]]) -> list[Any]:
    sympy, first = import_sympy(), given[0]
    if step.kind in ELEMENTS:
        functions = _unevaluated(sympy)
        return [ELEMENTS[step.kind].sympy(functions, each, *step.numbers) for each in first]
    if step.kind in PAIRS:
        return [PAIRS[step.kind].sympy(sympy, a, b, *step.numbers) for a, b in zip(*given, strict=True)]
    if step.kind not in KINDS:
        raise ValueError(
            "network must be made of linear layers, activations, sums, products and reshaping to be a formula, got "
            f"{step.kind}; write it with chebact.to_c"
        )
    return list(KINDS[step.kind](step, given))


def _unevaluated(sympy: Any) -> Any:
    """SymPy with odd and even functions that leave the sign of their argument.

    Where -(x + y) is not multiplied out, SymPy changes tanh(-x - y) to -tanh(-(-x - y)) and so on without an end.
    """
    functions = {name: partial(getattr(sympy, name), evaluate=False) for name in ("tanh", "erfc", "sin", "cos", "Abs")}
    others = {name: getattr(sympy, name) for name in ("Max", "Min", "Piecewise", "exp", "log", "pi", "sqrt")}
    return SimpleNamespace(**functions, **others)


def _linear(step: Step, given: list[list[Any]]) -> list[Any]:
    bias = step.bias if step.bias is not None else [0] * len(step.weight)
    width = step.weight.shape[1]
    return [
        sum((float(w) * each for w, each in zip(row, given[0][start : start + width], strict=True)), _number(b))
        for start in range(0, len(given[0]), width)
        for row, b in zip(step.weight, bias, strict=True)
    ]


def _affine(step: Step, given: list[list[Any]]) -> list[Any]:
    _, channels, inner = step.layout
    factors = [1] * channels if step.weight is None else step.weight.tolist()
    shifts = [0] * channels if step.bias is None else step.bias.tolist()
    rows = [i // inner % channels for i in range(step.size)]
    return [factors[row] * each + shifts[row] for row, each in zip(rows, given[0], strict=True)]


def _curve(step: Step, given: list[list[Any]]) -> list[Any]:
    assert step.curve is not None
    _, channels, inner = step.layout
    pieces = [pieces_of(row, step.curve.basis) for row in step.curve.heights]
    return [expression_of(pieces[i // inner % channels], each, by_cases=False) for i, each in enumerate(given[0])]


def _sum(step: Step, given: list[list[Any]]) -> list[Any]:
    outer, length, inner = step.layout
    places = [(row * length * inner + i) for row in range(outer) for i in range(inner)]
    return [step.factor * sum(given[0][place + k * inner] for k in range(length)) for place in places]


def _copy(step: Step, given: list[list[Any]]) -> list[Any]:
    result: list[Any] = [step.factor if step.numbers else 0] * step.size
    for move, source in zip(step.moves, given, strict=True):
        for place in itertools.product(*map(range, move.shape)):
            start, end = (
                offset + sum(i * stride for i, stride in zip(place, strides, strict=True))
                for offset, strides in ((move.offset, move.strides), (move.out_offset, move.out_strides))
            )
            result[end] = source[start]
    return result


KINDS = {"linear": _linear, "linear rows": _linear, "affine": _affine, "curve": _curve, "sum": _sum, "copy": _copy}


def _number(bias: Any) -> Any:
    return import_sympy().Float(float(bias)) if bias else import_sympy().Integer(0)
