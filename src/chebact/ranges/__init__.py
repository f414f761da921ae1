"""The ranges of the inputs of learned activations: keep them inside, measure them, bound them, remove the tails."""

from chebact.ranges.certificate import CertifiedRanges, certify_ranges
from chebact.ranges.extremes import ActivationRange, InputRanges, input_ranges
from chebact.ranges.penalty import RangePenalty, range_penalty
from chebact.ranges.polynomial import NotPolynomialError, PolynomialModel, PolynomialReport, to_polynomial

__all__ = [
    "ActivationRange",
    "CertifiedRanges",
    "InputRanges",
    "NotPolynomialError",
    "PolynomialModel",
    "PolynomialReport",
    "RangePenalty",
    "certify_ranges",
    "input_ranges",
    "range_penalty",
    "to_polynomial",
]
