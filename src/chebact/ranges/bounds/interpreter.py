"""Runs the graph of a network on forms instead of tensors, and refuses by name what it has no rule for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, fx, nn

from chebact.activations import PrototypeSimilarity
from chebact.learned import LearnedActivation
from chebact.networks.linear import ReplicaLinear
from chebact.ranges.bounds.elementwise import MONOTONE, bound_learned, bound_monotone
from chebact.ranges.bounds.form import Form, Symbols, from_interval, refuse
from chebact.ranges.bounds.functions import AS_MODULES, FUNCTIONS, check_not_read_again, name_of, of_sizes
from chebact.ranges.bounds.layers import LAYERS
from chebact.torch_modes import has_forward_hooks

__all__ = ["bound_network"]

Hear = Callable[[str, Form], None]
USUAL = {"alpha": 1.0, "beta": 1.0, "threshold": 20.0, "min_val": -1.0, "max_val": 1.0}


def bound_network(model: nn.Module, low: Tensor, high: Tensor, symbols: Symbols, hear: Hear, slopes: bool) -> Form:
    """The form of the output for every input with low <= x <= high, which have a batch axis of size one.

    `hear` gets the name and the input of every learned activation that is called.
    """
    if has_forward_hooks(model):  # torch.fx traces the forward of the model itself, without its hooks
        raise refuse("a model with a forward hook, which may change its numbers")
    graph = _trace(model if not isinstance(model, LearnedActivation) else nn.Sequential(model))
    form = from_interval(low, high, None, None, symbols)
    if slopes:
        shape = low.shape[symbols.axis + 1 :]
        identity = torch.eye(shape.numel(), dtype=low.dtype).reshape(shape.numel(), *shape)
        identity = identity.expand(*low.shape[: symbols.axis], *identity.shape).contiguous()
        form = replace(form, slope=identity, slope_error=torch.zeros_like(identity))
    _check_inputs(graph)
    result = _Interpreter(graph, symbols, hear).run(form)
    if not isinstance(result, Form):
        raise ValueError(f"model must return one tensor, got {type(result).__name__}; wrap it in a module that does")
    return result


def _check_inputs(graph: fx.GraphModule) -> None:
    needed = [node.name for node in graph.graph.nodes if node.op == "placeholder" and not node.args]
    if len(needed) != 1:
        raise ValueError(
            f"model must take one input, got {len(needed)} ({', '.join(needed)}); wrap it in a module that takes them "
            "joined and splits them by linear layers"
        )


class _Tracer(fx.Tracer):
    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        own = isinstance(m, LearnedActivation | ReplicaLinear | PrototypeSimilarity)
        return own or super().is_leaf_module(m, module_qualified_name)


def _trace(model: nn.Module) -> fx.GraphModule:
    try:
        return fx.GraphModule(model, _Tracer().trace(model))
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"model must be one that torch.fx can trace, got {type(model).__name__}, which raised "
            f"{type(error).__name__}: {reason}"
        ) from error


class _Interpreter(fx.Interpreter):
    """`fx.Interpreter` with forms as values."""

    def __init__(self, graph: fx.GraphModule, symbols: Symbols, hear: Hear) -> None:
        super().__init__(graph)
        self.symbols, self.hear = symbols, hear
        self.extra_traceback = False

    def run_node(self, n: fx.Node) -> Any:
        part = self.fetch_attr(str(n.target)) if n.op == "call_module" else None
        n.meta["module"] = type(part).__name__
        check_not_read_again(n, part)
        return super().run_node(n)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        part = self.fetch_attr(target)
        if len(args) != 1 or kwargs or not isinstance(args[0], Form):
            raise refuse(f"{target} ({type(part).__name__}) with other arguments than one tensor")
        return self.through(str(target), part, args[0])

    def through(self, name: str, part: nn.Module, form: Form) -> Form:
        """The form after a module."""
        if has_forward_hooks(part):
            raise refuse(f"{name} ({type(part).__name__}) with a forward hook, which may change its numbers")
        if isinstance(part, LearnedActivation):
            if not part.is_materialized:
                raise ValueError(f"model must not be lazy, got {name} without channels; call chebact.materialize")
            self.hear(name, form)
            return bound_learned(form, part, self.symbols)
        if type(part) in MONOTONE:
            usual = USUAL | ({"min_val": 0.0, "max_val": 6.0} if isinstance(part, nn.ReLU6) else {})
            if any(getattr(part, key, number) != number for key, number in usual.items()):
                raise refuse(f"{name} ({part}), an activation with options")
            return bound_monotone(form, *MONOTONE[type(part)], self.symbols)
        rule = LAYERS.get(type(part))
        if rule is None:
            raise refuse(f"{name} ({type(part).__name__})")
        return rule(part, form, self.symbols)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = name_of(target)
        options = {key: value for key, value in kwargs.items() if key != "inplace"}
        if not any(isinstance(each, Form | list | tuple) for each in args) or name == "getitem":
            return of_sizes(name, args)
        if name in AS_MODULES:
            return self.through(name, AS_MODULES[name](*args[1:], **options), args[0])
        if name not in FUNCTIONS:
            raise refuse(name)
        return FUNCTIONS[name](args, options, self.symbols)

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.call_function(str(target), args, kwargs)

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise refuse(f"the tensor {target} in a forward")
