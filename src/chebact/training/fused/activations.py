"""The activations that the fused trainer supports: what each emits into a plan, forward and backward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy
from torch import nn

from chebact.activations import ChebyshevLagrange, Cubic, PrototypeSimilarity, WeightedChebyshev
from chebact.basis import CHEBYSHEV_POWERS, POWER_DEGREE, TAIL_ROWS, Basis

if TYPE_CHECKING:
    from chebact.training.fused.plan import Plan

__all__ = ["MOST_DEGREE", "Activation", "activation_of", "activations_in", "why_not_activation"]

MOST_DEGREE = 10
RANGE_FACTORS = 16  # FACTORS of ops/excess.py, which this file does not import because it needs Numba
ELEMENTWISE = {nn.ReLU: 0, nn.Tanh: 1, Cubic: 2, nn.Identity: 3}
LEARNED = (ChebyshevLagrange, WeightedChebyshev)


class Activation(Protocol):
    """Emits operations into a plan."""

    def forward(self, x: int, out: int) -> None:
        """From the offset of x to that of the result."""

    def backward(self, x: int, y: int, gradient: int, other: int, other_row: int, out: int) -> None:
        """From the offsets of x, the result and its gradient; the numbers at `other` are added."""


def activations_in(module: nn.Module) -> list[nn.Module]:
    """The activations that are applied in sequence.

    >>> activations_in(nn.Sequential(nn.Tanh(), nn.Sequential(nn.ReLU())))
    [Tanh(), ReLU()]
    """
    return [part for each in module for part in activations_in(each)] if type(module) is nn.Sequential else [module]


def why_not_activation(module: nn.Module, width: int) -> str | None:
    """The reason why an activation is not supported, or None."""
    if type(module) in ELEMENTWISE:
        return None
    if type(module) is PrototypeSimilarity:
        fits = module.channels == width and module.replicas is not None and module.channel_dim in (1, -1)
        return None if fits else f"prototypes must be of the {width} channels of the network, with replicas"
    if not isinstance(module, LEARNED) or type(module) not in LEARNED:
        known = "ReLU, tanh, identity, prototypes and learned polynomials"
        return f"it supports {known}, not {type(module).__name__}"
    if module.basis.degree > MOST_DEGREE:
        return f"it supports polynomials up to degree {MOST_DEGREE}, not degree {module.basis.degree}"
    if not TAIL_ROWS[module.basis.tails].joined:
        return f"it supports tails that start at the polynomial, not {module.basis.tails!r}"
    if module.channel_dim not in (1, -1) or module.channels not in (None, width):
        return f"a learned activation must have the {width} channels of the network in the last axis"
    return None


def activation_of(module: nn.Module, plan: Plan) -> Activation:
    """What emits a module that `why_not_activation` has nothing against."""
    if isinstance(module, LEARNED):
        return _Learned(module, plan)
    if isinstance(module, PrototypeSimilarity):
        return _Similarity(module, plan)
    return _Elementwise(ELEMENTWISE[type(module)], plan)


class _Elementwise:
    def __init__(self, kind: int, plan: Plan) -> None:
        self.choices, self.plan = (kind,), plan

    def forward(self, x: int, out: int) -> None:
        self.plan.emit("elementwise", "forward", x, out, self.plan.width, choices=self.choices)

    def backward(self, x: int, y: int, gradient: int, other: int, other_row: int, out: int) -> None:
        numbers = (x, y, gradient, other, other_row, out, self.plan.width)
        self.plan.emit("elementwise", "backward", *numbers, choices=self.choices)


class _Learned:
    def __init__(self, module: Any, plan: Plan) -> None:
        basis: Basis = module.basis
        self.plan, self.terms, self.rows = plan, basis.degree + 1, module.learned.shape[1]
        constants = table_constants(basis).astype(plan.code.numbers)
        plan.kept.append(constants)
        self.constants = constants.ctypes.data
        self.choices = (basis.degree, _tails_kind(basis), int(basis.interval == (-1.0, 1.0)))
        self.parameter = self.heights = plan.offset_of(module.learned)
        self.gradient = self.parameter + plan.gradients
        self.shared = self.rows != plan.channels
        if self.shared:
            self.heights, self.gradient = (plan.memory.take_with_gap(self.terms * plan.width) for _ in range(2))
        self.table = plan.memory.take_with_gap((2 * basis.degree + 5) * plan.width)
        self.limits = 0
        if plan.task.range_penalty:
            limits = range_constants(basis, plan).astype(plan.code.numbers)
            plan.kept.append(limits)
            self.limits = limits.ctypes.data

    def forward(self, x: int, out: int) -> None:
        if self.shared:
            self.plan.emit("groups", "spread", *self.sharing(self.parameter, self.heights))
        numbers = (self.constants, x, out, self.plan.width, self.heights, self.table)
        self.plan.emit("lagrange", "forward", *numbers, choices=self.choices)

    def backward(self, x: int, y: int, gradient: int, other: int, other_row: int, out: int) -> None:
        numbers = (self.constants, x, gradient, other, other_row, out, self.plan.width, self.table, self.gradient)
        self.plan.emit("lagrange", "backward", *numbers, choices=self.choices)
        if self.limits:
            self.plan.emit("excess", "push", self.limits, x, out, self.plan.shares, self.plan.width)
        if self.shared:
            self.plan.emit("groups", "add", *self.sharing(self.parameter + self.plan.gradients, self.gradient))

    def sharing(self, groups: int, channels: int) -> tuple[int, ...]:
        """The record of the operations that take groups to channels and back."""
        row, each = self.plan.pad(self.rows), self.plan.channels // self.rows
        return groups, row, self.rows, each, channels, self.plan.width, self.terms


class _Similarity:
    def __init__(self, module: PrototypeSimilarity, plan: Plan) -> None:
        self.plan, self.prototypes = plan, plan.offset_of(module.prototypes)
        take = plan.memory.take_with_gap
        self.lengths = take(plan.batch_size * plan.code.lanes), take(plan.width)
        self.sums, self.own = take(plan.width), plan.rows()

    def numbers(self, x: int, y: int) -> tuple[int, ...]:
        """What the records of all three operations begin with."""
        return x, y, self.prototypes, *self.lengths, self.plan.width, self.plan.channels

    def forward(self, x: int, out: int) -> None:
        self.plan.layer_forward(x, self.prototypes, out)
        self.plan.emit("similarity", "forward", *self.numbers(x, out))

    def backward(self, x: int, y: int, gradient: int, other: int, other_row: int, out: int) -> None:
        plan, numbers = self.plan, self.numbers(x, y)
        plan.emit("similarity", "slopes", *numbers, gradient, self.sums)
        plan.layer_backward(x, self.prototypes, gradient, self.own)
        own = self.prototypes + plan.gradients, self.own
        plan.emit("similarity", "finish", *numbers, *own, other, other_row, out)


def _tails_kind(basis: Basis) -> int:
    """How the loops of ops/lagrange.py treat the outside: no lines, those of the end slopes, lines of any slope."""
    return (1 if TAIL_ROWS[basis.tails].smooth else 2) if basis.has_tails else 0


def range_constants(basis: Basis, plan: Plan) -> Any:
    """The numbers of ops/excess.py for one activation, float64."""
    a, b = basis.interval
    numbers = numpy.zeros(RANGE_FACTORS + plan.width)
    numbers[:3] = 2 / (b - a), -(a + b) / (b - a), 1.0 - plan.task.range_margin
    numbers[RANGE_FACTORS : RANGE_FACTORS + plan.channels] = 2 * plan.task.range_penalty * numbers[0] / plan.channels
    return numbers


def table_constants(basis: Basis) -> Any:
    """Scale and shift of u = x scale + shift, then the matrix from heights to table (see ops/lagrange.py), float64."""
    degree, terms = basis.degree, basis.degree + 1
    a, b = basis.interval
    matrix = numpy.zeros((2 * degree + 5, terms))
    matrix[:terms], matrix[terms : terms + degree] = basis.series, basis.derivative().series[:degree]
    if degree <= POWER_DEGREE:
        matrix[:terms] = CHEBYSHEV_POWERS[:terms, :terms] @ matrix[:terms]
        matrix[terms : terms + degree] = CHEBYSHEV_POWERS[:degree, :degree] @ matrix[terms : terms + degree]
    if basis.has_tails:
        slopes = basis.pieces[[-3, -1]]
        matrix[-4:-2], matrix[-2:] = slopes * (b - a) / 2, slopes
    return numpy.concatenate([[2 / (b - a), -(a + b) / (b - a)], matrix.ravel()])
