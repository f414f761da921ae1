"""The activations of a model: those that a run called or its code names, and what is left and why."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from chebact.surgery.checking import is_hidden
from chebact.surgery.kinds import FUNCTIONS, KINDS, kind_of
from chebact.surgery.observing import Call, Observation, value_of
from chebact.surgery.reading import beside, read_calls
from chebact.surgery.report import Left
from chebact.surgery.sites import Site, find_sites, reads_again
from chebact.surgery.sources import calls_in, definition_of, nested_codes

__all__ = ["Found", "find_activations", "kinds_asked", "scripted", "unreached", "untold"]


NAMES = {kind.name for kind in KINDS}
WORDS = {str(getattr(function, "__name__", "")) for function in FUNCTIONS}


def kinds_asked(model: nn.Module) -> dict[type, str]:
    """The kinds that methods of a model ask for with isinstance or type, and where."""
    found = dict[type, str]()
    for _, _, function in _methods(model):
        found |= _asked(function)
    return found


def unreached(model: nn.Module, wanted: Callable[[Any], bool], seen: Collection[tuple[str, Any]]) -> Iterator[Left]:
    """The calls of functions in methods of a model that a run did not reach: of those that it did reach, `seen` are the
    files and the ends.
    """
    for path, part, function in _methods(model):
        if wanted(part):
            continue
        code = function.__code__
        names = set(code.co_names).union(*(each.co_names for each in nested_codes(code)))
        definition = definition_of(code) if names & WORDS else None
        for node in calls_in(definition) if definition is not None else ():
            value = value_of(node.func, {code.co_varnames[0]: part} if code.co_varnames else {}, function.__globals__)
            if value is None and isinstance(node.func, ast.Attribute):
                value = getattr(Tensor, node.func.attr, None)
            place = code.co_filename, (node.end_lineno, node.end_col_offset)
            if not isinstance(value, nn.Module) and wanted(value) and place not in seen:
                kind = FUNCTIONS[value].name
                name = f"{path}.{kind.lower()}()" if path else f"{kind.lower()}()"
                where = f"{Path(code.co_filename).name}:{node.lineno}"
                yield Left(
                    name, kind, f"the example does not reach {ast.unparse(node)} in {where}; it stays what it is"
                )


def untold(model: nn.Module, functions: Collection[Any], calls: Collection[Call]) -> Iterator[Left]:
    """What names a function of activations and is none of the calls that were read: as a value, by getattr, or where
    there is no source.
    """
    words = {str(getattr(function, "__name__", "")): FUNCTIONS[function].name for function in functions}
    read = {id(part) for call in calls if call.places for part in ast.walk(call.places[-1].node.func)}  # type: ignore[union-attr]
    for path, part, function in _methods(model):
        code = function.__code__
        definition, place = definition_of(code), Path(code.co_filename).name
        name = f"{path}.{function.__name__}" if path else function.__name__
        found = [word for word in code.co_names if word in words and not hasattr(part, word)]
        held = [word for word in code.co_names if word in words and hasattr(part, word)]
        if definition is None and found:
            line = f"{place}:{code.co_firstlineno}"
            yield Left(name, words[found[0]], f"the function at {line} has no source, or another than what runs")
        for value in function.__defaults__ or ():
            if isinstance(value, Hashable) and value in functions:
                yield Left(
                    name, FUNCTIONS[value].name, f"it is a default in {place}:{code.co_firstlineno}; pass example"
                )
        for node in (
            ast.walk(definition) if definition is not None and {*found, *held, "getattr"} & {*code.co_names} else ()
        ):
            word = getattr(node, "attr", getattr(node, "id", ""))
            named = word in found or (word in held and value_of(node, {}, function.__globals__) in functions)
            if isinstance(node, (ast.Name, ast.Attribute)) and named and id(node) not in read:
                yield Left(name, words[word], f"{ast.unparse(node)} in {place}:{node.lineno} is no call; pass example")
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr" and len(node.args) > 1:
                owner = value_of(node.args[0], {}, function.__globals__)
                if owner is torch or owner is functional:
                    text = f"{ast.unparse(node)} in {place}:{node.lineno}"
                    yield Left(name, "a function", f"{text} is not told by its code; pass example")


def scripted(model: nn.Module, functions: Collection[Any]) -> Iterator[Left]:
    """The scripts that methods of a model call by a global name, and that compute an activation."""
    for path, _, function in _methods(model):
        code = function.__code__
        for name in dict.fromkeys((*code.co_names, *(each for inner in nested_codes(code) for each in inner.co_names))):
            value = function.__globals__.get(name)
            if isinstance(value, torch.jit.ScriptFunction):
                text = str(value.inlined_graph)
                called = [each for each in functions if f"aten::{getattr(each, '__name__', '')}(" in text]
                if called:
                    yield Left(f"{path}.{name}()" if path else f"{name}()", FUNCTIONS[called[0]].name, HIDDEN)


def _methods(model: nn.Module) -> Iterator[tuple[str, nn.Module, FunctionType]]:
    """The methods of the modules of a model, each once; those of torch's own classes and `__init__` aside."""
    done = set[Any]()
    for path, part in model.named_modules():
        for holder in type(part).__mro__:
            if holder not in done and not holder.__module__.startswith("torch."):
                done.add(holder)
                for name, value in vars(holder).items():
                    inner = getattr(value, "fget", None) or getattr(value, "__func__", value)
                    function = inspect.unwrap(inner) if isinstance(inner, FunctionType) else None
                    if isinstance(function, FunctionType) and name != "__init__":
                        yield path, part, function


