"""What is known of one value inside a network, for every input of a box.

Two descriptions are kept, and the bounds are the tighter of both:
- an interval per element, [low, high];
- an affine form: center + sum_j generators_j e_j + error e, with all e in [-1, 1]. The e_j are shared by all values of
  the network, so that sums and differences of related values stay tight; the last e is its own for each element.
`slope` and `slope_error` bound the derivatives by every element of the input: slope +- slope_error.

Each value in a run of the model differs from the exact one by rounding. Every operation adds the bound of its rounding
error to `error`, so that the bounds hold for the model in its own type, and adds that of float64, in which this file
computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from chebact.ranges.bounds.curves import UNIT

__all__ = [
    "ZERO",
    "Form",
    "Linear",
    "Symbols",
    "add_forms",
    "apply_linear",
    "from_interval",
    "join_forms",
    "refuse",
    "scale",
]

OUTWARD = 1 + 16 * UNIT
TINY = 1e-30  # covers what is lost to underflow
ZERO = torch.zeros((), dtype=torch.float64)

Map = Callable[[Tensor], Tensor]


def refuse(what: str) -> ValueError:
    """The error for a part without a rule."""
    known = (
        "linear layers, convolutions, batch norm in evaluation, average and max pooling, sums, concatenations, "
        "learned and monotone activations"
    )
    return ValueError(f"model must be made of {known}, got {what}; bound that part by hand, or replace it")


@dataclass
class Symbols:
    """How many e_j there are so far, and how many there may be; `axis` is the batch axis of all tensors."""

    axis: int
    unit: float
    count: int = 0
    most: int = 2048


@dataclass(frozen=True)
class Form:
    """All tensors are float64 with a batch axis, of size one but for generators and slopes."""

    low: Tensor
    high: Tensor
    center: Tensor
    generators: Tensor
    error: Tensor
    slope: Tensor | None
    slope_error: Tensor | None

    def size(self, axis: int) -> Tensor:
        """An upper bound of |value|, also of what the parts of the affine form add up to."""
        affine = self.center.abs() + self.generators.abs().sum(dim=axis, keepdim=True) + self.error
        return torch.maximum(torch.maximum(self.low.abs(), self.high.abs()), affine) * OUTWARD

    def tightened(self, axis: int) -> Form:
        """With the tighter of the interval and the hull of the affine form."""
        radius = (self.generators.abs().sum(dim=axis, keepdim=True) + self.error) * (1 + 4 * _count(self, axis) * UNIT)
        radius = radius * OUTWARD + 4 * UNIT * self.center.abs()
        low, high = torch.maximum(self.low, self.center - radius), torch.minimum(self.high, self.center + radius)
        return replace(self, low=low, high=high)

    def map(self, function: Map) -> Form:
        """The form with every tensor moved or reshaped in the same way."""
        slopes = (None if each is None else function(each) for each in (self.slope, self.slope_error))
        parts = (self.low, self.high, self.center, self.generators, self.error)
        return Form(*map(function, parts), *slopes)


def _count(form: Form, axis: int) -> int:
    return form.generators.shape[axis] + 2


@dataclass(frozen=True)
class Linear:
    """A linear map of values: itself, the one of absolute weights, its constant, and the number of its terms."""

    apply: Map
    apply_absolute: Map
    constant: Tensor
    terms: int


def apply_linear(form: Form, linear: Linear, symbols: Symbols) -> Form:
    """The form of a linear map of a value."""
    axis = symbols.axis
    rounding = 4 * (linear.terms + 8) * (symbols.unit + UNIT)
    own = 4 * (linear.terms + 8) * UNIT
    constant, bound = linear.constant, linear.apply_absolute
    slack = rounding * (bound(form.size(axis)) + constant.abs()) + TINY
    middle, radius = (form.low + form.high) / 2, (form.high - form.low) / 2
    at = linear.apply(middle) + constant
    spread = bound(radius) * OUTWARD + slack
    slope = slope_error = None
    if form.slope is not None and form.slope_error is not None:
        slope = linear.apply(form.slope)
        slope_error = bound(form.slope_error) * OUTWARD + own * bound(form.slope.abs() + form.slope_error)
    center, generators = linear.apply(form.center) + constant, linear.apply(form.generators)
    error = bound(form.error) * OUTWARD + slack
    return Form(at - spread, at + spread, center, generators, error, slope, slope_error).tightened(axis)


def from_interval(
    low: Tensor, high: Tensor, slope: Tensor | None, slope_error: Tensor | None, symbols: Symbols
) -> Form:
    """The form of a value of which only an interval is known."""
    center, error = (low + high) / 2, (high - low) / 2 * OUTWARD + 2 * UNIT * (low.abs() + high.abs())
    nothing = center.narrow(symbols.axis, 0, 0)
    return with_symbols(Form(low, high, center, nothing, error, slope, slope_error), symbols)


def with_symbols(form: Form, symbols: Symbols) -> Form:
    """The form with a shared symbol for the error of each element, as long as there may be more of them."""
    number = form.error.numel()
    if symbols.count + number > symbols.most:
        return form
    shape = list(form.error.shape)
    shape[symbols.axis] = number
    own = torch.diag(form.error.flatten()).reshape(number, *form.error.shape).movedim(0, symbols.axis)
    own = own.reshape(shape)
    generators = torch.cat([_pad(form.generators, symbols), own], dim=symbols.axis)
    symbols.count += number
    return replace(form, generators=generators, error=torch.zeros_like(form.error))


def _pad(generators: Tensor, symbols: Symbols) -> Tensor:
    """The generators followed by zeros, one for every symbol."""
    shape = list(generators.shape)
    shape[symbols.axis] = symbols.count - generators.shape[symbols.axis]
    return torch.cat([generators, generators.new_zeros(shape)], dim=symbols.axis)


def join_forms(forms: Sequence[Form], dim: int, symbols: Symbols) -> Form:
    """The forms side by side along an axis, as torch.cat."""
    parts = {
        "low": [form.low for form in forms],
        "high": [form.high for form in forms],
        "center": [form.center for form in forms],
        "generators": [_pad(form.generators, symbols) for form in forms],
        "error": [form.error for form in forms],
        "slope": [form.slope for form in forms if form.slope is not None],
        "slope_error": [form.slope_error for form in forms if form.slope_error is not None],
    }
    return Form(**{name: torch.cat(each, dim) if len(each) == len(forms) else None for name, each in parts.items()})  # type: ignore[arg-type]


def add_forms(first: Form, second: Form, symbols: Symbols) -> Form:
    """The sum of two values of the same shape."""
    if first.low.shape != second.low.shape:
        raise refuse(f"a sum of shapes {tuple(first.low.shape)} and {tuple(second.low.shape)}")
    width = first.low.shape[-1]

    def add(t: Tensor) -> Tensor:
        return t[..., :width] + t[..., width:]

    return apply_linear(join_forms([first, second], -1, symbols), Linear(add, add, ZERO, 2), symbols)


def scale(form: Form, factor: float, constant: float, symbols: Symbols) -> Form:
    """factor * value + constant."""
    added = torch.tensor(float(constant), dtype=torch.float64)
    return apply_linear(form, Linear(lambda t: t * factor, lambda t: t * abs(factor), added, 1), symbols)
