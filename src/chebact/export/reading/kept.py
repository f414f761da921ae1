"""Learned activations, folded ones and the cube, which stay one node of the graph."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import torch
from torch import Tensor, fx, nn

from chebact.activations import Cubic
from chebact.channels import find_axis
from chebact.checks import must_be
from chebact.export.folding import FoldedActivation
from chebact.export.program import Curve, Step
from chebact.export.reading.operations import SAME_NUMBERS
from chebact.export.reading.values import Refusal, View, array_of, channel_layout
from chebact.learned import LearnedActivation

if TYPE_CHECKING:
    from chebact.export.reading.reader import Reader

__all__ = ["read_kept"]


def read_kept(reader: Reader, node: fx.Node, part: nn.Module, x: View | Tensor) -> View | Tensor:
    """The step of such a module, or its result where the input is constant."""
    _check_not_read_again(node, part)
    if isinstance(x, Tensor):
        return _computed(part, x)
    source, size = reader.vector(x), x.layout.numel()
    if isinstance(part, Cubic):
        return reader.add(Step("cubic", (source,), size), x.shape)
    assert isinstance(part, (LearnedActivation, FoldedActivation))
    curve = Curve(array_of(part.learned if isinstance(part, LearnedActivation) else part.heights), part.basis)
    layout = _layout(part.channel_dim, part.channels, len(curve.heights), x.shape)
    return reader.add(Step("curve", (source,), size, curve=curve, layout=layout), x.shape)


def _computed(part: nn.Module, x: Tensor) -> Tensor:
    """The result of a constant; the module itself has the forward method of the trace."""
    if getattr(part, "inplace", False):
        raise Refusal(", which writes into a constant")
    with torch.no_grad():
        result: Tensor = type(part).forward(part, x)
    return result


def _layout(channel_dim: int, channels: int | None, rows: int, shape: tuple[int, ...]) -> tuple[int, int, int]:
    """(outer, row, inner): neighbouring channels of a group share a row."""
    if rows == 1 and channels is None:
        return channel_layout(shape, 0, -1)[1], 1, channel_layout(shape, 0, -1)[2]
    axis = find_axis(len(shape), channel_dim, replicated=False)
    if axis is None or shape[axis] % rows or (channels is not None and shape[axis] != channels):
        raise ValueError(must_be("input of an activation", f"one with {channels} channels", shape))
    outer, found, inner = channel_layout(shape, axis, axis)
    return outer, rows, found // rows * inner


def _check_not_read_again(node: fx.Node, part: nn.Module) -> None:
    """What may write into its input may change what others read."""
    if not getattr(part, "inplace", False):
        return
    source = node.args[0]
    while isinstance(source, fx.Node):
        if _is_read_twice(source):
            raise Refusal(", which writes into a vector that is read elsewhere")
        source = source.args[0] if source.args and _may_be_same(source) else None


def _is_read_twice(node: fx.Node) -> bool:
    """The parts of a split are different numbers."""
    users = list(node.users)
    if users and all(user.target is operator.getitem for user in users):
        users = [user for user in users if user.args[1] == users[0].args[1]]
    return len(users) > 1


def _may_be_same(node: fx.Node) -> bool:
    """Whether the result may be the memory of the argument: torch.export writes dropout and contiguous as clone."""
    known = node.target is operator.getitem or str(node.target).removeprefix("aten.") in SAME_NUMBERS
    return known or bool(getattr(node.target, "is_view", False))
