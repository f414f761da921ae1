"""Units of inputs and targets: found robustly from the training rows, and invisible to the user.

An input column is centred on its median and divided by its spread, so that most of it lies in [-1, 1], where the nodes
of the activations are; beyond four spreads it grows as a logarithm, so that an outlier stays a number of ordinary size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

__all__ = ["InputScaling", "TargetScaling", "bounded", "spread_of", "weighted_quantiles"]

Array = Any
REACH = 0.5  # one spread of an input, scaled
BEND = 2.0  # from here on a scaled input grows as a logarithm
NORMAL = (
    (0.25, 0.75, 1.349),
    (0.05, 0.95, 3.29),
)  # quantiles of a normal distribution, and their distance in deviations
FEW_SPREADS = 10.0  # a target beyond so many spreads does not count towards the deviation
ROUNDING = 1e-14  # a spread this small beside the centre is rounding, and the column constant


def weighted_quantiles(columns: Array, weights: Array, levels: tuple[float, ...]) -> Array:
    """The quantiles (level, column) of columns (row, column), each the value of a row: a row of weight 2 counts as two.

    >>> weighted_quantiles(numpy.array([[3.0], [1.0], [2.0]]), numpy.ones(3), (0.5,)).tolist()
    [[2.0]]
    """
    order = numpy.argsort(columns, axis=0, kind="stable")
    shares = numpy.cumsum(weights[order], axis=0) / weights.sum()
    ordered = numpy.take_along_axis(columns, order, axis=0)
    rows = [(shares < level * (1 - 1e-12)).sum(axis=0).clip(max=len(columns) - 1) for level in levels]
    return numpy.stack([numpy.take_along_axis(ordered, row[None], axis=0)[0] for row in rows])


def spread_of(columns: Array, weights: Array, centre: Array) -> Array:
    """A deviation (column,) that outliers do not move: from quartiles, from wider quantiles where those agree, from
    the mean distance to the centre where all quantiles do; 0 for a constant column.
    """
    with numpy.errstate(over="ignore"):
        distances = numpy.minimum(numpy.abs(columns - centre), numpy.finfo(float).max / len(columns))
    spread = numpy.average(distances, axis=0, weights=weights) * 1.2533
    for low, high, deviations in reversed(NORMAL):
        lower, upper = weighted_quantiles(columns, weights, (low, high))
        found = upper / deviations - lower / deviations
        spread = numpy.where(found > ROUNDING * numpy.abs(centre), found, spread)
    return numpy.where(spread > ROUNDING * numpy.abs(centre), spread, 0.0)


def bounded(scaled: Array) -> Array:
    """The identity up to `BEND`, a logarithm beyond, with the same slope where they meet.

    >>> bounded(numpy.array([-1.0, 2.0, 1e300])).round(1).tolist()
    [-1.0, 2.0, 692.8]
    """
    beyond = numpy.abs(scaled) - BEND
    return numpy.where(beyond > 0, numpy.sign(scaled) * (BEND + numpy.log1p(beyond.clip(min=0))), scaled)


@dataclass(frozen=True)
class InputScaling:
    """Centre and factor of each input column (column,); the factor of a constant column is 0.

    >>> InputScaling.of(numpy.array([[1e9, 5.0], [2e9, 5.0], [3e9, 5.0]]), numpy.ones(3))(numpy.array([[2e9, 7.0]]))
    array([[0., 0.]])
    """

    centre: Array
    factor: Array

    @classmethod
    def of(cls, x: Array, weights: Array) -> InputScaling:
        """The scaling for x (row, column)."""
        (centre,) = weighted_quantiles(x, weights, (0.5,))
        spread = spread_of(x, weights, centre)
        with numpy.errstate(divide="ignore", over="ignore"):
            factor = REACH / spread
        return cls(centre, numpy.where(numpy.isfinite(factor), factor, 0.0))

    def __call__(self, x: Array) -> Array:
        """x (row, column) as the network takes it."""
        largest = numpy.finfo(float).max
        with numpy.errstate(over="ignore"):
            distance = (x - self.centre).clip(-largest, largest)
            return bounded((distance * self.factor).clip(-largest, largest))


@dataclass(frozen=True)
class TargetScaling:
    """Centre and scale of each target (target,); the scale of a constant target is 0.

    >>> scaling = TargetScaling.of(numpy.array([[1e-9], [3e-9]]), numpy.ones(2))
    >>> scaling.back(scaling(numpy.array([[3e-9]])))
    array([[3.e-09]])
    """

    centre: Array
    scale: Array

    @classmethod
    def of(cls, y: Array, weights: Array) -> TargetScaling:
        """The scaling for y (row, target): mean and deviation, of which outliers are no part."""
        (middle,) = weighted_quantiles(y, weights, (0.5,))
        reach = FEW_SPREADS * spread_of(y, weights, middle)
        inner = y.clip(middle - reach, middle + reach)
        centre = numpy.average(inner, axis=0, weights=weights)
        largest = numpy.abs(inner - centre).max(axis=0)
        unit = numpy.where(largest > 0, largest, 1.0)  # so that no square overflows or vanishes
        scale = numpy.sqrt(numpy.average(((inner - centre) / unit) ** 2, axis=0, weights=weights)) * unit
        constant = reach == 0
        return cls(numpy.where(constant, middle, centre), numpy.where(constant, 0.0, scale))

    def __call__(self, y: Array) -> Array:
        """y (row, target) as the network learns it."""
        return (y - self.centre) / numpy.where(self.scale > 0, self.scale, 1.0)

    def back(self, scaled: Array) -> Array:
        """What a network gives (..., target), in the units of y."""
        return scaled * self.scale + self.centre
