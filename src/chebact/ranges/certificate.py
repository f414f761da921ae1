"""Bounds of the inputs of learned activations that hold for every input of a box."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from chebact.checks import must_be
from chebact.learned import LearnedActivation, learned_activations
from chebact.ranges.bounds import bound_network
from chebact.ranges.bounds.form import Form, Symbols
from chebact.ranges.extremes import ActivationRange, InputRanges
from chebact.recording import evaluation_mode

__all__ = ["CertifiedRanges", "certify_ranges", "read_box"]

MOST_SLOPES = 1 << 12  # inputs of a model up to which its slopes are bounded
KINDS = "a tuple (low, high) of two tensors in the shape of one input, or a list with one pair of numbers per feature"


@dataclass(frozen=True)
class CertifiedRanges(InputRanges):
    """Ranges that no input of the box leaves; a mapping by the name of the activation that prints as a table.

    `output_low` and `output_high` bound the outputs, in the shape of one output. `slope_low` and `slope_high` bound the
    derivative of every output by every input, (input, *output), by the interval chain rule; None if the model has more
    than 4096 inputs or max pooling. With replicas the replica axis is first.

    >>> from chebact import ChebyshevLagrange, certify_ranges
    >>> model = nn.Sequential(nn.Flatten(), ChebyshevLagrange(2, init="tanh"))
    >>> ranges = certify_ranges(model, (torch.full((2,), -0.5), torch.full((2,), 0.5)))
    >>> isinstance(ranges, CertifiedRanges), bool((ranges.output_high < 1).all())
    (True, True)
    """

    output_low: Tensor = field(kw_only=True)
    output_high: Tensor = field(kw_only=True)
    slope_low: Tensor | None = field(kw_only=True)
    slope_high: Tensor | None = field(kw_only=True)

    @property
    def lipschitz(self) -> float | None:
        """A bound L with |f(x) - f(z)| <= L max_i |x_i - z_i| for every output f and all x and z in the box."""
        if self.slope_low is None or self.slope_high is None:
            return None
        steepest = torch.maximum(self.slope_low.abs(), self.slope_high.abs())
        replicated = any(each.low.dim() == 2 for each in self.values())
        return float(steepest.sum(dim=int(replicated)).max()) * (1 + 1e-12)


def certify_ranges(model: nn.Module, box: Any) -> CertifiedRanges:
    """Bounds of the inputs of every learned activation, of the outputs and of the slopes, for every input of a box.

    Args:
        model: a network that torch.fx can trace, of linear layers, convolutions, batch norm, pooling, sums,
            concatenations, dropout, learned activations and monotone activations; others are refused by name. It is
            bounded in evaluation mode, and not changed.
        box: (low, high), two tensors in the shape of one input, without batch axis; or a list with one pair of numbers
            per feature.

    The bounds are sound, not tight: no input of the box leaves them, in exact arithmetic or in the type of the model
    with ordinary rounding (on a CPU, or a GPU without TF32), but the true range may be smaller. They come from the
    exact extremes of every polynomial, and from interval and affine arithmetic through the layers.

    >>> from chebact import ChebyshevLagrange
    >>> model = nn.Sequential(nn.Flatten(), ChebyshevLagrange(2, degree=2, init=torch.square))
    >>> found = certify_ranges(model, [(-0.5, 0.75), (0.0, 2.0)])
    >>> print(found)
    activation  channels  interval  least  largest    used  outside
    1                  2   [-1, 1]   -0.5        2  200.0%   1 of 2
    >>> [round(x, 4) for x in found.output_high.tolist()]  # x^2 at 0.75, and 1 + 2 (x - 1) on the line
    [0.5625, 3.0]
    """
    activations = learned_activations(model)
    low, high = read_box(box)
    replicas = next((part.replicas for part in activations.values() if part.replicas is not None), None)
    if replicas is not None and low.dim() == 1:
        low, high = low.expand(replicas, -1), high.expand(replicas, -1)
    axis = int(replicas is not None)
    low, high = _in_types_of(model, low, high)
    bounds = _Bounds(activations)
    symbols = Symbols(axis, _unit_roundoff(model))
    with evaluation_mode(model):
        slopes = low.numel() <= MOST_SLOPES
        try:
            form = bound_network(model, low.unsqueeze(axis), high.unsqueeze(axis), symbols, bounds.hear, slopes)
        except RuntimeError as error:  # torch, of a layer that does not take this shape
            reason = f"the model raised: {str(error).partition(chr(10))[0]}"
            raise ValueError(must_be("box", "in the shape of one input of the model", low.shape, reason)) from error
    ranges = bounds.ranges()
    slope_low = slope_high = None
    if form.slope is not None and form.slope_error is not None:
        slope_low, slope_high = form.slope - form.slope_error, form.slope + form.slope_error
    return CertifiedRanges(
        ranges,
        tuple(name for name in activations if name not in ranges),
        output_low=form.low.squeeze(axis),
        output_high=form.high.squeeze(axis),
        slope_low=slope_low,
        slope_high=slope_high,
    )


class _Bounds:
    """The bounds per channel of every activation that was called."""

    def __init__(self, activations: dict[str, LearnedActivation]) -> None:
        self.activations = activations
        self.found: dict[str, tuple[Tensor, Tensor]] = {}

    def hear(self, name: str, form: Form) -> None:
        """Join the bounds of one call with those of earlier ones."""
        if name not in self.activations:  # a module with several names, or the model itself
            name = next(iter(self.activations))
        part = self.activations[name]
        axis, first = part.channel_axis(form.low), int(part.replicas is not None)
        others = [dim for dim in range(first, form.low.dim()) if dim != axis]
        low, high = form.low.amin(dim=others), form.high.amax(dim=others)
        if axis is None:
            low, high = low.unsqueeze(-1), high.unsqueeze(-1)
        known = self.found.get(name, (low, high))
        self.found[name] = torch.minimum(known[0], low), torch.maximum(known[1], high)

    def ranges(self) -> dict[str, ActivationRange]:
        """The ranges by the name of the activation, in the order of the model."""
        return {
            name: ActivationRange(name, *self.found[name], part.basis.interval, part.basis.degree)
            for name, part in self.activations.items()
            if name in self.found
        }


def _unit_roundoff(model: nn.Module) -> float:
    """The unit roundoff of the least exact type among the parameters and buffers."""
    return max(torch.finfo(each).eps / 2 for each in _types_of(model))


def _types_of(model: nn.Module) -> set[torch.dtype]:
    return {each.dtype for each in (*model.parameters(), *model.buffers()) if each.is_floating_point()}


def _in_types_of(model: nn.Module, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    """The box with the ends that a client clips to who has them in a type of the model: 0.1 in float32 is above 0.1."""
    for each in _types_of(model):
        low, high = torch.minimum(low, low.to(each).double()), torch.maximum(high, high.to(each).double())
    return low, high


def _end(end: Any) -> float:
    try:
        return float(end)
    except (TypeError, ValueError) as error:
        raise TypeError(must_be("an end of box", "a number", end)) from error


def read_box(box: Any) -> tuple[Tensor, Tensor]:
    """The lower and the upper ends of a box, float64.

    >>> read_box([(0, 1), (-2.0, 3.0)])
    (tensor([ 0., -2.], dtype=torch.float64), tensor([1., 3.], dtype=torch.float64))
    """
    if isinstance(box, tuple) and len(box) == 2 and all(isinstance(each, Tensor) for each in box):
        low, high = (each.detach().double().cpu() for each in box)
    elif isinstance(box, list) and box and all(isinstance(each, list | tuple) and len(each) == 2 for each in box):
        low, high = torch.tensor([[_end(end) for end in pair] for pair in box], dtype=torch.float64).T
    else:
        raise TypeError(must_be("box", KINDS, box))
    if low.shape != high.shape or low.dim() == 0:
        raise ValueError(must_be("low and high of box", "of one shape, that of an input", (*low.shape, *high.shape)))
    wrong = ~((low <= high) & low.isfinite() & high.isfinite())
    if bool(wrong.any()):
        place = tuple(torch.nonzero(wrong)[0].tolist())
        pair = (float(low[place]), float(high[place]))
        raise ValueError(must_be(f"box at {place}", "two finite numbers, the lower first", pair))
    return low, high
