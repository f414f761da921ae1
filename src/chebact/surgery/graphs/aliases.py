"""What an activation that writes into its input writes into: a tensor that others may read, or one of its own."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from torch import fx, nn

from chebact.surgery.graphs.tracing import callee_of
from chebact.surgery.layouts import PASSING, produced_by

__all__ = ["SHARED", "may_be_shared", "writes"]

SHARED = "it writes into its input, which others may read; pass example"
MAKING = {"add", "sub", "mul", "truediv", "cat", "stack", "matmul", "bmm", "conv1d", "conv2d", "linear", "batch_norm"}
"""Functions that return a new tensor."""
WRITING = (operator.iadd, operator.isub, operator.imul, operator.itruediv)


def writes(node: fx.Node, module: nn.Module) -> bool:
    """Whether a node writes its result into its input."""
    if node.op == "call_module":
        return bool(getattr(module.get_submodule(str(node.target)), "inplace", False))
    name = str(getattr(node.target, "__name__", node.target))
    return name.endswith("_") or node.target in WRITING or bool(node.kwargs.get("inplace", False))


def may_be_shared(node: fx.Node, module: nn.Module, is_activation: Callable[[Any], bool]) -> bool:
    """Whether something that is read after `node` may hold the same numbers as its input, without being its input.

    Without a run only a graph can tell: the input must come from a layer or a sum of this graph, and nothing else may
    be another name of it. What reads the input itself later is no trouble, since it reads the result instead.
    """
    order = {each: place for place, each in enumerate(node.graph.nodes)}
    names, source = [], node.args[0] if node.args else node.kwargs.get("input")
    while isinstance(source, fx.Node):
        names.append(source)
        if not _passes_on(source, module, is_activation):
            break
        source = source.args[0] if source.args else None
    if not names or not _makes(names[-1], module, is_activation):
        return True
    for name in names:
        for user in name.users:
            if user is node or user in names:
                continue
            later = order[user] > order[node]
            if later and name is not names[0]:
                return True
            if not later and not _makes(user, module, is_activation):
                return True
    return False


def _passes_on(node: fx.Node, module: nn.Module, is_activation: Callable[[Any], bool]) -> bool:
    """Whether a node may return its first argument itself."""
    callee = callee_of(node, module)
    if isinstance(callee, PASSING) or getattr(node.target, "__name__", "").startswith("dropout"):
        return True
    return writes(node, module) and (is_activation(callee) or node.target in WRITING)


def _makes(node: fx.Node, module: nn.Module, is_activation: Callable[[Any], bool]) -> bool:
    """Whether a node returns a tensor of its own."""
    callee = callee_of(node, module)
    if isinstance(callee, nn.Module):
        return produced_by(callee) is not None or (is_activation(callee) and not writes(node, module))
    name = str(getattr(node.target, "__name__", node.target))
    return node.op.startswith("call") and (name in MAKING or (is_activation(callee) and not writes(node, module)))
