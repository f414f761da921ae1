"""Rounding and scaling of the numbers that a channel is evaluated from; shared by the reference and the GPU kernel."""

from __future__ import annotations

import math

import numpy
import torch

from chebact.basis import SMALL_ENOUGH, steps_down

__all__ = ["clamp_finite", "divisor", "numpy_type"]


def numpy_type(dtype: torch.dtype) -> type:
    """The NumPy type to compute in: float64 for float64, float32 for all others."""
    return numpy.float64 if dtype == torch.float64 else numpy.float32


def clamp_finite(numbers: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The numbers, where finite ones are clamped to the largest of `dtype`; inf and NaN stay."""
    if numbers.dtype == dtype:
        return numbers
    most = torch.finfo(dtype).max
    return torch.where(numbers.abs() < math.inf, numbers.clamp(-most, most), numbers)


def divisor(numbers: torch.Tensor, dtype: torch.dtype, dim: int) -> torch.Tensor:
    """The power of two by which the numbers of a channel, along `dim`, are divided: see `basis.steps_down`."""
    step, two_steps = steps_down(numpy_type(dtype))
    size = numbers.abs().amax(dim, keepdim=True)
    factor = torch.where(size > SMALL_ENOUGH, step, torch.ones_like(size))
    return torch.where(size > SMALL_ENOUGH * step, two_steps, factor)
