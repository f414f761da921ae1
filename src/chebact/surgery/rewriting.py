"""A module whose forward is the code of a changed graph: same object, same names, same methods, and it pickles."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from torch import nn

from chebact.surgery.aliases import writes
from chebact.surgery.tracing import Traced

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
    free = ", ".join(str(node.target) for node in traced.graphs[False].nodes if node.op == "placeholder")
    for training, code in codes.items():
        text += code.src.replace("def forward(", f"def {'training' if training else 'evaluation'}_forward(", 1)
    same = codes[True].src == codes[False].src
    body = f"evaluation_forward(self, {free})"
    body = body if same else f"training_forward(self, {free}) if self.training else {body}"
    return text + _signature(traced) + f"    return {body}\n", modules, objects


def _signature(traced: Traced) -> str:
    """The first lines of forward: all arguments, and a word about those that the graph was made for."""
    inputs = [node for node in traced.graphs[False].nodes if node.op == "placeholder"]
    free = [f"{node.target}={node.args[0]!r}" if node.args else str(node.target) for node in inputs]
    free.sort(key=lambda text: "=" in text and not text.startswith("*"))
    lines = f"\ndef forward({', '.join(['self', *free, *(f'{k}={v!r}' for k, v in traced.fixed.items())])}):\n"
    for name, value in traced.fixed.items():
        differs = f"{name} is not {value!r}" if value is None or isinstance(value, bool) else f"{name} != {value!r}"
        lines += f"    if {differs}:\n        raise ValueError('{name} must be ' + repr({value!r}) + ', as it was when "
        lines += (
            f"the activations were replaced, got ' + repr({name}) + '; replace them with an example that has it')\n"
        )
    return lines


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
        "__reduce_ex__": lambda self, protocol: (_rebuild, (origin, *code), self.__dict__),
        "__module__": origin.__module__,
        "__qualname__": origin.__qualname__,
        "__doc__": origin.__doc__,
        "_rewritten_from": origin,
    }
    return type(origin.__name__, (origin,), members)


def _rebuild(origin: type[nn.Module], text: str, modules: dict[str, str], objects: dict[str, Any]) -> nn.Module:
    made = _make_class(origin, text, modules, objects)
    return made.__new__(made)