def _asked(function: FunctionType) -> dict[type, str]:
    code = function.__code__
    if not NAMES & set(code.co_names):
        return {}
    definition, found = definition_of(code), dict[type, str]()
    for node in ast.walk(definition) if definition is not None else ():
        for each in _kinds_in(node):
            value: Any = value_of(each, {}, function.__globals__)
            if isinstance(value, type) and any(issubclass(value, kind.module) for kind in KINDS):
                found[value] = f"{ast.unparse(node)} in {Path(code.co_filename).name}:{getattr(node, 'lineno', 0)}"
    return found


def _kinds_in(node: ast.AST) -> Iterator[ast.AST]:
    """The expressions for classes in a question."""
    asked: list[Any] = []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
        asked = node.args[1:]
    elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Call):
        asked = node.comparators if getattr(node.left.func, "id", "") == "type" else []
    elif isinstance(node, ast.MatchClass):
        asked = [node.cls]
    for each in asked:
        yield from each.elts if isinstance(each, ast.Tuple) else (each,)


HIDDEN = "it is compiled, or a script, whose calls cannot be changed; replace its activations before that"
SHARED = "it writes into its input, which others may read; pass example"


@dataclass
class Found:
    """The sites, in the order of their calls, and what is left."""

    sites: list[Site]
    left: list[Left]


def find_activations(
    model: nn.Module,
    kinds: tuple[type[nn.Module], ...],
    functions: Collection[Any],
    wanted: Callable[[Any], bool],
    seen: Observation | None,
) -> Found:
    """The activations of a model, by a run of it or by its code."""
    parts = dict(model.named_modules(remove_duplicate=False))

    def known(name: str) -> Any:
        above, _, last = name.rpartition(".")
        return beside(parts[above], last)

    hidden = tuple(name for name, part in parts.items() if is_hidden(part))
    calls = read_calls(model, wanted) if seen is None else seen.calls
    calls = [call for call in calls if not _is_below(call.attribute or call.owner or call.caller, hidden)]
    sites, left = find_sites(model, calls, kinds, known)
    left += [Left(name, type(parts[name]).__name__, HIDDEN) for name in hidden if not _is_below(name, hidden, 1)]
    names = {site.name for site in sites} | {each.name for each in left}
    held = {id(site.callee): site for site in reversed(sites) if isinstance(site.callee, nn.Module)}
    for name, part in parts.items():
        if wanted(part) and name and name not in names and not _is_below(name, hidden):
            if id(part) in held:
                held[id(part)].twins.append(name)
            else:
                reason = (
                    "the example does not reach it"
                    if seen is not None
                    else "its forward does not call it; pass example"
                )
                left.append(Left(name, kind_of(part, kinds) or "", reason))
    if seen is not None:
        left += unreached(
            model, wanted, {(place.code.co_filename, place.end) for call in calls for place in call.places}
        )
    else:
        left += untold(model, functions, calls)
    left += scripted(model, functions)
    asked = kinds_asked(model)
    kept = list[Site]()
    for site in sites:
        question = next((text for kind, text in asked.items() if isinstance(site.callee, kind)), None)
        if question is not None:
            left.append(Left(site.name, site.kind, f"the model asks {question}, which no learned activation is"))
        elif seen is None and site.in_place and (reason := _shared(site)):
            left.append(Left(site.name, site.kind, reason))
        else:
            kept.append(site)
    return Found(kept, left)


def _is_below(name: str, hidden: tuple[str, ...], least: int = 0) -> bool:
    """Whether a module is one of those that hide what they call, or inside of one."""
    return any((name == each and not least) or name.startswith(f"{each}.") for each in hidden)


def _shared(site: Site) -> str:
    """Without a run: calls in place write, unless nobody reads that; in torch's Sequential the first may matter."""
    if site.seen[0].places:
        site.writes = reads_again(site.seen[0])
        return ""
    return "" if site.layout.evidence.startswith("after") else SHARED
