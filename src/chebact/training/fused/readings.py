"""The numbers that the fused trainer reads from a loss and from torch's optimizers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch.optim import SGD, Adam, AdamW, Optimizer

from chebact.torch_modes import optimizer_has_hooks
from chebact.training.fused.packing import Slot
from chebact.training.losses import Loss, absolute_error, cross_entropy, huber_error, scaled_huber_error, squared_error

__all__ = ["LossReading", "Stepper", "read_loss", "steps_elementwise", "why_not_optimizer"]

DISTANCES: dict[Any, tuple[int, str, float]] = {
    absolute_error: (0, "", 1.0),
    squared_error: (1, "", 1.0),
    huber_error: (2, "delta", 1.0),
    scaled_huber_error: (3, "multiple", 2.5),
}
"""The kind of a loss in ops/loss.py, and its one option with the default."""


@dataclass(frozen=True)
class LossReading:
    """The operation of a loss and its compile-time options."""

    name: str
    maker: str
    choices: tuple[int | float, ...]

    def targets(self, outputs: int) -> int:
        """The number of columns of the target."""
        return 1 if self.name == "cross_entropy" else outputs


def read_loss(loss: Loss) -> LossReading | None:
    """The operation of a loss, or None if the fused trainer does not support it.

    >>> read_loss(partial(huber_error, delta=0.5)).choices
    (2, 0.5)
    """
    if loss is cross_entropy:
        return LossReading("cross_entropy", "class_programs", ())
    function, chosen = (loss.func, loss.keywords) if isinstance(loss, partial) and not loss.args else (loss, {})
    kind, option, usual = DISTANCES.get(function, (None, "", 1.0))
    if kind is None or not set(chosen) <= {option}:
        return None
    return LossReading("distance", "programs", (kind, float(chosen.get(option, usual))))


def why_not_optimizer(optimizer: Optimizer) -> str | None:
    """The reason why the fused trainer cannot use this optimizer, or None."""
    if type(optimizer) not in (SGD, Adam, AdamW):
        return f"it supports SGD, Adam and AdamW, not {type(optimizer).__name__}"
    if optimizer.state:
        return "the optimizer has been used before"
    for group in optimizer.param_groups:
        for name in ("maximize", "amsgrad", "differentiable", "capturable", "dampening"):
            if group.get(name):
                return f"it does not support {name}={group[name]}"
        if not isinstance(group["lr"], float | int):
            return "the step size must be a number, not a tensor"
        if not group.get("eps", 1.0) > 0:
            return f"eps must be positive, got {group['eps']}"
    return None


def steps_elementwise(optimizer: Optimizer) -> bool:
    """Whether this is an optimizer of torch that is known to be elementwise."""
    return type(optimizer) in (SGD, Adam, AdamW) and not optimizer_has_hooks(optimizer)


class Stepper:
    """The numbers of a torch optimizer for the compiled code."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.name = "sgd" if type(optimizer) is SGD else "adam"
        self.memories = 1 if self.name == "sgd" else 2

    def rates(self) -> list[float]:
        """The numbers of the next step, 8 per group (see ops/optimizer.py)."""
        return [number for group in self.optimizer.param_groups for number in (self.row(group) + [0.0] * 8)[:8]]

    def row(self, group: dict[str, Any]) -> list[float]:
        """The numbers of one group."""
        if self.name == "sgd":
            return [group["lr"], group["weight_decay"], group["momentum"], float(group["nesterov"])]
        decoupled = float(type(self.optimizer) is AdamW or group.get("decoupled_weight_decay", False))
        return [group["lr"], group["weight_decay"], *group["betas"], group["eps"], decoupled]

    def runs(self, slots: list[Slot]) -> Iterator[tuple[int, int, int]]:
        """Start, stop and group of adjacent parameters in one group of the optimizer."""
        groups = {id(each): n for n, group in enumerate(self.optimizer.param_groups) for each in group["params"]}
        run: tuple[int, int, int] | None = None
        for slot in sorted(slots, key=lambda slot: slot.offset):
            number = groups.get(id(slot.parameter)) if slot.parameter.requires_grad else None
            stop = slot.offset + slot.rows * slot.columns
            if run is not None and run[2] != number:
                yield run
                run = None
            if number is not None:
                run = (slot.offset if run is None else run[0], stop, number)
        if run is not None:
            yield run
