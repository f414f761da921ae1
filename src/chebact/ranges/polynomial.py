"""A trained network as a polynomial: the same function without tails, once no input leaves its interval."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from chebact.activations import ChebyshevLagrange
from chebact.checks import check_module
from chebact.export.folding import FoldedActivation
from chebact.functional import make_basis
from chebact.learned import learned_activations
from chebact.ranges.batches import input_batches
from chebact.ranges.certificate import CertifiedRanges, certify_ranges, read_box
from chebact.ranges.extremes import ActivationRange, InputRanges, Recorder
from chebact.ranges.operations import find_foreign_operations
from chebact.ranges.penalty import check_margin
from chebact.recording import run_once, watching
from chebact.text_table import text_table

__all__ = ["NotPolynomialError", "PolynomialModel", "PolynomialReport", "to_polynomial"]

HEADS = ("activation", "degree", "channels", "interval", "by", "least", "largest", "headroom")
SHOWN = 8  # channels of an activation that a message lists


class NotPolynomialError(ValueError):
    """A model cannot be made polynomial; the message says which parts are why, `ranges` has the extremes if known.

    >>> from chebact import ChebyshevLagrange
    >>> try:
    ...     to_polynomial(nn.Sequential(nn.Flatten(), ChebyshevLagrange(1)), calibration=torch.tensor([[3.0]]))
    ... except NotPolynomialError as error:
    ...     float(error.ranges["1"].high)
    3.0
    """

    def __init__(self, message: str, ranges: InputRanges | None = None) -> None:
        super().__init__(message)
        self.ranges = ranges


@dataclass(frozen=True)
class PolynomialReport:
    """What `to_polynomial` found; prints as a table.

    `calibrated` are the extremes on the calibration data, `certified` the bounds on the box; None if not given.
    `largest_change` is the largest difference of any output between the model with and without tails, and
    `largest_output` the largest output.
    """

    margin: float
    calibrated: InputRanges | None
    certified: CertifiedRanges | None
    largest_change: float
    largest_output: float

    @property
    def headroom(self) -> float:
        """The least headroom of all activations: the share of the half width that is left."""
        return min(each.headroom for ranges in self._known() for each in ranges.values())

    @property
    def degrees(self) -> dict[str, int]:
        """The degree of each activation."""
        return {name: each.degree for name, each in self._known()[0].items()}

    def _known(self) -> list[InputRanges]:
        return [ranges for ranges in (self.calibrated, self.certified) if ranges is not None]

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [HEADS]
        for source, ranges in (("data", self.calibrated), ("box", self.certified)):
            rows += [_cells(each, source) for each in (ranges or {}).values()]
        change = f"the outputs, of up to {self.largest_output:.4g}, change by at most {self.largest_change:.2g}"
        return f"{text_table(rows)}\n{change}"


def _cells(each: ActivationRange, source: str) -> tuple[str, ...]:
    interval = f"[{each.interval[0]:.4g}, {each.interval[1]:.4g}]"
    place = (each.name or "(model)", str(each.degree), str(each.low.shape[-1]), interval, source)
    return (*place, f"{float(each.low.min()):.4g}", f"{float(each.high.max()):.4g}", f"{each.headroom:.1%}")


@dataclass(frozen=True)
class PolynomialModel:
    """`model` is a copy without tails, `report` what was found about its ranges.

    >>> from chebact import ChebyshevLagrange
    >>> found = to_polynomial(nn.Sequential(nn.Flatten(), ChebyshevLagrange(1)), calibration=torch.tensor([[0.5]]))
    >>> isinstance(found, PolynomialModel), found.model[1].tails
    (True, 'none')
    """

    model: nn.Module
    report: PolynomialReport


def to_polynomial(
    model: nn.Module, *, calibration: Any = None, box: Any = None, margin: float = 0.05, inputs: int | None = None
) -> PolynomialModel:
    """A copy of a model without tails, which is a polynomial in its inputs; refused if an input leaves its interval.

    Args:
        model: made of linear layers, convolutions, batch norm, average pooling, sums and learned activations. It is
            not changed.
        calibration: data as for `input_ranges`; the inputs of all activations on it must stay inside.
        box: bounds of the inputs as for `certify_ranges`; the inputs of all activations must be certain to stay inside
            for every input in the box.
        margin: the share of the half width of an interval that must stay unused.
        inputs: how many leading entries of a calibration batch are inputs of the model, as for `input_ranges`.

    A `NotPolynomialError` names the activations and channels that leave the interval less the margin, and the modules
    that are not polynomial.

    >>> from chebact import ChebyshevLagrange
    >>> model = nn.Sequential(nn.Flatten(), ChebyshevLagrange(2, degree=2), nn.Linear(2, 1))
    >>> result = to_polynomial(model, calibration=torch.tensor([[0.5, -0.8], [0.25, 0.5]]))
    >>> result.model[1].tails, result.report.largest_change
    ('none', 0.0)
    >>> print(result.report.calibrated)
    activation  channels  interval  least  largest   used  outside
    1                  2   [-1, 1]   -0.8      0.5  80.0%   0 of 2
    """
    _check_parts(model)
    activations, margin = learned_activations(model), check_margin(margin)
    if calibration is None and box is None:
        raise ValueError(
            "calibration or box must be given, got neither; pass data that the model will see, or the box of all inputs"
        )
    polynomial = without_tails(model)
    calibrated, changes = None, [0.0, 0.0]
    if calibration is not None:
        recorder = Recorder(activations)
        batches = input_batches("calibration", calibration, inputs)
        changes = compare_outputs(model, polynomial, batches, recorder)
        calibrated = recorder.ranges(calibration, "calibration")
        check_inside(calibrated, margin, "the calibration data")
    certified = None
    if box is not None:
        certified = certify_ranges(model, box)
        check_inside(certified, margin, "the box")
        more = compare_outputs(model, polynomial, [_points_of(model, box)])
        changes = [max(pair) for pair in zip(changes, more, strict=True)]
    return PolynomialModel(polynomial, PolynomialReport(margin, calibrated, certified, changes[0], changes[1]))


def _points_of(model: nn.Module, box: Any) -> Tensor:
    """Points of a box, as inputs of the model: both ends and some between."""
    low, high = read_box(box)
    learned = next(iter(learned_activations(model).values()))
    shares = torch.rand(62, *low.shape, generator=torch.Generator().manual_seed(0), dtype=low.dtype)
    points = torch.cat([low[None], high[None], low + shares * (high - low)]).to(learned.learned)
    if learned.replicas is None:
        return points
    return points.expand(learned.replicas, *points.shape) if low.dim() == 1 else points.transpose(0, 1)


def _check_parts(model: nn.Module) -> None:
    check_module("model", model)
    folded = [name for name, part in model.named_modules() if isinstance(part, FoldedActivation)]
    if folded:
        raise NotPolynomialError(f"model must not be folded, got {', '.join(folded)}; fold the result of to_polynomial")


def _check_operations(model: nn.Module, example: Any) -> None:
    foreign = find_foreign_operations(model, example)
    if foreign:
        raise NotPolynomialError(
            f"model must be made of additions, products and learned activations, got {', '.join(foreign)}; replace "
            "activations with chebact.replace_activations, max pooling with average pooling and layer norm with batch "
            "norm, train again, and leave softmax to the client"
        )


def compare_outputs(
    model: nn.Module, polynomial: nn.Module, batches: Iterable[Any], recorder: Recorder | None = None
) -> list[float]:
    """The largest difference of any output, and the largest output; NaN if one is NaN."""
    found = torch.zeros(2, dtype=torch.float64)
    for number, batch in enumerate(batches):
        if number == 0:
            _check_operations(model, batch)
        with watching({} if recorder is None else recorder.watchers):
            before = run_once(model, batch)
        for old, new in zip(_tensors(before), _tensors(run_once(polynomial, batch)), strict=True):
            if old.numel():
                largest = torch.stack([(new - old).abs().max(), old.abs().max()])
                found = torch.maximum(found, largest.to(found))  # keeps NaN
    return found.tolist()


def _tensors(output: Any) -> list[Tensor]:
    """The tensors in an output, in order."""
    if isinstance(output, Tensor):
        return [output]
    if isinstance(output, dict):
        output = list(output.values())
    return [tensor for part in output for tensor in _tensors(part)] if isinstance(output, list | tuple) else []


def without_tails(model: nn.Module) -> nn.Module:
    """A copy in which every learned activation has `tails="none"`."""
    twin = copy.deepcopy(model)
    for part in twin.modules():
        if isinstance(part, ChebyshevLagrange):
            part.basis = make_basis(part.degree, "none", 2, part.basis.interval)
    return twin


def check_inside(ranges: InputRanges, margin: float, where: str) -> None:
    """A `NotPolynomialError` unless all inputs stay inside the intervals less the margin."""
    if ranges.unreached:
        raise NotPolynomialError(
            f"{where} must reach every learned activation, got no input of {', '.join(ranges.unreached)}; pass "
            "data that reaches them, or remove them from the model",
            ranges,
        )
    beyond = {name: channels for name, each in ranges.items() if (channels := each.channels_beyond(margin))}
    if beyond:
        lines = [_describe(ranges[name], channels) for name, channels in beyond.items()]
        raise NotPolynomialError(
            f"on {where} the inputs of every activation must stay below {1 - margin:g} of the half width of its "
            f"interval (margin={margin:g}), got\n  " + "\n  ".join(lines) + "\ntrain with chebact.range_penalty",
            ranges,
        )


def _describe(each: ActivationRange, channels: list[tuple[int, ...]]) -> str:
    names = [str(index[0]) if len(index) == 1 else f"replica {index[0]} channel {index[1]}" for index in channels]
    parts = [f"{name} ({float(each.used[index]):.4g})" for name, index in zip(names[:SHOWN], channels, strict=False)]
    more = f" and {len(channels) - SHOWN} more" if len(channels) > SHOWN else ""
    return f"{each.name or 'the model'}: {len(channels)} of {each.used.numel()} channels: {', '.join(parts)}{more}"
