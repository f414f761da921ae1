"""Operations on planes (channel, height, width): convolutions and pooling. One dimension is a plane of height 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch import Tensor, fx

from chebact.export.program import Step, Window
from chebact.export.reading.channels import mean_over
from chebact.export.reading.values import Refusal, View, array_of

if TYPE_CHECKING:
    from chebact.export.reading.reader import Reader

__all__ = ["ROWS"]

Given = dict[str, Any]
Pair = tuple[int, int]


def convolution(reader: Reader, given: Given, node: fx.Node) -> View:
    """x (1, channels, ...) with weight (outputs, channels per group, kernel ...), in one or two dimensions."""
    x, weight, bias = given["input"], given["weight"], given["bias"]
    if not isinstance(x, View) or not isinstance(weight, Tensor) or isinstance(bias, View):
        raise Refusal(" with a weight that is not constant")
    if given.get("transposed") or weight.dim() > 4:
        raise Refusal(", which is transposed or has three dimensions")
    kernel, groups = tuple(weight.shape[2:]), given["groups"]
    dilation = _pair(given["dilation"], len(kernel), 1)
    padding = _same(kernel, dilation) if given["padding"] == "same" else given["padding"]
    padding = 0 if padding == "valid" else padding
    channels = (groups, weight.shape[1], len(weight) // groups)
    window = _window(x, node, channels, kernel, given["stride"], padding, given["dilation"])
    kernels = array_of(weight).reshape(len(weight), weight.shape[1], *window.kernel)
    numbers = kernels, None if bias is None else array_of(bias)
    size = node.meta["val"].numel()
    return reader.add(Step("convolution", (reader.vector(x),), size, *numbers, window=window), node.meta["val"].shape)


def _same(kernel: tuple[int, ...], dilation: Pair) -> list[int]:
    """The padding at the start; one more at the end, where the sum is odd, follows from the size of the result."""
    return [step * (size - 1) // 2 for size, step in zip(kernel, dilation[-len(kernel) :], strict=True)]


def max_pool(reader: Reader, given: Given, node: fx.Node) -> View:
    """The largest number of each window."""
    return _pool(reader, "max pool", given, node, given["dilation"])


def average_pool(reader: Reader, given: Given, node: fx.Node) -> View:
    """The mean of each window; its numbers are whether the border counts, and a divisor or 0."""
    numbers = (float(given["count_include_pad"]), float(given.get("divisor_override") or 0))
    return _pool(reader, "average pool", given, node, 1, numbers)


def _pool(reader: Reader, kind: str, given: Given, node: fx.Node, dilation: Any, numbers: Any = ()) -> View:
    x, kernel = given["self"], given["kernel_size"]
    rank = 1 if "1d" in str(node.target) else 2
    kernel = tuple(_pair(kernel, rank, 1)[-rank:])
    stride = given["stride"] if given["stride"] not in (None, [], ()) else kernel
    channels = (x.shape[-1 - rank], 1, 1)
    window = _window(x, node, channels, kernel, stride, given["padding"], dilation)
    size = node.meta["val"].numel()
    return reader.add(Step(kind, (reader.vector(x),), size, numbers=numbers, window=window), node.meta["val"].shape)


def adaptive_pool(reader: Reader, given: Given, node: fx.Node) -> View:
    """The mean of windows that divide the plane evenly."""
    x, shape = given["self"], node.meta["val"].shape
    rank = 1 if "1d" in str(node.target) else 2
    sizes, results = x.shape[-rank:], tuple(shape[-rank:])
    if all(result == 1 for result in results):
        return mean_over(reader, x, list(range(len(x.shape) - rank, len(x.shape))), shape)
    if any(size % result for size, result in zip(sizes, results, strict=True)):
        raise Refusal(f" from {tuple(sizes)} to {results}, which is no divisor")
    kernel = tuple(size // result for size, result in zip(sizes, results, strict=True))
    window = _window(x, node, (x.shape[-1 - rank], 1, 1), kernel, kernel, 0, 1)
    size = node.meta["val"].numel()
    return reader.add(
        Step("average pool", (reader.vector(x),), size, numbers=(1.0, 0.0), window=window), node.meta["val"].shape
    )


def _window(
    x: View, node: fx.Node, channels: tuple[int, int, int], kernel: Any, stride: Any, padding: Any, dilation: Any
) -> Window:
    rank, result = len(kernel), tuple(node.meta["val"].shape)
    if math.prod(x.shape[: -1 - rank]) != 1:
        raise Refusal(f" on {math.prod(x.shape[: -1 - rank])} rows per input")
    before, after = ((1,) * (2 - rank) + each[-rank:] for each in (x.shape, result))
    places = [_pair(each, rank, neutral) for each, neutral in ((kernel, 1), (stride, 1), (padding, 0), (dilation, 1))]
    return Window(*channels, before[0], before[1], after[0], after[1], *places)


def _pair(given: Any, rank: int, neutral: int) -> Pair:
    """One number for both axes, or one per axis; an axis that is not there gets the neutral number."""
    numbers = [int(each) for each in given] if isinstance(given, (list, tuple)) else [int(given)]
    numbers = numbers * rank if len(numbers) == 1 else numbers
    first, second = [neutral] * (2 - rank) + numbers
    return first, second


ROWS: dict[str, Callable[[Any, Given, fx.Node], Any]] = {
    "aten.conv1d.default": convolution,
    "aten.conv1d.padding": convolution,
    "aten.conv2d.default": convolution,
    "aten.conv2d.padding": convolution,
    "aten.convolution.default": convolution,
    "aten.max_pool1d.default": max_pool,
    "aten.max_pool2d.default": max_pool,
    "aten.avg_pool1d.default": average_pool,
    "aten.avg_pool2d.default": average_pool,
    "aten.adaptive_avg_pool1d.default": adaptive_pool,
    "aten.adaptive_avg_pool2d.default": adaptive_pool,
    "aten._adaptive_avg_pool2d.default": adaptive_pool,
}
