"""The forms of functions and methods that a forward calls between its layers. A new one is a new row of `FUNCTIONS`.

A rule gets the arguments, the keyword arguments and the symbols.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor, fx, nn

from chebact.ranges.bounds.form import ZERO, Form, Linear, Symbols, add_forms, apply_linear, join_forms, refuse, scale

__all__ = ["AS_MODULES", "FUNCTIONS", "check_not_read_again", "name_of", "of_sizes"]

Rule = Callable[[tuple[Any, ...], dict[str, Any], Symbols], Any]

AS_MODULES: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "relu_": nn.ReLU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "avg_pool2d": nn.AvgPool2d,
    "max_pool2d": nn.MaxPool2d,
    "adaptive_avg_pool2d": nn.AdaptiveAvgPool2d,
}
"""Functions that are modules with the same options."""

IN_PLACE: dict[Any, str] = {
    operator.iadd: "add",
    operator.isub: "sub",
    operator.imul: "mul",
    operator.itruediv: "truediv",
}
VIEWS = ("view", "reshape", "flatten", "contiguous", "dropout", "Flatten", "Identity", "Dropout")
"""Functions and layers whose result may be the memory of their input."""
SIZES = ("add", "sub", "mul", "floordiv", "getitem")


def name_of(target: Any) -> str:
    """The name of a function or method."""
    return IN_PLACE.get(target) or str(getattr(target, "__name__", target))


def check_not_read_again(node: fx.Node, part: Any) -> None:
    """Refuse a node that writes into its input if another node reads that memory; `part` is the module it calls."""
    name = name_of(node.target)
    writes = node.target in IN_PLACE or name.endswith("_") or node.kwargs.get("inplace") or True in node.args[1:]
    source = node.args[0] if node.args else None
    while (writes or getattr(part, "inplace", False)) and isinstance(source, fx.Node):
        if len(source.users) > 1:
            raise refuse(f"{node.name}, which writes into a value that is read elsewhere")
        module = str(source.meta.get("module", ""))
        source = source.args[0] if source.args and (name_of(source.target) in VIEWS or module in VIEWS) else None


def of_sizes(name: str, args: tuple[Any, ...]) -> Any:
    """The result of arithmetic with sizes, which are plain numbers here."""
    if name not in SIZES:
        raise refuse(f"{name} of other values than the input")
    return getattr(operator, name)(*args)


def _add(args: tuple[Any, ...], options: dict[str, Any], symbols: Symbols, sign: float = 1.0) -> Form:
    first, second = args[:2]
    if len(args) == 2 and not options:
        if isinstance(first, Form) and isinstance(second, Form):
            return add_forms(first, second if sign > 0 else scale(second, sign, 0.0, symbols), symbols)
        if isinstance(first, Form) and isinstance(second, int | float):
            return scale(first, 1.0, sign * second, symbols)
        if isinstance(second, Form) and isinstance(first, int | float):
            return scale(second, sign, first, symbols)
    raise refuse("a sum of a value and a tensor, or with a factor")


def _multiply(args: tuple[Any, ...], options: dict[str, Any], symbols: Symbols, inverse: bool = False) -> Form:
    first, second = args[:2]
    if isinstance(second, Form) and not inverse:
        first, second = second, first
    if options or not isinstance(first, Form) or not isinstance(second, int | float):
        raise refuse("a product or quotient of two values")
    if inverse and float(second) == 0:
        raise refuse("a division by zero")
    return scale(first, 1 / second if inverse else float(second), 0.0, symbols)


def _concatenate(args: tuple[Any, ...], options: dict[str, Any], symbols: Symbols) -> Form:
    forms, dim = list(args[0]), options.get("dim", args[1] if len(args) > 1 else 0)
    if not all(isinstance(form, Form) for form in forms):
        raise refuse("a concatenation of a value and a tensor")
    if dim % forms[0].low.dim() <= symbols.axis:
        raise refuse("a concatenation along the batch axis")
    return join_forms(forms, dim % forms[0].low.dim(), symbols)


def _reshape(args: tuple[Any, ...], options: dict[str, Any], symbols: Symbols) -> Form:
    form: Form = args[0]
    sizes, kept = list(args[1:]), symbols.axis + 1
    sizes = list(sizes[0]) if sizes and isinstance(sizes[0], list | tuple) else sizes
    new = form.low.reshape(sizes).shape
    if options or new[:kept] != form.low.shape[:kept]:
        raise refuse(f"a reshape to {tuple(sizes)}, which changes the batch axis")
    return form.map(lambda t: t.reshape(*t.shape[:kept], *new[kept:]))


def _flatten(args: tuple[Any, ...], options: dict[str, Any], symbols: Symbols) -> Form:
    form: Form = args[0]
    start = options.get("start_dim", args[1] if len(args) > 1 else 0)
    end = options.get("end_dim", args[2] if len(args) > 2 else -1)
    if start % form.low.dim() <= symbols.axis:
        raise refuse("a flatten that includes the batch axis")
    return form.map(lambda t: t.flatten(start, end))


def _mean(args: tuple[Any, ...], options: dict[str, Any], symbols: Symbols) -> Form:
    form, dims = args[0], options.get("dim", args[1] if len(args) > 1 else None)
    keep = options.get("keepdim", args[2] if len(args) > 2 else False)
    axes = [dim % form.low.dim() for dim in ([dims] if isinstance(dims, int) else dims or [])]
    if not axes or min(axes) <= symbols.axis:
        raise refuse("a mean over the batch axis or over all axes")

    def mean(t: Tensor) -> Tensor:
        return t.mean(dim=axes, keepdim=keep)

    return apply_linear(form, Linear(mean, mean, ZERO, math.prod(form.low.shape[dim] for dim in axes)), symbols)


def _size(args: tuple[Any, ...], options: dict[str, Any], symbols: Symbols) -> Any:
    shape = tuple(args[0].low.shape)
    return shape if len(args) == 1 else shape[args[1]]


def _attribute(args: tuple[Any, ...], options: dict[str, Any], symbols: Symbols) -> Any:
    if args[1] != "shape":
        raise refuse(f"the attribute {args[1]} of a value")
    return tuple(args[0].low.shape)


def _dropout(args: tuple[Any, ...], options: dict[str, Any], symbols: Symbols) -> Any:
    if options.get("training", args[2] if len(args) > 2 else True):
        raise refuse("a dropout with training=True, which is random in evaluation too")
    return args[0]


def _same(args: tuple[Any, ...], options: dict[str, Any], symbols: Symbols) -> Any:
    return args[0]


FUNCTIONS: dict[str, Rule] = {
    "add": _add,
    "add_": _add,
    "sub": partial(_add, sign=-1.0),
    "mul": _multiply,
    "truediv": partial(_multiply, inverse=True),
    "div": partial(_multiply, inverse=True),
    "neg": lambda args, options, symbols: scale(args[0], -1.0, 0.0, symbols),
    "cat": _concatenate,
    "concat": _concatenate,
    "flatten": _flatten,
    "view": _reshape,
    "reshape": _reshape,
    "mean": _mean,
    "size": _size,
    "getattr": _attribute,
    "dropout": _dropout,
    "contiguous": _same,
}
"""The rule of each function and method, by its name."""
