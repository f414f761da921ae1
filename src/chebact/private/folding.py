"""A polynomial network as stages: linear maps of earlier vectors, then an activation without its scale and constant.

Every vector of the network is a linear map of the vectors that are computed (the input, and u and z of each stage), so
adjacent linear layers, sums and factors are merged by multiplying matrices, and what an activation leaves out is
multiplied into the layer after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from chebact.export.program import Curve, Program, Step

__all__ = ["LARGEST", "Stage", "check_stages", "fold_program", "powers_of"]

Array = Any
LARGEST = 256.0
"""The largest z of an input in the interval; a square or cube that would go beyond takes another form, since the error
of the encryption is proportional to it."""
ROUNDING = 1e-14  # coefficients below this share of the largest are rounding errors of the interpolation


@dataclass(frozen=True)
class Stage:
    """u = the sum of `weights[k]` (channel, size of vector k) times vector k, and `bias`; then z = form(u).

    Vector 0 is the input, vectors 2 s - 1 and 2 s are u and z of stage s. `numbers` are those of the form.
    """

    weights: dict[int, Array]
    bias: Array
    form: str
    degree: int
    numbers: Array


@dataclass(frozen=True)
class Affine:
    """A vector as a linear map of computed ones."""

    weights: dict[int, Array]
    bias: Array

    def mapped(self, weight: Array, bias: Array) -> Affine:
        """weight @ self + bias."""
        return Affine({k: weight @ each for k, each in self.weights.items()}, weight @ self.bias + bias)

    def scaled(self, factors: Array, bias: Array) -> Affine:
        """factors * self + bias, per channel."""
        column = numpy.broadcast_to(factors, self.bias.shape)[:, None]
        return Affine({k: column * each for k, each in self.weights.items()}, column[:, 0] * self.bias + bias)

    def plus(self, other: Affine) -> Affine:
        """The sum of both."""
        shared = {k: self.weights.get(k, 0.0) + other.weights.get(k, 0.0) for k in {**self.weights, **other.weights}}
        return Affine(shared, self.bias + other.bias)


def fold_program(program: Program) -> tuple[Stage, ...]:
    """The stages; the last one has the outputs as its u."""
    stages: list[Stage] = []
    size = program.inputs
    vectors = [Affine({0: numpy.eye(size)}, numpy.zeros(size))]
    for step in program.steps:
        first = vectors[step.inputs[0]]
        if step.kind == "linear":
            vectors.append(first.mapped(step.weight, 0.0 if step.bias is None else step.bias))
        elif step.kind == "add":
            vectors.append(first.plus(vectors[step.inputs[1]]))
        elif step.kind == "scale":
            vectors.append(first.scaled(step.factor, 0.0))
        else:
            before, after = fold_activation(step, first, stages)
            vectors[step.inputs[0]] = before
            vectors.append(after)
    stages.append(make_stage(vectors[-1], "none", 1, numpy.zeros((0, 0))))
    return tuple(stages)


def check_stages(inputs: int, stages: Sequence[Stage]) -> None:
    """A ValueError if the numbers of stages from a file do not belong together."""
    if not stages or stages[-1].form != "none":
        raise ValueError(f"the last stage must have the form none, for the outputs, got {len(stages)} stages without")
    sizes = [inputs]
    for number, stage in enumerate(stages, 1):
        size = stage.bias.size
        shapes = {k: each.shape for k, each in stage.weights.items()}
        expected = {k: (size, sizes[k]) for k in shapes if 0 <= k < len(sizes)}
        if stage.bias.shape != (size,) or not size or not shapes or shapes != expected:
            raise ValueError(f"stage {number} must have weights for earlier vectors, of their sizes, got {shapes}")
        rows = {"cubic": 1, "tree": stage.degree + 1}.get(stage.form, 0)
        if rows and stage.numbers.shape != (rows, size):
            raise ValueError(f"stage {number} must have numbers ({rows}, {size}), got {stage.numbers.shape}")
        if not all(numpy.isfinite(each).all() for each in (stage.bias, stage.numbers, *stage.weights.values())):
            raise ValueError(f"stage {number} must have finite numbers, got inf or nan")
        sizes += [size, size]


def make_stage(u: Affine, form: str, degree: int, numbers: Array) -> Stage:
    """A stage without the matrices that are zero."""
    weights = {k: each for k, each in sorted(u.weights.items()) if each.any()}
    if not weights:
        raise ValueError("model must depend on its input, got a layer whose weights are all zero; train it first")
    return Stage(weights, u.bias, form, degree, numbers)


def fold_activation(step: Step, h: Affine, stages: list[Stage]) -> tuple[Affine, Affine]:
    """Append the stage of an activation; h as a map of its u, and the activation as a map of its u and z."""
    middle, half = (0.0, 1.0) if step.curve is None else position_of(step.curve)
    powers = CUBE[:, None].repeat(step.size, 1) if step.curve is None else powers_of(step.curve)
    powers = without_rounding(powers)
    v = h.scaled(1 / half, -middle / half)
    if len(powers) <= 2:
        return h, v.scaled(powers[1], powers[0])
    form, shift, numbers, scale, line, constant = FOLDS.get(len(powers) - 1, fold_tree)(powers)
    stages.append(make_stage(v.scaled(1.0, shift), form, len(powers) - 1, numbers))
    identity, here = numpy.eye(step.size), 2 * len(stages)
    u, z = Affine({here - 1: identity}, numpy.zeros(step.size)), Affine({here: identity}, numpy.zeros(step.size))
    after = z.scaled(scale, constant).plus(u.scaled(line, -line * shift))
    return u.scaled(half, middle - half * shift), after


CUBE = numpy.array([0.0, 0.0, 0.0, 1.0])
Fold = tuple[str, Array, Array, Array, Array, Array]
"""The form, then per channel: the shift u - v, the numbers of the form, and the scale of z, the factor of v and the
constant that the next layer takes."""


def fold_square(powers: Array) -> Fold:
    """c2 v^2 + c1 v + c0 = c2 (v + s)^2 + r v + c, with r = 0 unless the square would be larger than `LARGEST`."""
    c0, c1, c2 = powers
    most = LARGEST**0.5 - 1
    shift = numpy.clip(numpy.divide(c1, 2 * c2, out=numpy.zeros_like(c1), where=c2 != 0), -most, most)
    line = numpy.where((numpy.abs(shift) < most) & (c2 != 0), 0.0, c1 - 2 * c2 * shift)
    return "square", shift, numpy.zeros((0, 0)), c2, line, c0 - c2 * shift**2


def fold_cubic(powers: Array) -> Fold:
    """c3 ((v + s)^3 + q (v + s)) + c, if that stays below `LARGEST`; otherwise the tree."""
    c0, c1, c2, c3 = powers
    with numpy.errstate(divide="ignore", invalid="ignore", over="ignore"):
        shift = c2 / (3 * c3)
        q = c1 / c3 - 3 * shift**2
        reach = numpy.abs(shift) + 1
        largest = reach * (reach**2 + numpy.abs(q))
    if not (largest <= LARGEST).all():
        return fold_tree(powers)
    return "cubic", shift, q[None], c3, numpy.zeros_like(c3), c0 - c3 * shift * (shift**2 + q)


def fold_tree(powers: Array) -> Fold:
    """All powers as they are."""
    zeros = numpy.zeros_like(powers[0])
    return "tree", zeros, powers, zeros + 1, zeros, powers[0]


FOLDS = {2: fold_square, 3: fold_cubic}


def position_of(curve: Curve) -> tuple[float, float]:
    """The middle of the interval and half its length."""
    a, b = curve.basis.interval
    return (a + b) / 2, (b - a) / 2


def powers_of(curve: Curve) -> Array:
    """The coefficients of the powers of v = (x - middle) / half, (degree + 1, channel), float64."""
    series = curve.basis.series @ curve.heights.T
    matrix = numpy.zeros((len(series), len(series)))
    for k in range(len(series)):
        column = numpy.polynomial.chebyshev.cheb2poly(numpy.eye(k + 1)[-1])
        matrix[: len(column), k] = column
    return matrix @ series


def without_rounding(powers: Array) -> Array:
    """Without the highest powers that no channel has."""
    most = numpy.abs(powers).max(initial=0.0) * ROUNDING
    while len(powers) > 2 and numpy.abs(powers[-1]).max() <= most:
        powers = powers[:-1]
    return powers
