"""A module whose forward is the code of a changed graph: same object, same names, same methods, and it pickles."""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import Any

from torch import nn

from chebact.surgery.graphs import guards
from chebact.surgery.graphs.aliases import writes
from chebact.surgery.graphs.tracing import Traced
from chebact.surgery.trials.subclasses import subclass_of

__all__ = ["call_instead", "forward_of", "rewrite_forward"]


def call_instead(traced: Traced, index: int, attribute: str) -> None:
    """Let the activation of that number be a call of the child of that name, in both graphs."""
    for training, graph in traced.graphs.items():
        node = traced.nodes[training][index]
        source: Any = node.args[0] if node.args else node.kwargs["input"]
        with graph.inserting_after(node):
            new = graph.call_module(attribute, (source,))
        if writes(node, traced.module):  # what reads the input later reads what was written into it
            later = list(graph.nodes)
            later = later[later.index(new) + 1 :]
            source.replace_all_uses_with(new, delete_user_cb=lambda user, later=later: user in later)
        node.replace_all_uses_with(new)
        graph.erase_node(node)


def rewrite_forward(traced: Traced) -> None:
    """Give the module a class of its own whose forward is the code of the graphs."""
    module = traced.module
    origin = getattr(type(module), "_rewritten_from", type(module))
    module.__class__ = _make_class(origin, *_source(traced))


def forward_of(traced: Traced) -> Any:
    """The forward that the graphs stand for, as a function of the module and its arguments."""
    return _make_forward(*_source(traced))


def _source(traced: Traced) -> tuple[str, dict[str, str], dict[str, Any]]:
    """The text of forward, the modules that it names, and the other objects that it names."""
    codes = {training: graph.python_code("self") for training, graph in traced.graphs.items()}
    names = {name: value for code in codes.values() for name, value in code.globals.items()}
    modules = {name: value.__name__ for name, value in names.items() if isinstance(value, ModuleType)}
    objects = {name: value for name, value in names.items() if name not in modules}
    text = ""
    free = [str(node.target) for node in traced.graphs[False].nodes if node.op == "placeholder"]
    for training, code in codes.items():
        text += code.src.replace("def forward(", f"def {'training' if training else 'evaluation'}_forward(", 1)
    same = codes[True].src == codes[False].src
    body = f"evaluation_forward(self, {', '.join(free)})"
    body = body if same else f"training_forward(self, {', '.join(free)}) if self.training else {body}"
    head, defaults = _signature(traced)
    lines, expected = _conditions(traced, free)
    text += f"{head}{lines}    return {body}\n"
    return text, modules | {"_guards": guards.__name__}, objects | defaults | expected


class _Text(str):
    """A default as it stands in code."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _signature(traced: Traced) -> tuple[str, dict[str, Any]]:
    """The first line of forward, with the arguments of the module's own in their order, and the defaults that it
    names.
    """
    shown, defaults = [], dict[str, Any]()
    for parameter in inspect.signature(traced.module.forward).parameters.values():
        default = parameter.default
        if default is not parameter.empty and not guards.is_plain(default):
            defaults[f"_default_{parameter.name}"] = default
            default = _Text(f"_default_{parameter.name}")
        shown.append(parameter.replace(default=default, annotation=parameter.empty))
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if shown and shown[0].kind is inspect.Parameter.POSITIONAL_ONLY:
        this = this.replace(kind=inspect.Parameter.POSITIONAL_ONLY)
    return f"\ndef forward{inspect.Signature([this, *shown])}:\n", defaults


def _conditions(traced: Traced, free: list[str]) -> tuple[str, dict[str, Any]]:
    """The lines that refuse values for which the graph does not hold, and the values that they name."""
    expected = {f"_expected_{name}": value for name, value in traced.fixed.items()}
    do = "replace them with an example that has this value"
    lines = "".join(f"    _guards.refuse_other({name!r}, {name}, _expected_{name}, {do!r})\n" for name in traced.fixed)
    for name, parameter in inspect.signature(traced.module.forward).parameters.items():
        starred = {parameter.VAR_POSITIONAL: f"*{name}", parameter.VAR_KEYWORD: f"**{name}"}.get(parameter.kind)  # type: ignore[call-overload]
        if starred and starred not in free:
            lines += f"    _guards.refuse_rest({name!r}, {name})\n"
        elif name in free and (name in traced.tensors or parameter.default is not parameter.empty):
            lines += f"    _guards.refuse_left_out({name!r}, {name})\n"
    do, owner = "set it before the activations are replaced", type(traced.module).__name__
    for training, attributes in traced.attributes.items():
        for number, (name, value) in enumerate(attributes.items()):
            key = f"_expected_{training}_{number}"
            expected[key] = value
            call = f"_guards.refuse_other({f'{name} of {owner}'!r}, getattr(self, {name!r}), {key}, {do!r})"
            lines += f"    if self.training is {training}:\n        {call}\n"
    return lines, expected


def _make_forward(text: str, modules: dict[str, str], objects: dict[str, Any]) -> Any:
    place: dict[str, Any] = {name: importlib.import_module(module) for name, module in modules.items()} | objects
    exec(compile(text, "<forward after surgery>", "exec"), place)
    return place["forward"]


def _make_class(
    origin: type[nn.Module], text: str, modules: dict[str, str], objects: dict[str, Any]
) -> type[nn.Module]:
    code = (text, modules, objects)
    members = {
        "forward": _make_forward(*code),
        "__reduce_ex__": lambda self, protocol: (_rebuild, (origin, *code), self.__getstate__()),
        "__module__": origin.__module__,
        "__qualname__": origin.__qualname__,
        "__doc__": origin.__doc__,
        "_rewritten_from": origin,
    }
    made: type[nn.Module] = subclass_of(origin, members)
    return made


def _rebuild(origin: type[nn.Module], text: str, modules: dict[str, str], objects: dict[str, Any]) -> nn.Module:
    made = _make_class(origin, text, modules, objects)
    return made.__new__(made)
