"""The interface of a kernel module."""

from __future__ import annotations

from typing import Protocol

import torch

from chebact.basis import Basis
from chebact.kernels.layout import Sizes

__all__ = ["Kernel", "Plan"]


class Kernel(Protocol):
    """What a kernel module provides.

    x, grad and out have the same memory layout, a contiguous (replica, outer, channel, inner) of these `sizes`; values
    are contiguous rows of degree + 1 numbers, one row per replica and channel.
    """

    name: str

    def why_not(self, device: torch.device) -> str | None:
        """The reason why it cannot run for tensors on this device, or None."""

    def evaluate(self, x: torch.Tensor, values: torch.Tensor, basis: Basis, sizes: Sizes, out: torch.Tensor) -> None:
        """Write the activation of x into `out`."""

    def gradients(
        self,
        x: torch.Tensor,
        grad: torch.Tensor,
        values: torch.Tensor,
        basis: Basis,
        sizes: Sizes,
        out: torch.Tensor,
    ) -> torch.Tensor:
        """Write the gradient of x into `out`; returns the gradient of the values."""

    def plan(self, basis: Basis, sizes: Sizes, dtype: torch.dtype) -> Plan | None:
        """The same call with all decisions made, cached for later tensors of the same layout; None if there is none."""


class Plan(Protocol):
    """A kernel call with all decisions made, for tensors that the kernel can read without a copy."""

    def evaluate(self, x: torch.Tensor, values: torch.Tensor, out: torch.Tensor) -> None:
        """Write the activation of x into `out`."""

    def gradients(self, x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """Write the gradient of x into `out`; returns the gradient of the values."""
