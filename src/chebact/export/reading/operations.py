"""OPERATIONS: how an operation of ATen becomes steps, one row per operation.

A row takes the reader, the arguments of the operation by name and its node; it returns the view of its result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from chebact.export.program import Step
from chebact.export.reading import arithmetic, channels, windows
from chebact.export.reading.values import Refusal, View, blank, move_of

if TYPE_CHECKING:
    from chebact.export.reading.reader import Reader

__all__ = ["OPERATIONS", "SAME_NUMBERS"]

Given = dict[str, Any]
Row = Callable[["Reader", Given, fx.Node], Any]

VIEWS = (
    "slice.Tensor select.int permute.default transpose.int t.default expand.default unsqueeze.default squeeze.default "
    "squeeze.dim squeeze.dims split.Tensor split_with_sizes.default chunk.default unbind.int narrow.default "
    "movedim.int alias.default detach.default"
)
RESHAPES = "view.default reshape.default _unsafe_view.default flatten.using_ints contiguous.default clone.default"
CASTS = "_to_copy.default to.dtype to.dtype_layout to.device lift_fresh_copy.default"
SAME_NUMBERS = {*VIEWS.split(), *RESHAPES.split(), *CASTS.split()}
"""Operations whose result has the numbers of the argument, and may be the same memory."""


def view(reader: Reader, given: Given, node: fx.Node) -> Any:
    """The same numbers at other places: torch applies the operation to the layout."""
    x: View = next(iter(given.values()))
    target: Any = node.target
    found = target(x.layout, **dict(list(given.items())[1:]))
    return [View(x.index, each) for each in found] if isinstance(found, (list, tuple)) else View(x.index, found)


def reshape(reader: Reader, given: Given, node: fx.Node) -> View:
    """The same numbers in the same order."""
    return View(reader.vector(next(iter(given.values()))), blank(node.meta["val"].shape))


def cast(reader: Reader, given: Given, node: fx.Node) -> View:
    """Between float32 and float64 nothing happens: C computes in one type."""
    if node.meta["val"].dtype not in (torch.float32, torch.float64):
        raise Refusal(f" to {node.meta['val'].dtype}")
    return reshape(reader, given, node)


def concatenate(reader: Reader, given: Given, node: fx.Node) -> View:
    """Blocks side by side."""
    parts, shape = given["tensors"], node.meta["val"].shape
    if not all(isinstance(part, View) for part in parts):
        raise Refusal(" with a constant")
    parts = [part for part in parts if part.shape != (0,)]
    return _joined(reader, parts, blank(shape), given["dim"])


def stack(reader: Reader, given: Given, node: fx.Node) -> View:
    """Blocks along a new axis."""
    if not all(isinstance(part, View) for part in given["tensors"]):
        raise Refusal(" with a constant")
    dim = given["dim"]
    parts = [View(part.index, part.layout.unsqueeze(dim)) for part in given["tensors"]]
    return _joined(reader, parts, blank(node.meta["val"].shape), dim)


def _joined(reader: Reader, parts: list[View], target: Any, dim: int) -> View:
    moves, start = [], 0
    for part in parts:
        length = part.shape[dim]
        moves.append(move_of(part.layout, target.narrow(dim, start, length)))
        start += length
    inputs = tuple(part.index for part in parts)
    return reader.add(Step("copy", inputs, target.numel(), moves=tuple(moves)), target.shape)


def pad(reader: Reader, given: Given, node: fx.Node) -> View:
    """A border of one number; a negative width cuts."""
    if given.get("mode", "constant") != "constant":
        raise Refusal(f" with mode {given['mode']!r}")
    x: View = given["self"]
    source, target, widths = x.layout, blank(node.meta["val"].shape), list(given["pad"])
    for place in range(len(widths) // 2):
        axis, before, after = -1 - place, widths[2 * place], widths[2 * place + 1]
        cut = (max(0, -before), max(0, -after))
        source = source.narrow(axis, cut[0], source.shape[axis] - sum(cut))
        target = target.narrow(axis, max(0, before), source.shape[axis])
    size = node.meta["val"].numel()
    step = Step("copy", (x.index,), size, numbers=(float(given["value"] or 0.0),), moves=(move_of(source, target),))
    return reader.add(step, node.meta["val"].shape)


def _rows(names: str, row: Row) -> dict[str, Row]:
    return {f"aten.{name}": row for name in names.split()}


OPERATIONS: dict[str, Row] = {
    **_rows(VIEWS, view),
    **_rows(RESHAPES, reshape),
    **_rows(CASTS, cast),
    **_rows("cat.default", concatenate),
    **_rows("stack.default", stack),
    **_rows("pad.default constant_pad_nd.default", pad),
    **arithmetic.ROWS,
    **channels.ROWS,
    **windows.ROWS,
}
