"""The widest type of a device, for small products and sums of parameters, which are rounded afterwards."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["matrix_on", "widened", "widest"]

WITHOUT_FLOAT64 = frozenset(("mps",))  # device types whose tensors cannot be float64


def widest(device: torch.device) -> torch.dtype:
    """float64, or float32 on a device that has no wider type."""
    return torch.float32 if device.type in WITHOUT_FLOAT64 else torch.float64


def widened(numbers: torch.Tensor) -> torch.Tensor:
    """The numbers in the widest type of their device."""
    return numbers.to(widest(numbers.device))


def matrix_on(rows: Any, device: torch.device) -> torch.Tensor:
    """A float64 NumPy matrix as a tensor on `device`, in its widest type."""
    return torch.tensor(rows, dtype=torch.float64, device="cpu").to(widest(device)).to(device)
