"""Operations along one axis or a block of axes: linear layers, norms in evaluation, means, softmax."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, fx

from chebact.export.program import Step
from chebact.export.reading.arithmetic import affine
from chebact.export.reading.values import Refusal, View, array_of, channel_layout

if TYPE_CHECKING:
    from chebact.export.reading.reader import Reader

__all__ = ["ROWS", "mean_over"]

Given = dict[str, Any]


def linear(reader: Reader, given: Given, node: fx.Node) -> View:
    """x (..., inputs) times weight (outputs, inputs), plus bias."""
    x, weight, bias = given["input"], given["weight"], given["bias"]
    if not isinstance(x, View) or isinstance(weight, View) or isinstance(bias, View):
        raise Refusal(" with a weight that is not constant")
    rows, size = math.prod(x.shape[:-1]), node.meta["val"].numel()
    kind = "linear" if rows == 1 else "linear rows"
    numbers = array_of(weight), None if bias is None else array_of(bias)
    step = Step(kind, (reader.vector(x),), size, *numbers, layout=(rows, size // rows, 1))
    return reader.add(step, node.meta["val"].shape)


def product(reader: Reader, given: Given, node: fx.Node) -> View:
    """x (..., inputs) times a constant (inputs, outputs)."""
    x, weight = given["self"], given.get("other", given.get("mat2"))
    if not isinstance(x, View) or not isinstance(weight, Tensor) or weight.dim() != 2:
        raise Refusal(" of two tensors that are not constant")
    return linear(reader, {"input": x, "weight": weight.T, "bias": None}, node)


def batch_norm(reader: Reader, given: Given, node: fx.Node) -> list[View]:
    """With the running statistics: a factor and a shift per channel."""
    x, mean, variance = given["input"], given["running_mean"], given["running_var"]
    if given.get("training") or not isinstance(mean, Tensor) or not isinstance(variance, Tensor):
        raise Refusal(", which has no running statistics")
    factors = (variance.double() + given["eps"]).rsqrt()
    factors = factors if given["weight"] is None else factors * given["weight"].double()
    shifts = -mean.double() * factors
    shifts = shifts if given["bias"] is None else shifts + given["bias"].double()
    shape = (-1, *(1,) * (len(x.shape) - 2))
    return [affine(reader, x, factors.reshape(shape), shifts.reshape(shape))]


def whole_batch_norm(reader: Reader, given: Given, node: fx.Node) -> View:
    """The same, of one result."""
    return batch_norm(reader, given, node)[0]


def no_statistics(reader: Reader, given: Given, node: fx.Node) -> View:
    """A norm by the statistics of the batch."""
    raise Refusal(", which has no running statistics: it normalizes by those of the batch")


def layer_norm(reader: Reader, given: Given, node: fx.Node) -> View:
    """Mean 0 and variance 1 over the last axes."""
    x, last = given["input"], len(given["normalized_shape"])
    found = _normalized(reader, x, math.prod(x.shape[: len(x.shape) - last]), given["eps"])
    return _affine_or_not(reader, found, given["weight"], given["bias"])


def group_norm(reader: Reader, given: Given, node: fx.Node) -> View:
    """Mean 0 and variance 1 over each group of channels, axis 1, of one row."""
    x = given["input"]
    found = _normalized(reader, x, x.shape[0] * given["num_groups"], given["eps"])
    shape = (-1, *(1,) * (len(x.shape) - 2))
    weight, bias = (None if each is None else each.reshape(shape) for each in (given["weight"], given["bias"]))
    return _affine_or_not(reader, found, weight, bias)


def _normalized(reader: Reader, x: View, rows: int, eps: float) -> View:
    size = x.layout.numel()
    step = Step("normalize", (reader.vector(x),), size, numbers=(float(eps),), layout=(rows, size // rows, 1))
    return reader.add(step, x.shape)


def _affine_or_not(reader: Reader, x: View, weight: Any, bias: Any) -> View:
    if isinstance(weight, View) or isinstance(bias, View):
        raise Refusal(" with a weight that is not constant")
    return x if weight is None and bias is None else affine(reader, x, weight, bias)


def mean_over(reader: Reader, x: View, axes: list[int], shape: Any, factor: float | None = None) -> View:
    """The mean over neighbouring axes, or the sum times a factor; axes of length 1 between them do not count."""
    chosen = sorted({axis % len(x.shape) for axis in axes})
    first, last = chosen[0], chosen[-1]
    if any(x.shape[axis] != 1 for axis in range(first, last) if axis not in chosen):
        raise Refusal(" over axes that are not neighbours")
    layout = channel_layout(x.shape, first, last)
    numbers = (1 / layout[1] if factor is None else factor,)
    step = Step("sum", (reader.vector(x),), layout[0] * layout[2], numbers=numbers, layout=layout)
    return reader.add(step, shape)


def mean(reader: Reader, given: Given, node: fx.Node) -> View:
    """The mean over some axes or all; sums too."""
    x = given["self"]
    if given.get("dtype") not in (None, torch.float32, torch.float64):
        raise Refusal(f" in {given['dtype']}")
    axes = given.get("dim")
    axes = list(range(len(x.shape))) if axes is None or axes == [] else axes
    factor = 1.0 if "sum" in str(node.target) else None
    return mean_over(reader, x, [axes] if isinstance(axes, int) else axes, node.meta["val"].shape, factor)


def softmax(reader: Reader, given: Given, node: fx.Node) -> View:
    """exp(x) by its sum along one axis, or the logarithm of that."""
    x, axis = given["self"], given["dim"] % len(given["self"].shape)
    kind = "log softmax" if "log_softmax" in str(node.target) else "softmax"
    step = Step(kind, (reader.vector(x),), x.layout.numel(), layout=channel_layout(x.shape, axis, axis))
    return reader.add(step, x.shape)


ROWS: dict[str, Callable[[Any, Given, fx.Node], Any]] = {
    "aten.linear.default": linear,
    "aten.matmul.default": product,
    "aten.mm.default": product,
    "aten.batch_norm.default": whole_batch_norm,
    "aten._native_batch_norm_legit_no_training.default": batch_norm,
    "aten._native_batch_norm_legit.no_stats": no_statistics,
    "aten._native_batch_norm_legit.default": no_statistics,
    "aten._native_batch_norm_legit_functional.default": no_statistics,
    "aten.layer_norm.default": layer_norm,
    "aten.group_norm.default": group_norm,
    "aten.mean.default": mean,
    "aten.mean.dim": mean,
    "aten.sum.default": mean,
    "aten.sum.dim_IntList": mean,
    "aten.softmax.int": softmax,
    "aten.log_softmax.int": softmax,
    "aten._softmax.default": softmax,
    "aten._log_softmax.default": softmax,
}
