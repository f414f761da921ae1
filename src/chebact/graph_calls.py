"""Functions that torch.compile does not trace into. Their decorators import the compiler, so import this lazily.

torch executes an import while it traces, so the functions are registered before they are called.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from chebact.compiled import basis_named, evaluate, in_plain_torch
from chebact.torch_modes import is_exporting, outside_graphs, transforms_active

__all__ = ["call_in_graph", "learn_channels"]


class Lazy(Protocol):
    """A module that infers its number of channels from the first input."""

    def learn_channels(self, x: Tensor) -> None:
        """Infer the number of channels from the first x."""


@outside_graphs("lazy channels: call chebact.materialize(model, example) before torch.compile")
def learn_channels(module: Lazy, x: Tensor) -> None:
    """Infer the channels of a lazy module outside the graph."""
    module.learn_channels(x)


@torch.compiler.allow_in_graph  # type: ignore[untyped-decorator]
def call_in_graph(
    x: Tensor,
    values: Tensor,
    kind: str,
    nodes: int,
    left: float,
    right: float,
    channel_dim: int,
    replicated: bool,
    by_formula: bool,
) -> Tensor:
    """What torch.compile and torch.export put into the graph: one operator, or the formula in plain torch.

    It is traced when the graph is lowered, with all modes active. The formula is used for exports, for torch.func
    transforms, for which the operator has no rules, and if `by_formula` requests it.
    """
    if by_formula or is_exporting() or transforms_active():
        basis = basis_named(values, kind, nodes, left, right)
        return in_plain_torch(x, values, basis, channel_dim, replicated)
    result: Tensor = evaluate(x, values, kind, nodes, left, right, channel_dim, replicated)
    return result
