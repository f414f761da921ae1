"""What torch.compile does not look into. Its decorators load the compiler, so this is imported where it is at work.

torch runs an import for real while it traces: so the functions here are known to it before they are met.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from chebact.compiled import basis_named, evaluate, in_plain_torch
from chebact.torch_modes import is_exporting, outside_graphs, transforms_active

__all__ = ["call_in_graph", "learn_channels"]


class Lazy(Protocol):
    """A module that takes its width from its first input."""

    def learn_channels(self, x: Tensor) -> None:
        """Take the number of channels from the first x."""


@outside_graphs("the width comes with the first call: call chebact.materialize(model, example) before torch.compile")
def learn_channels(module: Lazy, x: Tensor) -> None:
    """Let a lazy module see its first input outside of the graph."""
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
    """What torch.compile and torch.export put into their graph: one operator, or the formula where none will do.

    They look into this when the graph is lowered, not before: so it may ask torch what is under way. The formula serves
    exports, and transforms of torch.func, for which an operator has no rules; and who asks for it by `by_formula`.
    """
    if by_formula or is_exporting() or transforms_active():
        basis = basis_named(values, kind, nodes, left, right)
        return in_plain_torch(x, values, basis, channel_dim, replicated)
    result: Tensor = evaluate(x, values, kind, nodes, left, right, channel_dim, replicated)
    return result
