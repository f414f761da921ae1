"""A small network as one C99 file: constant tables and loops, no allocation, no library but math.h."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

from torch import Tensor, nn

from chebact.checks import check_choice, must_be
from chebact.export.c.buffers import place_vectors
from chebact.export.c.calls import POINTWISE, Call, line_of
from chebact.export.c.loops import LOOPS, TYPES
from chebact.export.c.tables import Tables
from chebact.export.c.words import is_taken
from chebact.export.program import Program
from chebact.export.reading import read_program

__all__ = ["MOST_ON_STACK", "to_c"]

MOST_ON_STACK = 256 * 1024
"""Bytes of work space above which the caller has to give it: stacks are small, and nothing tells when they overflow."""

HEAD = """/* A network of chebact: {name} takes {inputs} numbers{shape} and gives {outputs}; the two may not overlap.
   C99, no allocation, no state: calls from several threads are safe. The work space is {space} numbers ({bytes} bytes)
   {where}. */
#include <math.h>

typedef {real} real;
"""
WHERE = {"stack": "on the stack", "argument": "in the third argument, which may not overlap with the others"}


def to_c(
    network: nn.Module,
    path: str | os.PathLike[str],
    *,
    example: Tensor | None = None,
    name: str = "network",
    real: Literal["float", "double"] = "float",
    work: Literal["stack", "argument"] = "stack",
) -> Path:
    """Write a small network as one C99 file with the function `void name(const real *in, real *out)`; returns the path.

    The network takes one tensor and gives one. It may have linear layers, convolutions and pooling in one or two
    dimensions, norms, learned activations and those of torch, sums, products, concatenation and reshaping, as modules
    or as functions in forward; what is not known is refused by name. The file computes what the network gives in
    evaluation for a batch of one row, whatever mode it is in. Compile it with any C compiler: `cc -O2 -c network.c`,
    and link with `-lm`.

    Args:
        network: any module that torch.export can trace. It stays as it was.
        path: the file to write.
        example: an input with its batch axis, which tells the shape; the numbers do not matter. A network that begins
            with a linear layer needs none. `in` has one row of it in C order, so (C, H, W) for images.
        name: of the function.
        real: the type of all numbers.
        work: "stack" puts intermediate results on the stack, at most 256 KiB; "argument" adds an argument `real *work`
            for them. The head of the file says how many numbers it has.

    >>> import tempfile
    >>> from chebact import ChebyshevLagrange
    >>> folder = tempfile.mkdtemp()
    >>> to_c(nn.Sequential(nn.Linear(2, 4), ChebyshevLagrange(4), nn.Linear(4, 1)), f"{folder}/network.c").name
    'network.c'
    """
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise ValueError(must_be("name", "an identifier of C", name, "pass letters, digits and _"))
    check_choice("real", real, ("float", "double"))
    check_choice("work", work, WHERE)
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(must_be("path", "a path", path, "pass the name of a file, such as 'network.c'"))
    text = _write(read_program(network, example), name, real, work)
    target = Path(path)
    if target.is_dir() or not target.parent.is_dir():
        raise ValueError(f"path must be a file in a folder that exists, got {str(path)!r}")
    target.write_text(text, encoding="ascii")
    return target


def _write(program: Program, name: str, real: str, work: str) -> str:
    places, space = place_vectors(program, POINTWISE)
    count = space * (4 if real == "float" else 8)
    if work == "stack" and count > MOST_ON_STACK:
        raise ValueError(
            f"work must be 'argument' for a work space of more than {MOST_ON_STACK} bytes, got 'stack' for {count}; "
            "pass work='argument', and that memory to the C function"
        )
    tables = Tables(real)
    lines = _lines(program, places, tables)
    words = set(re.findall(r"\w+", "".join(lines)))
    loops = [text for key, text in LOOPS.items() if key in words]
    types = [text for key, text in TYPES.items() if any(key in text for text in loops)]
    body = [f"    real work[{space}];"] if work == "stack" and space else []
    body += ["    (void)work;"] if work == "argument" and not space else []
    text = "".join((*types, *loops, *tables.texts, *body, *lines))
    if is_taken(name, text):
        raise ValueError(must_be("name", "one that C and the file do not use", name, "add a word of your own to it"))
    shape = f" of shape {program.shape} in C order" if len(program.shape) > 1 else ""
    sizes = {"inputs": program.inputs, "outputs": program.steps[-1].size, "space": space, "bytes": count}
    head = HEAD.format(name=name, shape=shape, real=real, where=WHERE[work], **sizes)
    arguments = "const real *in, real *out" + (", real *work" if work == "argument" else "")
    function = f"\nvoid {name}({arguments})\n{{\n" + "\n".join([*body, *lines]) + "\n}\n"
    return "".join((head, *types, *loops, *tables.texts, function))


def _lines(program: Program, places: dict[int, int], tables: Tables) -> list[str]:
    """A line per step; a vector is named by its place in the work space."""
    last = len(program.steps)
    names = {0: "in", last: "out"} | {
        index: f"work + {offset}" if offset else "work" for index, offset in places.items()
    }
    return [
        f"    {line_of(Call(step, [names[each] for each in step.inputs], names[index], tables))}"
        for index, step in enumerate(program.steps, 1)
    ]
