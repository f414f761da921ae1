"""Hears the inputs of one learned activation for a range penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from chebact.checks import Interval
from chebact.learned import LearnedActivation
from chebact.ranges.excess import excess_penalty
from chebact.ranges.penalized import record_penalized
from chebact.ranges.scan import Scan, scan_for
from chebact.torch_modes import in_backward

if TYPE_CHECKING:
    from chebact.ranges.penalty import RangePenalty

__all__ = ["Call", "Listener"]


@dataclass(slots=True)
class Call:
    """A call of an activation: its input until `value` is called, and its penalty, also as a number where known."""

    listener: Listener
    x: Tensor | None
    version: int
    penalty: Tensor | None = None
    known: float | None = None


class Listener:
    """The watcher of one activation, which appends its calls to those of a penalty."""

    def __init__(self, penalty: RangePenalty, name: str, part: LearnedActivation) -> None:
        self.penalty, self.name, self.part = penalty, name, part
        self._scans: dict[Any, Scan] = {}

    def __call__(self, x: Tensor) -> None:
        """Take the input of a call."""
        if in_backward():  # a checkpoint computes again what has been heard
            return
        enabled = torch.is_grad_enabled()
        if x.requires_grad and enabled:
            self.penalty.calls.append(Call(self, x, x._version))
            return
        self.penalty.without_gradients |= not enabled
        with torch.no_grad():  # at once: a layer may write into x
            self.penalty.calls.append(Call(self, None, 0, excess_penalty(x, *self.definition(x))))

    def record(self, x: Tensor, recorded: tuple[Any, ...]) -> Tensor | None:
        """As a call, with the other arguments of `autograd.record`: its result with the penalty, or None."""
        scan = self._scan_of(x, recorded[-1]) if x.requires_grad and not in_backward() else None
        if scan is None:
            self(x)
            return None
        numbers, version = scan.measure(x), x._version
        known = numbers[0]
        result, penalty = record_penalized(x, recorded, recorded[0], scan, numbers, self.definition)
        self.penalty.calls.append(Call(self, x, version, penalty, known))
        return result  # type: ignore[no-any-return]

    def _scan_of(self, x: Tensor, plan: Any) -> Scan | None:
        """The scan of x; a plan of the CPU kernel stands for all that it depends on if there is a row per channel."""
        if (scan := self._scans.get(plan)) is not None:
            return scan
        scan = scan_for(self.part, x, self.penalty.margin)
        if scan is not None and plan is not None and self.part.groups != 1 and self.part.channels not in (None, 1):
            self._scans[plan] = scan
        return scan

    def definition(self, x: Tensor) -> tuple[Interval, float, int | None, bool]:
        """The arguments of `excess_penalty` for an input of the activation."""
        part = self.part
        return part.basis.interval, self.penalty.margin, part.channel_axis(x), part.replicas is not None
