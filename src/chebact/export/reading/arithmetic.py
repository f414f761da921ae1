"""Operations on each element: functions, and sums and products of two tensors, of a tensor and a number or constant."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, fx

from chebact.export.program import Step
from chebact.export.reading.values import Refusal, View, array_of, channel_layout

if TYPE_CHECKING:
    from chebact.export.reading.reader import Reader

__all__ = ["ROWS", "affine", "element"]

Given = dict[str, Any]
SELU = (1.6732632423543772, 1.0507009873554805, 1.0)


def element(reader: Reader, x: Any, kind: str, *numbers: float) -> View:
    """A function of each element."""
    source = reader.vector(x)
    return reader.add(Step(kind, (source,), x.layout.numel(), numbers=tuple(map(float, numbers))), x.shape)


def affine(reader: Reader, x: View, factors: Tensor | None, shifts: Tensor | None) -> View:
    """x times constants plus constants, which broadcast to x."""
    shape, rank = x.shape, len(x.shape)
    given = [each for each in (factors, shifts) if each is not None]
    wide = [(1,) * (rank - each.dim()) + tuple(each.shape) for each in given]
    varying = [axis for axis in range(rank) if any(each[axis] != 1 for each in wide)]
    first, last = (varying[0], varying[-1]) if varying else (0, -1)
    block = (1,) * first + shape[first : last + 1] + (1,) * (rank - 1 - last)
    rows = [None if each is None else array_of(each.expand(block)).reshape(-1) for each in (factors, shifts)]
    layout = channel_layout(shape, first, last)
    return reader.add(Step("affine", (reader.vector(x),), x.layout.numel(), rows[0], rows[1], layout=layout), shape)


def pair(reader: Reader, kind: str, a: Any, b: Any, *numbers: float) -> View:
    """Two tensors that broadcast."""
    shape = torch.broadcast_shapes(a.shape, b.shape)  # type: ignore[no-untyped-call]
    first, second = grown(a, shape), grown(b, shape)
    inputs = (reader.vector(first), reader.vector(second))
    return reader.add(Step(kind, inputs, first.layout.numel(), numbers=tuple(map(float, numbers))), first.shape)


def grown(x: View, shape: Any) -> View:
    """x in the shape of a result that broadcasts it."""
    return View(x.index, x.layout.expand(shape))


def add(reader: Reader, given: Given, node: fx.Node) -> View:
    """a + alpha b."""
    return _sum(reader, given["self"], given["other"], float(given.get("alpha", 1)), node)


def subtract(reader: Reader, given: Given, node: fx.Node) -> View:
    """a - alpha b."""
    return _sum(reader, given["self"], given["other"], -float(given.get("alpha", 1)), node)


def subtract_from(reader: Reader, given: Given, node: fx.Node) -> View:
    """b - alpha a."""
    return _sum(reader, given["other"], given["self"], -float(given.get("alpha", 1)), node)


def _sum(reader: Reader, a: Any, b: Any, factor: float, node: fx.Node) -> View:
    if isinstance(a, View) and isinstance(b, View):
        if factor == -1:
            return pair(reader, "subtract", a, b)
        return pair(reader, "add", a, b if factor == 1 else element(reader, b, "scale", factor))
    if isinstance(b, View):
        a, b, factor = b if factor == 1 else element(reader, b, "scale", factor), a, 1.0
    if not isinstance(b, Tensor):
        return element(reader, a, "offset", factor * b)
    return affine(reader, grown(a, node.meta["val"].shape), None, b.double() * factor)


def multiply(reader: Reader, given: Given, node: fx.Node) -> View:
    """a b."""
    a, b = given["self"], given["other"]
    if isinstance(a, View) and isinstance(b, View):
        return pair(reader, "multiply", a, b)
    a, b = (a, b) if isinstance(a, View) else (b, a)
    if not isinstance(b, Tensor):
        return element(reader, a, "scale", b)
    return affine(reader, grown(a, node.meta["val"].shape), b, None)


def divide(reader: Reader, given: Given, node: fx.Node) -> View:
    """a / b."""
    a, b = given["self"], given["other"]
    if given.get("rounding_mode") is not None:
        raise Refusal(" with rounding_mode")
    if isinstance(a, View) and isinstance(b, View):
        return pair(reader, "divide", a, b)
    if not isinstance(a, View):
        raise Refusal(" of a constant by a vector")
    numbers = b.double() if isinstance(b, Tensor) else torch.tensor(float(b), dtype=torch.float64)
    if bool((numbers == 0).any()):
        raise Refusal(" by 0")
    if not isinstance(b, Tensor):
        return element(reader, a, "scale", float(1 / numbers))
    return affine(reader, grown(a, node.meta["val"].shape), 1 / numbers, None)


def mix(reader: Reader, given: Given, node: fx.Node) -> View:
    """a + weight (b - a)."""
    if not (isinstance(given["self"], View) and isinstance(given["end"], View)):
        raise Refusal(" with a constant")
    return pair(reader, "mix", given["self"], given["end"], given["weight"])


def larger(reader: Reader, given: Given, node: fx.Node) -> View:
    """The larger of two tensors, or the smaller."""
    if not (isinstance(given["self"], View) and isinstance(given["other"], View)):
        raise Refusal(" with a constant")
    return pair(reader, "maximum" if "aten.max" in str(node.target) else "minimum", given["self"], given["other"])


def clamp(reader: Reader, given: Given, node: fx.Node) -> View:
    """Between two numbers, or on one side of one."""
    x, least, most = given["self"], given.get("min"), given.get("max")
    if isinstance(least, (View, Tensor)) or isinstance(most, (View, Tensor)):
        raise Refusal(" between tensors")
    x = element(reader, x, "at least", least) if least is not None else x
    return element(reader, x, "at most", most) if most is not None else x


def power(reader: Reader, given: Given, node: fx.Node) -> View:
    """x to a number."""
    exponent = given["exponent"]
    named = {2: "square", 3: "cubic"}.get(exponent)
    return element(reader, given["self"], named) if named else element(reader, given["self"], "power", exponent)


def gelu(reader: Reader, given: Given, node: fx.Node) -> View:
    """By erf, or by tanh."""
    return element(reader, given["self"], "gelu" if given["approximate"] == "none" else "gelu by tanh")


def slopes(reader: Reader, given: Given, node: fx.Node) -> View:
    """prelu: a slope per channel, on axis 1."""
    weight = given["weight"]
    if not isinstance(weight, Tensor) or weight.numel() != 1:
        raise Refusal(" with a slope per channel")
    return element(reader, given["self"], "leaky relu", float(array_of(weight).reshape(())))


def _function(kind: str, *numbers: str | float) -> Callable[[Reader, Given, fx.Node], View]:
    """A row for a function of each element; a string is the name of an argument."""

    def row(reader: Reader, given: Given, node: fx.Node) -> View:
        found = [given[each] if isinstance(each, str) else each for each in numbers]
        return element(reader, given["self"], kind, *found)

    return row


def celu(reader: Reader, given: Given, node: fx.Node) -> View:
    """elu of x / alpha."""
    return element(reader, given["self"], "elu", given["alpha"], 1.0, 1 / given["alpha"])


def limits(*names: str | float) -> Callable[[Reader, Given, fx.Node], View]:
    """A row for a function that is a clamp."""

    def row(reader: Reader, given: Given, node: fx.Node) -> View:
        least, most = (given[each] if isinstance(each, str) else each for each in names)
        return clamp(reader, {"self": given["self"], "min": least, "max": most}, node)

    return row


ROWS: dict[str, Callable[[Any, Given, fx.Node], Any]] = {
    "aten.relu.default": _function("relu"),
    "aten.relu6.default": limits(0.0, 6.0),
    "aten.hardtanh.default": limits("min_val", "max_val"),
    "aten.clamp.default": clamp,
    "aten.clamp_min.default": clamp,
    "aten.clamp_max.default": clamp,
    "aten.tanh.default": _function("tanh"),
    "aten.sigmoid.default": _function("sigmoid"),
    "aten.leaky_relu.default": _function("leaky relu", "negative_slope"),
    "aten.prelu.default": slopes,
    "aten.elu.default": _function("elu", "alpha", "scale", "input_scale"),
    "aten.selu.default": _function("elu", *SELU),
    "aten.celu.default": celu,
    "aten.gelu.default": gelu,
    "aten.silu.default": _function("silu"),
    "aten.mish.default": _function("mish"),
    "aten.softplus.default": _function("softplus", "beta", "threshold"),
    "aten.log_sigmoid.default": _function("log sigmoid"),
    "aten.hardswish.default": _function("hard swish"),
    "aten.hardsigmoid.default": _function("hard sigmoid"),
    "aten.abs.default": _function("absolute"),
    "aten.exp.default": _function("exponential"),
    "aten.sin.default": _function("sine"),
    "aten.cos.default": _function("cosine"),
    "aten.square.default": _function("square"),
    "aten.reciprocal.default": _function("reciprocal"),
    "aten.neg.default": _function("scale", -1.0),
    "aten.pow.Tensor_Scalar": power,
    "aten.add.Tensor": add,
    "aten.add.Scalar": add,
    "aten.sub.Tensor": subtract,
    "aten.sub.Scalar": subtract,
    "aten.rsub.Scalar": subtract_from,
    "aten.rsub.Tensor": subtract_from,
    "aten.mul.Tensor": multiply,
    "aten.mul.Scalar": multiply,
    "aten.div.Tensor": divide,
    "aten.div.Scalar": divide,
    "aten.div.Tensor_mode": divide,
    "aten.lerp.Scalar": mix,
    "aten.maximum.default": larger,
    "aten.max.other": larger,
    "aten.minimum.default": larger,
    "aten.min.other": larger,
}
