"""A penalty on inputs of learned activations that are outside their intervals less a margin."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Any

import torch
from torch import Tensor, nn

from chebact.checks import check_not_negative, check_number, must_be
from chebact.learned import learned_activations
from chebact.ranges.excess import excess_penalty
from chebact.ranges.listener import Call, Listener
from chebact.ranges.penalized import total_penalty
from chebact.recording import watching
from chebact.torch_modes import is_compiled

__all__ = ["DEFAULT_MARGIN", "DEFAULT_WEIGHT", "RangePenalty", "check_margin", "range_penalty"]

DEFAULT_MARGIN, DEFAULT_WEIGHT = 0.2, 10.0


def range_penalty(
    model: nn.Module, margin: float = DEFAULT_MARGIN, *, weight: float = DEFAULT_WEIGHT, allow_unreached: bool = False
) -> RangePenalty:
    """A penalty that keeps the inputs of all learned activations of a model inside their intervals.

    Use it around the forward pass: `with penalty: loss = criterion(model(x), y)`, then
    `(loss + penalty.value()).backward()`. Once nothing is outside, `chebact.to_polynomial` removes the tails and the
    function stays the same.

    Args:
        model: the model that runs inside the block, not compiled; the penalty does not change it.
        margin: inputs are to stay below 1 - margin of the half width of the interval, measured from its middle.
        weight: the factor of the penalty.
        allow_unreached: whether `value` accepts a pass that does not reach every learned activation.

    >>> from chebact import ChebyshevLagrange
    >>> model = nn.Sequential(ChebyshevLagrange(2))
    >>> penalty = range_penalty(model)
    >>> with penalty:
    ...     output = model(torch.tensor([[0.5, -0.8], [1.8, 0.0]]))  # one element is 1.0 beyond 0.8
    >>> penalty.value()  # 10 times the mean of the squares, 1/4, and of the worst of both channels, 1/2
    tensor(7.5000)
    """
    return RangePenalty(model, margin, weight=weight, allow_unreached=allow_unreached)


class RangePenalty:
    """Hears the inputs of the learned activations of a model inside its `with` block; made by `range_penalty`.

    The penalty of a call is the mean of the squared excess of its elements, plus the mean over the channels of the
    largest squared excess; the excess is max(|u| - (1 - margin), 0), where u is the position in the interval, from -1
    to 1. `value` is the sum over all calls; with replicas also over the replicas, each of which has its own mean. A
    block that is entered again starts from zero.

    >>> from chebact import ChebyshevLagrange
    >>> model = nn.Sequential(nn.Flatten(), ChebyshevLagrange(1))
    >>> with RangePenalty(model, 0.5, weight=1.0) as penalty:
    ...     _ = model(torch.tensor([[1.0]]))  # 0.5 beyond the margin: 0.25 in the mean and 0.25 as the largest
    >>> float(penalty.value())
    0.5
    """

    def __init__(
        self, model: nn.Module, margin: float, *, weight: float = DEFAULT_WEIGHT, allow_unreached: bool = False
    ) -> None:
        self._margin, self.weight = check_margin(margin), check_not_negative("weight", weight)
        self.activations = learned_activations(model)
        if not isinstance(allow_unreached, bool):
            raise TypeError(must_be("allow_unreached", "True or False", allow_unreached))
        self.allow_unreached = allow_unreached
        self._parts, self._depth, self._stack = list(model.modules()), 0, ExitStack()
        self.calls: list[Call] = []
        self.without_gradients = False
        self._listeners: dict[nn.Module, Any] = {
            part: Listener(self, name, part) for name, part in self.activations.items()
        }

    @property
    def margin(self) -> float:
        """The share of the half width at the ends of the interval that inputs are to leave free."""
        return self._margin

    def __enter__(self) -> RangePenalty:
        if torch.compiler.is_compiling() or any(map(is_compiled, self._parts)):
            raise RuntimeError(
                "the model of range_penalty must run in eager mode, got a compiled one, whose inputs cannot be heard; "
                "train without torch.compile and compile the result"
            )
        self._depth += 1
        if self._depth == 1:
            self.calls, self.without_gradients = [], False
            self._stack.enter_context(watching(self._listeners))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._stack.close()

    def value(self, *, weights: Tensor | None = None) -> Tensor:
        """The weight times the penalty of all calls so far, (); differentiable.

        `weights` (batch,) or (replica, batch) are the shares of the rows in the mean, which add up to one per replica;
        by default all rows have the same.
        """
        self._check_heard()
        for call in self.calls:
            if call.x is not None:
                self._settle(call, call.x, weights)
        penalties = [call.penalty for call in self.calls if call.penalty is not None]
        known = [call.known for call in self.calls if call.known is not None]
        if len(known) == len(penalties):
            dtype = max((each.dtype for each in penalties), key=lambda kind: kind.itemsize)
            return total_penalty(self.weight, sum(known), dtype, *penalties)  # type: ignore[no-any-return]
        total = penalties[0] if len(penalties) == 1 else torch.stack(penalties).sum()
        return total if self.weight == 1.0 else self.weight * total

    def _settle(self, call: Call, x: Tensor, weights: Tensor | None) -> None:
        """Compute the penalty of a call, if that is not done, and forget its input."""
        if x._version != call.version:
            raise RuntimeError(
                f"the input of {call.listener.name} must stay as it is until value(), got one that was changed "
                "in place; do without inplace=True after it"
            )
        if call.penalty is None or weights is not None:
            call.penalty, call.known = excess_penalty(x, *call.listener.definition(x), weights), None
        call.x = None

    def _check_heard(self) -> None:
        reached = {call.listener.name for call in self.calls}
        missing = [name for name in self.activations if name not in reached]
        how = (
            "run the model itself inside `with penalty:`, not a copy of it, and neither compiled nor inside a "
            "transform of torch.func"
        )
        if not reached:
            raise RuntimeError(f"the penalty must have heard a call of the model, got none; {how}")
        if missing and not self.allow_unreached:
            raise RuntimeError(
                f"the penalty must have heard every learned activation, got no call of {', '.join(missing)}; {how}, or "
                "set allow_unreached=True if the model has parts that it does not always use"
            )
        if self.without_gradients and torch.is_grad_enabled():
            raise RuntimeError(
                "the calls of the model must be made with gradients enabled, got calls without; leave "
                "torch.no_grad() or call value() inside it too, and use checkpoint(..., use_reentrant=False)"
            )

    def __repr__(self) -> str:
        return f"RangePenalty({len(self.activations)} activations, margin={self.margin}, weight={self.weight})"


def check_margin(margin: Any, name: str = "margin") -> float:
    """`margin` as a share of the half width: zero or more, and below one."""
    number = check_number(name, margin)
    if not 0.0 <= number < 1.0:
        raise ValueError(must_be(name, "at least 0 and below 1", number))
    return number
