"""The text of a C file from a program."""

from __future__ import annotations

import re

from chebact.checks import must_be
from chebact.export.c.buffers import place_vectors
from chebact.export.c.calls import POINTWISE, Call, line_of
from chebact.export.c.loops import LOOPS, TYPES
from chebact.export.c.tables import Tables
from chebact.export.c.words import is_taken
from chebact.export.program import Program

__all__ = ["MOST_ON_STACK", "WORK_SPACES", "write_c"]

MOST_ON_STACK = 256 * 1024
"""Bytes of work space above which the caller has to give it: stacks are small, and nothing tells when they overflow."""

HEAD = """/* A network of chebact: {name} takes {inputs} numbers{shape} and gives {outputs}; the two may not overlap.
   C99, no allocation, no state: calls from several threads are safe. The work space is {space} numbers ({bytes} bytes)
   {where}. */
#include <math.h>

typedef {real} real;
"""
WORK_SPACES = {"stack": "on the stack", "argument": "in the third argument, which may not overlap with the others"}


def write_c(program: Program, name: str, real: str, work: str) -> str:
    """The file with the function `name`; `work` is a row of `WORK_SPACES`.

    >>> from chebact.export.program import Step
    >>> print(write_c(Program(2, (Step("relu", (0,), 2),)), "relu", "float", "stack").partition("void")[2])
     relu(const real *in, real *out)
    {
        for (int i = 0; i < 2; ++i) { const real v = in[i]; out[i] = v < 0 ? 0 : v; }
    }
    <BLANKLINE>
    """
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
    head = HEAD.format(name=name, shape=shape, real=real, where=WORK_SPACES[work], **sizes)
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
