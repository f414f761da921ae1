"""Where an input is in the interval, in two parts that keep the digits far from 0, and the polynomial in that."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor

from chebact.basis import Basis
from chebact.kernels.scaling import numpy_type

__all__ = ["Position", "coefficients_of", "position_of"]


class Position(NamedTuple):
    """Where x is in the interval: u = ((x - high) - low) scale, with the ends at `left` and `right`, of about -1 and 1.

    The middle has two parts, so that an interval far from 0 keeps its digits. `scale` is a power of two for powers.
    """

    high: float
    low: float
    scale: float
    left: float
    right: float
    bound: float | None

    def find(self, x: Tensor) -> Tensor:
        """The position of x, in as few operations as these numbers need."""
        for part in (self.high, self.low):
            x = x + (-part) if part else x
        x = x * self.scale if self.scale != 1.0 else x
        return x if self.bound is None else x.clamp(-self.bound, self.bound)


def position_of(basis: Basis, dtype: torch.dtype) -> Position:
    """The position for tensors of that type; rounded to infinity a flat line would give NaN, so that has a bound."""
    (a, b), kind = basis.interval, numpy_type(dtype)
    if basis.by_powers:
        centre, scale = basis.middle_and_scale
        middle, ends = Fraction(centre), ((a - centre) * scale, (b - centre) * scale)
    else:
        middle, scale, ends = (Fraction(a) + Fraction(b)) / 2, 2 / (b - a), (-1.0, 1.0)
    with numpy.errstate(over="ignore"):
        high = float(kind(float(middle)))
    low = float(kind(float(middle - Fraction(high)))) if math.isfinite(high) else 0.0
    bound = float(numpy.finfo(kind).max) if scale > 1.0 and basis.has_tails else None
    return Position(high, low, scale, *ends, bound)


def coefficients_of(basis: Basis) -> list[Any]:
    """The rows that map heights to coefficients in that position: of its powers from the constant up, or of T_k."""
    return list(basis.power_pieces[: basis.degree + 1] if basis.by_powers else basis.series)
