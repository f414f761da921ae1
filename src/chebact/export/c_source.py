"""A small network as one C99 file: constant tables and loops, no allocation, no library but math.h."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

from torch import nn

from chebact.checks import check_integer, must_be
from chebact.export.program import Program, Step, read_program
from chebact.pieces import pieces_of

__all__ = ["to_c"]

HEAD = """/* A network of chebact: {name} takes {inputs} numbers and gives {outputs}; the two may not overlap.
   C99, no allocation, no state: calls from several threads are safe. The work space is {space} numbers on the stack. */
#include <math.h>

typedef {real} real;
"""
POWERS = """
static void powers{suffix}(const real *table, int degree, real middle, real scale, {ends}int size,
    const real *in, real *out)
{{
    for (int i = 0; i < size; ++i) {{
        const real *c = table + i * (degree + {width});
        {held}
        const real t = (x - middle) * scale;
        real sum = c[degree];
        for (int k = degree - 1; k >= 0; --k) sum = sum * t + c[k];
        out[i] = sum{lines};
    }}
}}
"""
SERIES = """
static void series{suffix}(const real *table, int degree, real middle, real scale, {ends}int size,
    const real *in, real *out)
{{
    for (int i = 0; i < size; ++i) {{
        const real *c = table + i * (degree + {width});
        {held}
        const real t = (x - middle) * scale;
        real one = 0, two = 0;
        for (int k = degree; k >= 1; --k) {{
            const real next = 2 * t * one - two + c[k];
            two = one;
            one = next;
        }}
        out[i] = t * one - two + c[0]{lines};
    }}
}}
"""
LINEAR = """
static void linear(const real *weight, const real *bias, int inputs, int outputs, const real *in, real *out)
{
    for (int i = 0; i < outputs; ++i) {
        real sum = bias[i];
        for (int k = 0; k < inputs; ++k) sum += weight[i * inputs + k] * in[k];
        out[i] = sum;
    }
}
"""
ELEMENTS = {
    "relu": "v > 0 ? v : 0",
    "tanh": "(real)tanh(v)",
    "sigmoid": "1 / (1 + (real)exp(-v))",
    "cubic": "v * v * v",
}

TAKEN = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long main "
    "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
    "exp linear real sigmoid tanh"
)
"""The keywords of C99, and what the file names itself or calls."""


def to_c(
    network: nn.Module,
    path: str | os.PathLike[str],
    *,
    name: str = "network",
    real: Literal["float", "double"] = "float",
) -> Path:
    """Write a small network as one C99 file with the function `void name(const real *in, real *out)`; returns the path.

    The network is made of linear layers, learned activations, ReLU, tanh, sigmoid, sums and factors; it takes one
    vector and gives one. Compile with any C compiler: `cc -O2 -c network.c`, and link with `-lm`.

    >>> import tempfile
    >>> from chebact import ChebyshevLagrange
    >>> folder = tempfile.mkdtemp()
    >>> to_c(nn.Sequential(nn.Linear(2, 4), ChebyshevLagrange(4), nn.Linear(4, 1)), f"{folder}/network.c").name
    'network.c'
    """
    _check_name(name)
    if real not in ("float", "double"):
        raise ValueError(must_be("real", "'float' or 'double'", real))
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(must_be("path", "a path", path, "pass the name of a file, such as 'network.c'"))
    text = _write(read_program(network), name, real)
    target = Path(path)
    if target.is_dir() or not target.parent.is_dir():
        raise ValueError(f"path must be a file in a folder that exists, got {str(path)!r}")
    target.write_text(text, encoding="ascii")
    return target


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise ValueError(must_be("name", "an identifier of C", name, "pass letters, digits and _"))
    ours = name.rstrip("0123456789") in ("weight", "bias", "curve")
    if ours or name.startswith(("powers", "series")) or name in re.findall(r"\w+", TAKEN):
        raise ValueError(must_be("name", "one that C and the file do not use", name, "add a word of your own to it"))


def _write(program: Program, name: str, real: str) -> str:
    kinds = {_loop_of(step) for step in program.steps}
    sizes = [program.inputs, *(step.size for step in program.steps)]
    space = sum(sizes[1:-1])
    outputs = sizes[-1]
    parts = [HEAD.format(name=name, inputs=program.inputs, outputs=outputs, space=space, real=real)]
    parts += [_loop(kind) for kind in sorted(kinds) if kind]
    vectors = ["in", *(f"v{index}" for index in range(1, len(program.steps))), "out"]
    body = [f"    real v{index}[{size}];" for index, size in list(enumerate(sizes))[1:-1]]
    for index, step in enumerate(program.steps):
        tables, call = _step(step, index, vectors, sizes, real)
        parts.append(tables)
        body.append(f"    {call}")
    parts.append(f"\nvoid {name}(const real *in, real *out)\n{{\n" + "\n".join(body) + "\n}\n")
    return "".join(parts)


def _loop_of(step: Step) -> str:
    """The name of the function that a step calls; empty where it is a line of its own."""
    if step.curve is None:
        return "linear" if step.kind == "linear" else ""
    basis = step.curve.basis
    return ("powers" if basis.by_powers else "series") + ("_with_lines" if basis.has_tails else "")


def _loop(kind: str) -> str:
    if kind == "linear":
        return LINEAR
    tails = kind.endswith("_with_lines")
    held = "const real x = in[i] < left ? left : in[i] > right ? right : in[i];" if tails else "const real x = in[i];"
    slope = " + (in[i] - x) * (in[i] < left ? c[degree + 1] : c[degree + 2])" if tails else ""
    words = {"suffix": "_with_lines" if tails else "", "ends": "real left, real right, " if tails else ""}
    return (POWERS if kind.startswith("powers") else SERIES).format(
        **words, held=held, lines=slope, width=3 if tails else 1
    )


def _step(step: Step, index: int, vectors: list[str], sizes: list[int], real: str) -> tuple[str, str]:
    """The tables of a step, and the line that computes it."""
    number: Callable[[Any], str] = _number_of(real)
    given, out = [vectors[each] for each in step.inputs], vectors[index + 1]
    if step.kind == "linear":
        bias = step.bias if step.bias is not None else [0.0] * step.size
        tables = _table(f"weight{index}", step.weight.ravel(), number) + _table(f"bias{index}", bias, number)
        return tables, f"linear(weight{index}, bias{index}, {sizes[step.inputs[0]]}, {step.size}, {given[0]}, {out});"
    if step.curve is not None:
        rows = [pieces_of(row, step.curve.basis) for row in step.curve.heights]
        flat = [each for row in rows for each in (*row.coefficients, *(row.lines[1::2] if row.lines else ()))]
        place = [number(rows[0].middle), number(1 / rows[0].half)]
        place += [number(end) for end in rows[0].ends] if rows[0].lines else []
        arguments = f"curve{index}, {step.curve.basis.degree}, {', '.join(place)}, {step.size}, {given[0]}, {out}"
        return _table(f"curve{index}", flat, number), f"{_loop_of(step)}({arguments});"
    loop = f"for (int i = 0; i < {step.size}; ++i) "
    if step.kind == "add":
        return "", f"{loop}{out}[i] = {given[0]}[i] + {given[1]}[i];"
    if step.kind == "scale":
        return "", f"{loop}{out}[i] = {given[0]}[i] * {number(step.factor)};"
    return "", f"{loop}{{ const real v = {given[0]}[i]; {out}[i] = {ELEMENTS[step.kind]}; }}"


def _number_of(real: str) -> Callable[[Any], str]:
    suffix, digits = ("f", 9) if real == "float" else ("", 17)

    def number(given: Any) -> str:
        text = f"{float(given):.{digits}g}"
        return (text if any(mark in text for mark in ".en") else f"{text}.0") + suffix

    return number


def _table(name: str, numbers: Iterable[Any], number: Callable[[Any], str]) -> str:
    texts = [number(each) for each in numbers]
    check_integer("size of the network", len(texts), least=1)
    lines = [", ".join(texts[start : start + 6]) for start in range(0, len(texts), 6)]
    return f"\nstatic const real {name}[{len(texts)}] = {{\n    " + ",\n    ".join(lines) + "\n};\n"
