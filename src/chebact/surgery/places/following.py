"""The channel axis of a tensor, followed from the layer that made it through all that moves or mixes its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

__all__ = ["Following", "Trace"]

MOVING = {
    *("T", "mT", "H", "mH", "t", "adjoint", "permute", "transpose", "movedim", "moveaxis", "swapaxes", "swapdims"),
    *("reshape", "view", "view_as", "reshape_as", "flatten", "ravel", "unflatten", "squeeze", "unsqueeze", "expand"),
    *("expand_as", "chunk", "split", "tensor_split", "narrow", "select", "unbind", "__getitem__", "broadcast_to"),
}
"""What gives the numbers of its first argument, or some of them, at other axes."""
JOINING = {"cat", "concat", "concatenate", "glu", "pad", "index_select"}
"""What may give more or fewer channels at the same axis."""
PRODUCTS = {"matmul", "mm", "bmm", "__matmul__", "__rmatmul__", "baddbmm", "addmm", "addbmm"}
SPATIAL = (
    "pool",
    "interpolate",
    "upsample",
    "pad",
    "norm",
    "dropout",
    "cat",
    "concat",
    "glu",
    "index_select",
    "mean",
    "sum",
)
"""Words in the names of functions that may change the lengths of other axes than that of the channels."""
LOSING = {
    "fold",
    "col2im",
    "unfold",
    "im2col",
    "tensordot",
    "rot90",
    "diag_embed",
    "as_strided",
    "einsum",
    "kron",
    "cdist",
}
"""What may put the numbers at axes that its shapes do not tell."""
MIXING = {"einsum", "tensordot", "cdist", "kron"}
LAYERS = {"linear": -1, "conv1d": 1, "conv2d": 1, "conv3d": 1, "conv_transpose1d": 1, "conv_transpose2d": 1}
"""Functions that make channels as a layer does, and their axis."""


class Trace(NamedTuple):
    """What is known of a tensor that comes from a layer: its channel axis, or None where that was split or lost.

    `mixed` says that it is a product of two such tensors, so that no axis of it need be one of channels.
    """

    axis: int | None
    evidence: str
    mixed: bool = False


MIXED = Trace(None, "", mixed=True)


class Following:
    """The traces of the tensors of one run.

    >>> x, following = torch.zeros(2, 5, 8), Following()
    >>> following.start(x, -1, "Linear")
    >>> following.step(Tensor.transpose, (x, 1, 2), {}, y := x.transpose(1, 2))
    >>> following.find(y)
    Trace(axis=1, evidence='Linear', mixed=False)
    """

    def __init__(self) -> None:
        self.traces: Any = WeakTensorKeyDictionary()

    def start(self, output: Tensor, axis: int, evidence: str) -> None:
        """A layer made a tensor with the channels at that axis."""
        self.traces[output] = Trace(axis % max(1, output.dim()), evidence)

    def find(self, x: Tensor) -> Trace | None:
        """What is known of a tensor; None where it comes from no layer, or by ways that are not known."""
        found: Trace | None = self.traces.get(x)
        return found

    def step(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """A function of torch was called on some tensors, and gave that; what cannot be followed is forgotten."""
        try:
            self._step(function, args, kwargs, result)
        except (RuntimeError, TypeError, ValueError, IndexError):  # tensors of other kinds have no shape or strides
            for each in _tensors(result):
                self._set(each, None)

    def _step(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        name, made = name_of(function), list(_tensors(result))
        given = [each for each in _tensors((args, kwargs)) if each in self.traces]
        if made and name in LAYERS:
            self.start(made[0], LAYERS[name], name)
        elif not made or not given:
            return
        elif name in MOVING:
            self._move(function, args, kwargs, made)
        elif name.removesuffix("_") in MOVING:  # in place: the shape before is gone
            self._set(made[0], None)
        else:
            for each in made:
                if name in PRODUCTS:
                    self._set(each, self._product(name, args, each))
                elif name == "stack":
                    self._set(each, self._stacked(args, kwargs, given[0], each))
                else:
                    self._set(each, self._same(name, given, each))

    def _set(self, tensor: Tensor, trace: Trace | None) -> None:
        if trace is not None:
            self.traces[tensor] = trace
        else:
            self.traces.pop(tensor, None)

    def _move(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any, made: list[Tensor]) -> None:
        """Where the axis went: the same call of a marker of that shape tells."""
        source, rest = (args[0], args[1:]) if args else (kwargs.get("input"), ())
        trace = self.find(source) if isinstance(source, Tensor) else None
        if trace is None:
            return
        axes: list[int | None] = [None] * len(made)
        by_tensor = name_of(function) == "__getitem__" and any(True for _ in _tensors(rest))
        if trace.axis is not None and source.shape[trace.axis] > 1 and not by_tensor:
            marker = _marker(tuple(source.shape), trace.axis)
            named = {name: value for name, value in kwargs.items() if name != "input"}
            with suppress(RuntimeError):  # no view has these strides: the axis was joined with another
                axes = [
                    _axis_of(moved, source.shape[trace.axis]) for moved in _tensors(function(marker, *rest, **named))
                ]
        for each, axis in zip(made, axes, strict=False):
            self._set(each, trace._replace(axis=axis))

    def _same(self, name: str, given: list[Tensor], made: Tensor) -> Trace | None:
        """All else leaves the channels at their axis, counted from the last, or nothing is known."""
        traces = [self.traces[each] for each in given]
        if name in LOSING:
            return MIXED if len(given) > 1 and name in MIXING else None
        axes, grown = set[int](), False
        for each, trace in zip(given, traces, strict=True):
            if trace.axis is None or made.dim() < each.dim():
                continue
            axis, size = trace.axis + made.dim() - each.dim(), each.shape[trace.axis]
            if (made.shape[axis] == size or name in JOINING) and _fits(name, made, each, axis):
                axes.add(axis)
            grown = grown or size == 1 < made.shape[axis]
        if len(axes) == 1:
            return Trace(axes.pop(), traces[0].evidence)
        if len(axes) > 1 or (grown and len(given) > 1) or any(trace.mixed for trace in traces):
            return MIXED
        return None

    def _stacked(self, args: tuple[Any, ...], kwargs: Any, given: Tensor, made: Tensor) -> Trace | None:
        trace: Trace = self.traces[given]
        dim = kwargs.get("dim", args[1] if len(args) > 1 else 0) % made.dim()
        return trace if trace.axis is None else trace._replace(axis=trace.axis + (dim <= trace.axis))

    def _product(self, name: str, args: tuple[Any, ...], made: Tensor) -> Trace | None:
        """Of a product of matrices: the axis of either factor that is not summed over, or the new one that unknown
        weights make in place of one that is.
        """
        pair = [each for each in args if isinstance(each, Tensor)][-2:]
        pair = pair[::-1] if name == "__rmatmul__" else pair
        if len(pair) < 2 or min(each.dim() for each in pair) < 2:
            return None
        traces = [self.find(each) for each in pair]
        ends = [t and t.axis is not None and t.axis - each.dim() for t, each in zip(traces, pair, strict=True)]
        left, right = (traces[0] if ends[0] == -2 else None), (traces[1] if ends[1] == -1 else None)
        one = left or right
        if one is not None and not (left and right):
            return Trace(made.dim() + (-2 if left else -1), one.evidence)
        if None not in traces:
            split = any(each is not None and each.axis is None and not each.mixed for each in traces)
            return Trace(None, "") if split else MIXED
        trace = next(each for each in traces if each is not None)
        summed = {(True, False): -1, (False, True): -2}[traces[0] is not None, traces[1] is not None]
        return Trace(made.dim() + summed, trace.evidence) if summed in ends else None


def name_of(function: Any) -> str:
    """The name of a function, of a method, or of the property that is read."""
    name = str(getattr(function, "__name__", ""))
    return str(getattr(getattr(function, "__self__", None), "__name__", name)) if name == "__get__" else name


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, dict):
        yield from _tensors(tuple(value.values()))


def _marker(shape: tuple[int, ...], axis: int) -> Tensor:
    """A tensor of that shape in the memory of one axis: all other strides are 0, so views tell where the axis went."""
    sizes = [1] * len(shape)
    sizes[axis] = shape[axis]
    return torch.empty(shape[axis], device="meta").view(sizes).expand(shape)


def _axis_of(moved: Tensor, size: int) -> int | None:
    """The one axis along which a view of a marker has memory, of `size` numbers; None where it was split, joined with
    another, or copied.
    """
    axes = [axis for axis, (n, stride) in enumerate(zip(moved.shape, moved.stride(), strict=True)) if n > 1 and stride]
    if len(axes) != 1 or (moved.shape[axes[0]] - 1) * moved.stride(axes[0]) >= size:
        return None
    return axes[0]


def _fits(name: str, made: Tensor, given: Tensor, axis: int) -> bool:
    """Whether the other axes agree too, up to broadcasting, where the function does not change them."""
    if any(word in name for word in SPATIAL):
        return True
    pairs = zip(reversed(made.shape), reversed(given.shape), strict=False)
    same = (a == b or 1 in (a, b) or place == made.dim() - 1 - axis for place, (a, b) in enumerate(pairs))
    return all(same)
