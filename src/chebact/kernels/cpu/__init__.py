"""The CPU kernel: machine code that was compiled when chebact was installed, on torch's own threads.

Up to degree 5 it is bound by memory, up to 16 (float32) by products, and above by one division a node and element.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import torch

from chebact import native
from chebact.basis import Basis
from chebact.kernels.cpu.call import BACKWARD, FORWARD, SERIAL_BELOW, Pass, cut_into_tasks
from chebact.kernels.layout import Sizes

__all__ = ["SERIAL_BELOW", "Plan", "cut_into_tasks", "evaluate", "gradients", "name", "plan", "why_not"]

name = "cpu"


def why_not(device: torch.device) -> str | None:
    """Why this kernel cannot serve tensors on `device`, or None where it can."""
    if device.type != "cpu":
        return f"it serves CPU tensors, and this one is on {device.type}"
    return native.why_not()


def evaluate(x: torch.Tensor, values: torch.Tensor, basis: Basis, sizes: Sizes, out: torch.Tensor) -> None:
    """The activation of x into `out`, which may be x itself."""
    plan(basis, sizes, x.dtype).evaluate(x, values, out)


def gradients(
    x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, basis: Basis, sizes: Sizes, out: torch.Tensor
) -> torch.Tensor:
    """The gradient of x into `out`, and that of the values, in one pass over x and grad."""
    return plan(basis, sizes, x.dtype).gradients(x, grad, values, out)


class Plan:
    """All of a call that does not change from call to call: the cut into tasks, constants and matrices."""

    def __init__(self, basis: Basis, sizes: Sizes, dtype: torch.dtype) -> None:
        self._options = basis, sizes, dtype

    def evaluate(self, x: torch.Tensor, values: torch.Tensor, out: torch.Tensor) -> None:
        """The activation of x into `out`."""
        self._forward.run(x, None, values, out, None)

    def gradients(self, x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """The gradient of x into `out`; returns that of the values."""
        result = torch.empty_like(values)
        self._backward.run(x, grad, values, out, result)
        return result

    @cached_property
    def _forward(self) -> Pass:
        return Pass(FORWARD, *self._options)

    @cached_property
    def _backward(self) -> Pass:
        return Pass(BACKWARD, *self._options)


plan = lru_cache(maxsize=4096)(Plan)
