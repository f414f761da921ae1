"""How far a measurement may be from a prediction: the spread of the ensemble, and the noise that no network explains.

Each replica left some rows out. There its error e is that of one network on new rows, and e^2 is about noise + slope v,
where v is the variance of the ensemble: the two numbers are those of the greatest likelihood (Laplace's, which
outliers do not move), times a factor with which the 90 % interval covers 90 % of the rows left out. The mean of R
networks has a part 1 - 1/R of one network's variance less, so that is taken off the slope.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from chebact.estimators.scaling import weighted_quantiles

__all__ = ["Noise"]

Array = Any
NORMAL_90 = 1.6449  # deviations on either side of the mean that hold 90 % of a normal distribution
SHARES = numpy.linspace(0, 1, 41)  # of the noise in the mean variance, to choose from
LEAST = 1e-4  # of the noise, so that no row is expected to be exact


@dataclass(frozen=True)
class Noise:
    """The variance of the noise (target,), and the slope (target,) with which the ensemble's variance counts."""

    level: Array
    slope: Array

    @classmethod
    def of(cls, errors: Array, variances: Array, weights: Array, replicas: int) -> Noise:
        """From errors and variances (row, target) of rows left out, and weights (row,); without rows, no noise.

        >>> errors = numpy.random.default_rng(0).normal(size=(4000, 1))
        >>> Noise.of(errors, numpy.zeros((4000, 1)), numpy.ones(4000), 10).deviations(numpy.zeros((1, 1))).round(1)
        array([[1.]])
        """
        if len(errors) == 0:
            return cls(numpy.zeros(errors.shape[1]), numpy.ones(errors.shape[1]))
        fitted = [level_and_slope(e, v, weights, replicas) for e, v in zip(errors.T, variances.T, strict=True)]
        return cls(*(numpy.array(each) for each in zip(*fitted, strict=True)))

    def deviations(self, variances: Array) -> Array:
        """The deviation of a measurement from the prediction, from the ensemble's variances (row, target)."""
        return numpy.sqrt(self.level + self.slope * variances)


def level_and_slope(errors: Array, variances: Array, weights: Array, replicas: int) -> tuple[float, float]:
    """The two numbers of one target, from (row,)."""
    mean = float(numpy.average(variances, weights=weights))
    relative = variances / mean if mean > 0 else numpy.ones_like(variances)

    def shape(share: float) -> Array:
        return share + (1 - share) * relative + LEAST

    def surprise(share: float) -> float:
        deviations = numpy.sqrt(shape(share))
        size = numpy.average(numpy.abs(errors) / deviations, weights=weights)
        return float(numpy.log(max(size, 1e-300)) + numpy.average(numpy.log(deviations), weights=weights))

    share = min(SHARES, key=surprise) if mean > 0 else 1.0
    ratios = numpy.abs(errors) / numpy.sqrt(shape(share))
    factor = float(weighted_quantiles(ratios[:, None], weights, (0.9,))[0, 0] / NORMAL_90) ** 2
    slope = factor * (1 - share) / mean if mean > 0 else 0.0
    return factor * (share + LEAST), max(slope - (1 - 1 / replicas), slope / replicas)
