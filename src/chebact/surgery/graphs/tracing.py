"""The graph of one module's own forward, its children as single calls, and the activations that it calls."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import Any

import numpy
import torch.utils.checkpoint
from torch import Tensor, fx, nn

from chebact.surgery.graphs.guards import CONSTANTS, is_constant
from chebact.surgery.graphs.side_effects import (
    TracingError,
    current_modes,
    refuse_reading_numbers,
    refuse_side_effects,
)
from chebact.surgery.kinds import METHODS
from chebact.surgery.layouts import PASSING, Layout, consumed_by, produced_by
from chebact.surgery.trials.subclasses import subclass_of

__all__ = ["Traced", "TracingError", "callee_of", "find_layout", "functions_in_code", "names_in_code", "trace"]

KEEPING = {
    "add",
    "iadd",
    "sub",
    "mul",
    "add_",
    "contiguous",
    "clone",
    "dropout",
    "dropout2d",
    "max_pool2d",
    "avg_pool2d",
}
"""Functions and methods that leave the channels of their first argument as they are."""


@dataclass
class Traced:
    """A module's graphs, in evaluation and in training mode, and the nodes of its activations, in order.

    `fixed` are the arguments, `attributes` the attributes of the module that were constants while each graph was made:
    it holds for these values. `tensors` are the arguments that were given as tensors.
    """

    module: nn.Module
    graphs: dict[bool, fx.Graph]
    nodes: dict[bool, list[fx.Node]]
    fixed: dict[str, Any]
    attributes: dict[bool, dict[str, Any]]
    tensors: frozenset[str] = frozenset()


def trace(
    module: nn.Module, is_activation: Callable[[Any], bool], args: tuple[Any, ...] = (), kwargs: Any = None
) -> Traced:
    """The graphs of a module; `args` and `kwargs` are those of a call that was seen."""
    if "forward" in vars(module):
        raise TracingError("its forward was set on the object, not in its class; replace the activations before that")
    given = _given_arguments(module, args, kwargs or {})
    fixed = _fixed_arguments(module, given)
    attributes: dict[bool, dict[str, Any]] = {False: {}, True: {}}
    graphs = {training: _graph(module, given, fixed, attributes[training], training) for training in (False, True)}
    nodes = {
        training: [node for node in graph.nodes if is_activation(callee_of(node, module))]
        for training, graph in graphs.items()
    }
    if [callee_of(node, module) for node in nodes[False]] != [callee_of(node, module) for node in nodes[True]]:
        raise TracingError("training and evaluation call different activations")
    tensors = frozenset(name for name, value in given.items() if isinstance(value, Tensor))
    return Traced(module, graphs, nodes, fixed, attributes, tensors)


def callee_of(node: fx.Node, module: nn.Module) -> Any:
    """What a node calls: a function, a child of the module, or nothing of interest."""
    if node.op == "call_module":
        return module.get_submodule(str(node.target))
    if node.op == "call_method" and node.target in METHODS:
        return getattr(Tensor, str(node.target))
    return node.target if node.op == "call_function" else None


class _InPlace:
    """`y += x` as one call that writes into y; torch.fx would write y + x, and other names of y would miss it."""

    def _write(self, function: Callable[..., Any], other: Any) -> Any:
        made: Any = self
        return made.tracer.create_proxy("call_function", function, (made, other), {})


def _dunder(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: self._write(function, other)


for _word in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"):
    setattr(_InPlace, f"__i{_word}__", _dunder(getattr(operator, f"__i{_word}__")))


class _Attribute(_InPlace, fx.proxy.Attribute):
    """An attribute of a value, such as x.T."""


class _Proxy(_InPlace, fx.Proxy):
    def __getattr__(self, name: str) -> Any:
        return _Attribute(self, name)


class _Tracer(fx.Tracer):
    """Children are single calls; so is torch's checkpoint, which would be lost if its insides were written down."""

    def __init__(self) -> None:
        modules: Any = (math, torch.utils.checkpoint)
        super().__init__(autowrap_modules=modules)
        self.modes = current_modes()

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return True

    def proxy(self, node: fx.Node) -> fx.Proxy:
        return _Proxy(node, self)

    def create_node(self, *args: Any, **kwargs: Any) -> fx.Node:
        if current_modes() != self.modes:
            raise TracingError("its forward sets torch.no_grad, inference_mode or autocast, which a graph would not do")
        return super().create_node(*args, **kwargs)

    def create_arg(self, a: Any) -> Any:
        if isinstance(a, numpy.generic):
            return a.item()
        return super().create_arg(a)


def _graph(
    module: nn.Module, given: dict[str, Any], fixed: dict[str, Any], attributes: dict[str, Any], training: bool
) -> fx.Graph:
    modes = [(part, part.training) for part in module.modules()]
    try:
        module.train(training)
        narrowed = _narrowed(module, given, fixed, attributes)
        with narrowed, refuse_side_effects(module), refuse_reading_numbers(), torch.enable_grad():
            graph = _Tracer().trace(module)
    except TracingError:
        raise
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise TracingError(f"its forward cannot be traced ({type(error).__name__}: {reason})") from error
    finally:
        for part, mode in modes:
            part.training = mode
    for node in graph.nodes:
        node.meta.pop("is_wrapped", None)  # or the code that is made of it changes torch.fx for good
    if any("_tensor_constant" in str(node.target) for node in graph.nodes):
        raise TracingError("its forward makes a tensor while it is traced")
    return graph


