"""The forms of functions of one element: learned activations, and monotone activations of torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy
import torch
from torch import Tensor, nn

from chebact.basis import Basis
from chebact.learned import LearnedActivation
from chebact.ranges.bounds.curves import UNIT, Curves, bound_curves
from chebact.ranges.bounds.form import OUTWARD, Form, Symbols, from_interval, with_symbols

__all__ = ["MONOTONE", "bound_learned", "bound_monotone"]

MOST_LINES = 1 << 15  # elements of a value for which lines through a learned activation are computed


def bound_learned(form: Form, part: LearnedActivation, symbols: Symbols) -> Form:
    """The form of a learned activation: exact extremes of every polynomial, and a line through it with its error."""
    basis, shape = part.basis, form.low.shape
    curves, slopes = _curves_of(part, basis, form.low), _curves_of(part, basis.derivative(), form.low)
    left, right = basis.interval
    half, middle = (right - left) / 2, (right + left) / 2
    low, high = _positions(form.low, middle, half, -1), _positions(form.high, middle, half, 1)
    least, largest = bound_curves(curves, low, high)
    rounding = 64 * (symbols.unit + UNIT) * _sizes(curves, low, high)
    interval = [torch.from_numpy(each).reshape(shape) for each in (least - rounding, largest + rounding)]
    slope, slope_error = _chain(
        form, [torch.from_numpy(each).reshape(shape) for each in bound_curves(slopes, low, high)]
    )
    if low.size > MOST_LINES:
        return from_interval(interval[0], interval[1], slope, slope_error, replace(symbols, most=0))
    width = high - low
    with numpy.errstate(invalid="ignore", divide="ignore"):
        chord = numpy.where(width > 1e-9, (curves.at(high) - curves.at(low)) / width, 0.0)
    least, largest = bound_curves(curves.less_line(chord), low, high)
    factor = torch.from_numpy(chord / half).reshape(shape)
    offset = torch.from_numpy((least + largest) / 2).reshape(shape) - factor * middle
    error = torch.from_numpy((largest - least) / 2 + rounding).reshape(shape)
    error = error + factor.abs() * form.error + 64 * UNIT * (factor.abs() * (form.size(symbols.axis) + abs(middle)))
    result = Form(
        interval[0],
        interval[1],
        factor * form.center + offset,
        factor * form.generators,
        error * OUTWARD + 16 * UNIT * offset.abs(),
        slope,
        slope_error,
    )
    return with_symbols(result.tightened(symbols.axis), symbols)


def _positions(x: Tensor, middle: float, half: float, side: int) -> Any:
    """The positions t in the interval, rounded outward: below for side = -1, above for 1."""
    t = ((x - middle) / half).flatten().numpy()
    return t + side * 8 * UNIT * (numpy.abs(t) + abs(middle) / half)


def _sizes(curves: Curves, low: Any, high: Any) -> Any:
    """An upper bound of the numbers that an evaluation adds up, which its rounding error is relative to."""
    reach = numpy.maximum(numpy.maximum(numpy.abs(low), numpy.abs(high)), 1.0)
    inside = reach if curves.lines is None else numpy.ones_like(reach)
    sizes = Curves(numpy.abs(curves.coefficients), None).at(inside)
    return sizes if curves.lines is None else sizes + numpy.abs(curves.lines).max(axis=1) * reach


def _curves_of(part: LearnedActivation, basis: Basis, like: Tensor) -> Curves:
    """The curve of every element, in t from -1 to 1: one row per element of `like`."""
    learned = part.learned.detach().double().cpu()
    replicated = part.replicas is not None
    axis = part.channel_axis(like)
    if axis is None:
        index = numpy.zeros(like.numel(), int)
    else:
        each = max(1, like.shape[axis] // learned.shape[-2])
        index = _along(like, axis).numpy() // each
    own = torch.from_numpy(index)
    rows: Any = (learned[_along(like, 0), own] if replicated else learned[own]).numpy()
    lines = heights = None
    if basis.has_tails:
        half = (basis.interval[1] - basis.interval[0]) / 2
        lines = rows @ basis.pieces[[-3, -1]].T * half
        heights = rows @ basis.pieces[[-4, -2]].T if basis.order else None
    return Curves(rows @ basis.series.T, lines, heights)


def _along(like: Tensor, axis: int) -> Tensor:
    """The index of every element along an axis, flattened."""
    shape = [1] * like.dim()
    shape[axis] = -1
    return torch.arange(like.shape[axis]).reshape(shape).expand(like.shape).flatten()


def _chain(form: Form, bounds: list[Tensor]) -> tuple[Tensor | None, Tensor | None]:
    """The derivatives after a function whose own are within these bounds."""
    if form.slope is None or form.slope_error is None:
        return None, None
    middle, radius = (bounds[0] + bounds[1]) / 2, (bounds[1] - bounds[0]) / 2
    error = middle.abs() * form.slope_error + radius * (form.slope.abs() + form.slope_error)
    return middle * form.slope, error * OUTWARD + 4 * UNIT * (middle * form.slope).abs()


Bounds = tuple[float, float]
MONOTONE: dict[Any, tuple[Callable[[Tensor], Tensor], Bounds, float]] = {
    nn.ReLU: (torch.relu, (0.0, 1.0), 0.0),
    nn.ReLU6: (nn.functional.relu6, (0.0, 1.0), 0.0),
    nn.Hardtanh: (nn.functional.hardtanh, (0.0, 1.0), 0.0),
    nn.Tanh: (torch.tanh, (0.0, 1.0), 0.0),
    nn.Sigmoid: (torch.sigmoid, (0.0, 0.25), 0.0),
    nn.Softplus: (lambda t: torch.logaddexp(t, torch.zeros_like(t)), (0.0, 1.0), 2.1e-9),
    nn.ELU: (nn.functional.elu, (0.0, 1.0), 0.0),
}
"""Activations that never fall, the bounds of their slopes, and by how much torch's own may be smaller, with its default
options: its softplus continues as the line x above 20, where the function is still 2.06e-9 larger."""


def bound_monotone(
    form: Form, function: Callable[[Tensor], Tensor], slopes: tuple[float, float], less: float, symbols: Symbols
) -> Form:
    """The form of a function that never falls, with slopes within these bounds."""
    low, high = function(form.low), function(form.high)
    rounding = 64 * (symbols.unit + UNIT)
    low, high = low - less - rounding * (low.abs() + 1e-30), high + rounding * (high.abs() + 1e-30)
    bounds = [torch.full_like(low, slopes[0]), torch.full_like(low, slopes[1])]
    return from_interval(low, high, *_chain(form, bounds), symbols)
