"""A small network as one C99 file: constant tables and loops, no allocation, no library but math.h."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from torch import Tensor, nn

from chebact.checks import check_choice, must_be
from chebact.export.reading import read_program

__all__ = ["to_c"]


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
        real: the type of the numbers; sums that lose digits in float are taken in double nevertheless.
        work: "stack" puts intermediate results on the stack, at most 256 KiB; "argument" adds an argument `real *work`
            for them. The head of the file says how many numbers it has.

    >>> import tempfile
    >>> from chebact import ChebyshevLagrange
    >>> folder = tempfile.mkdtemp()
    >>> to_c(nn.Sequential(nn.Linear(2, 4), ChebyshevLagrange(4), nn.Linear(4, 1)), f"{folder}/network.c").name
    'network.c'
    """
    from chebact.export.c import WORK_SPACES, write_c  # few programs write C

    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise ValueError(must_be("name", "an identifier of C", name, "pass letters, digits and _"))
    check_choice("real", real, ("float", "double"))
    check_choice("work", work, WORK_SPACES)
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(must_be("path", "a path", path, "pass the name of a file, such as 'network.c'"))
    text = write_c(read_program(network, example), name, real, work)
    return _written(text, path)


def _written(text: str, path: str | os.PathLike[str]) -> Path:
    """The file with that text."""
    target = Path(path)
    try:
        if target.is_dir() or not target.parent.is_dir():
            do = "pass the name of a file, or make its folder first"
            raise ValueError(must_be("path", "a file in a folder that exists", str(path), do))
        target.write_text(text, encoding="ascii")
    except OSError as error:
        got = f"{str(path)!r}, which raised {type(error).__name__}: {error.strerror}"
        raise ValueError(f"path must be a file that can be written, got {got}; pass another one") from error
    return target