def _given_arguments(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call that was seen, by name; empty where none was."""
    try:
        signature = inspect.signature(module.forward)
        return signature.bind(*args, **kwargs).arguments if args or kwargs else {}
    except (TypeError, ValueError) as error:
        raise TracingError(f"the arguments of its forward cannot be read ({error})") from error


def _fixed_arguments(module: nn.Module, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of which a graph holds for one value: those with a default that the call left alone or set to a
    constant, and any that is None, a word, or true or false, which code asks and does not compute with.
    """
    fixed = {}
    for name, parameter in inspect.signature(module.forward).parameters.items():
        if parameter.default is not parameter.empty:
            if name not in given or isinstance(given[name], CONSTANTS):
                fixed[name] = given.get(name, parameter.default)
        elif name in given and (given[name] is None or isinstance(given[name], (bool, str))):
            fixed[name] = given[name]
    return fixed


@contextmanager
def _narrowed(
    module: nn.Module, given: dict[str, Any], fixed: dict[str, Any], attributes: dict[str, Any]
) -> Iterator[None]:
    """The module with a forward of the free arguments alone, while the block lasts; *rest and **rest stay empty.

    The constant attributes that it reads meanwhile are written into `attributes`.
    """
    own: Any = type(module)
    members: dict[str, Any] = {"__getattribute__": _noting(own, attributes)}
    parameters = inspect.signature(module.forward).parameters.values()
    starred = any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name not in given for p in parameters)
    if fixed or starred or any(p.kind is p.KEYWORD_ONLY for p in parameters):
        members["forward"] = _forward_of_free_arguments(own, parameters, fixed)
    module.__class__ = subclass_of(own, members)
    try:
        yield
    finally:
        module.__class__ = own


def _forward_of_free_arguments(own: Any, parameters: Collection[inspect.Parameter], fixed: dict[str, Any]) -> Any:
    names = [p.name for p in parameters if p.name not in fixed and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    given = [p.name if p.kind is p.POSITIONAL_ONLY else f"{p.name}={p.name}" for p in parameters if p.name in names]
    free, passed = ", ".join(["self", *names]), ", ".join(["self", *given])
    text = f"def make(own, fixed):\n    def forward({free}):\n        return own({passed}, **fixed)\n    return forward"
    place: dict[str, Any] = {}
    exec(text, own.forward.__globals__, place)  # its globals, where torch.fx looks for what it wraps
    return place["make"](own.forward, fixed)


def _noting(own: Any, attributes: dict[str, Any]) -> Any:
    """A way to read attributes that notes those of constant values, torch's own aside."""

    def read(self: Any, name: str) -> Any:
        value = own.__getattribute__(self, name)
        if not name.startswith("__") and name not in OF_TORCH and is_constant(value):
            attributes[name] = deepcopy(value)
        return value

    return read


OF_TORCH = frozenset(dir(nn.Module)) | frozenset(vars(nn.Module()))


def functions_in_code(module: nn.Module) -> set[str]:
    """The names in the code of a module's forward, of the methods and functions that it calls, of those that it
    inherits by super(), and of functions that are attributes; children's names aside.
    """
    own: Any = getattr(type(module), "_rewritten_from", type(module))
    todo, seen, names = [*_defined(own, "forward"), *_functions_held(module)], set[Any](), set[str]()
    while todo:
        function = inspect.unwrap(todo.pop())
        code = getattr(function, "__code__", None)
        if code is None or code in seen:
            names.add(getattr(function, "__name__", ""))
            continue
        seen.add(code)
        found = set(names_in_code(code))
        names |= found
        for name in found:
            todo += [each for each in _defined(own, name) if not hasattr(nn.Module, name)]
            helper = function.__globals__.get(name)
            if inspect.isfunction(helper) and not helper.__module__.startswith("torch"):
                todo.append(helper)
    return {name for name in names if own is not type(module) or not hasattr(module, name)}


def _defined(own: type, name: str) -> list[Any]:
    """The methods of that name of a class and of those that it inherits from, torch's own aside."""
    classes = [each for each in own.__mro__ if each not in (nn.Module, object)]
    return [vars(each)[name] for each in classes if inspect.isfunction(vars(each).get(name))]


def _functions_held(module: nn.Module) -> list[Any]:
    """The functions that are attributes of a module, those inside functools.partial too."""
    held = (value.func if isinstance(value, partial) else value for value in vars(module).values())
    return [each for each in held if inspect.isroutine(each)]


def names_in_code(code: CodeType) -> Iterator[str]:
    """The names that code and the functions in it read."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in_code(constant)


def find_layout(node: fx.Node, module: nn.Module, is_activation: Callable[[Any], bool]) -> Layout | str:
    """The channels of what an activation's node takes, by the layers around it in the graph."""
    source: Any = node.args[0] if node.args else node.kwargs.get("input")
    while isinstance(source, fx.Node):
        callee = callee_of(source, module)
        if source.op == "call_module" and isinstance(callee, nn.Module):
            found = produced_by(callee)
            if found is not None:
                return found._replace(evidence=f"after {found.evidence}")
        name = getattr(source.target, "__name__", source.target)
        passing = isinstance(callee, PASSING) or name in KEEPING or is_activation(callee)
        if not passing or not source.args:
            break
        source = source.args[0]
    for user in node.users:
        callee = callee_of(user, module)
        found = consumed_by(callee) if isinstance(callee, nn.Module) else None
        if found is not None:
            return found._replace(evidence=f"before {found.evidence}")
    return "no layer beside it tells its channels; pass example"
