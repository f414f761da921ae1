"""CALLS: the line of C that computes a step, one row per kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy
import torch

from chebact.basis import LEFT_SLOPE, RIGHT_SLOPE
from chebact.export.c.tables import Tables
from chebact.export.elements import ELEMENTS, PAIRS
from chebact.export.folding import coefficients_of, position_of
from chebact.export.program import Move, Step

__all__ = ["CALLS", "POINTWISE", "Call", "line_of"]


class Call(NamedTuple):
    """A step, the names of its inputs and of its result, and the tables of the file."""

    step: Step
    given: list[str]
    out: str
    tables: Tables

    @property
    def layout(self) -> str:
        """The sizes as arguments."""
        return ", ".join(map(str, self.step.layout))

    @property
    def ends(self) -> str:
        """Input and result as the last two arguments."""
        return f"{self.given[0]}, {self.out}"


def line_of(call: Call) -> str:
    """One line of C, or several."""
    kind = call.step.kind
    if kind in CALLS:
        return CALLS[kind](call)
    numbers = [call.tables.number(each) for each in call.step.numbers]
    loop = f"for (int i = 0; i < {call.step.size}; ++i) "
    if kind in PAIRS:
        first, second = call.given
        text = PAIRS[kind].c.format(*numbers)
        ends = f"a = {at(first, 'i')}, b = {at(second, 'i')}"
    else:
        text, ends = ELEMENTS[kind].c.format(*numbers), f"v = {at(call.given[0], 'i')}"
    return f"{loop}{{ const real {ends}; {at(call.out, 'i')} = {text}; }}"


def at(vector: str, index: str) -> str:
    """A number of a vector.

    >>> at("in", "i"), at("work + 8", "i")
    ('in[i]', 'work[8 + i]')
    """
    name, _, offset = vector.partition(" + ")
    return f"{name}[{offset} + {index}]" if offset else f"{name}[{index}]"


def linear(call: Call) -> str:
    """A call per row."""
    step, tables = call.step, call.tables
    rows, (outputs, inputs) = step.layout[0], step.weight.shape
    names = f"{tables.add('weight', step.weight.ravel())}, {tables.add('bias', step.bias)}"
    if step.kind == "linear":
        return f"linear({names}, {inputs}, {outputs}, {call.ends});"
    places = f"&{at(call.given[0], f'{inputs} * i')}, &{at(call.out, f'{outputs} * i')}"
    return f"for (int i = 0; i < {rows}; ++i) linear({names}, {inputs}, {outputs}, {places});"


def curve(call: Call) -> str:
    """Learned activations: coefficients, and the slopes of both lines; a series has its place in double."""
    curve, tables = call.step.curve, call.tables
    assert curve is not None
    basis = curve.basis
    rows = coefficients_of(basis) + (
        [basis.pieces[row] for row in (LEFT_SLOPE, RIGHT_SLOPE)] if basis.has_tails else []
    )
    flat = (curve.heights @ numpy.stack(rows, axis=1)).ravel()
    tables = tables if basis.by_powers else tables.wide
    position = position_of(basis, torch.float64 if tables.real == "double" else torch.float32)
    ends = [each / position.scale for each in (position.left, position.right)] if basis.has_tails else []
    numbers = ", ".join(map(tables.number, (position.high, position.low, position.scale, *ends)))
    name = ("powers" if basis.by_powers else "series") + ("_with_lines" if basis.has_tails else "")
    return f"{name}({call.tables.add('curve', flat)}, {basis.degree}, {numbers}, {call.layout}, {call.ends});"


def affine(call: Call) -> str:
    """Factors and shifts per channel."""
    names = (call.tables.add("factor", call.step.weight), call.tables.add("shift", call.step.bias))
    return f"affine({', '.join(names)}, {call.layout}, {call.ends});"


def convolution(call: Call) -> str:
    """A window, weights and a bias per output channel."""
    step, tables = call.step, call.tables
    assert step.window is not None
    names = f"{tables.add('weight', step.weight.ravel())}, {tables.add('bias', step.bias)}"
    return f"convolution({names}, {tables.window(step.window)}, {call.ends});"


def max_pool(call: Call) -> str:
    """A window."""
    assert call.step.window is not None
    return f"max_pool({call.tables.window(call.step.window)}, {call.ends});"


def average_pool(call: Call) -> str:
    """A window, whether the border counts, and a divisor or 0."""
    assert call.step.window is not None
    border, divisor = map(int, call.step.numbers)
    return f"average_pool({border}, {divisor}, {call.tables.window(call.step.window)}, {call.ends});"


def reduce(call: Call) -> str:
    """A sum times a factor."""
    return f"reduce({call.tables.wide.number(call.step.factor)}, {call.layout}, {call.ends});"


def normalize(call: Call) -> str:
    """Rows of mean 0 and variance 1."""
    rows, length, _ = call.step.layout
    return f"normalize({call.tables.wide.number(call.step.factor)}, {rows}, {length}, {call.ends});"


def softmax(call: Call) -> str:
    """Along the middle axis."""
    return f"softmax({int(call.step.kind == 'log softmax')}, {call.layout}, {call.ends});"


def copy(call: Call) -> str:
    """A loop per block, after one that writes the border."""
    step, lines = call.step, []
    if step.numbers:
        lines.append(f"for (int i = 0; i < {step.size}; ++i) {at(call.out, 'i')} = {call.tables.number(step.factor)};")
    lines += [_moved(move, source, call.out) for move, source in zip(step.moves, call.given, strict=True)]
    return "\n    ".join(line for line in lines if line)


def _moved(move: Move, source: str, out: str) -> str:
    if not math.prod(move.shape):
        return ""
    letters = [f"i{axis}" for axis in range(len(move.shape))]
    loops = [f"for (int {i} = 0; {i} < {length}; ++{i}) " for i, length in zip(letters, move.shape, strict=True)]
    ends = (
        at(out, _index(letters, move.out_offset, move.out_strides)),
        at(source, _index(letters, move.offset, move.strides)),
    )
    return f"{''.join(loops)}{ends[0]} = {ends[1]};"


def _index(letters: list[str], offset: int, strides: tuple[int, ...]) -> str:
    parts = [f"{stride} * {i}" if stride != 1 else i for i, stride in zip(letters, strides, strict=True) if stride]
    return " + ".join([*([str(offset)] if offset else []), *parts]) or "0"


CALLS: dict[str, Callable[[Call], str]] = {
    "linear": linear,
    "linear rows": linear,
    "curve": curve,
    "affine": affine,
    "convolution": convolution,
    "max pool": max_pool,
    "average pool": average_pool,
    "sum": reduce,
    "normalize": normalize,
    "softmax": softmax,
    "log softmax": softmax,
    "copy": copy,
}
POINTWISE = {*ELEMENTS, *PAIRS, "affine", "curve", "normalize", "softmax", "log softmax"}
"""Kinds that may write over their input: a number is read for the last time when the same place is written."""
