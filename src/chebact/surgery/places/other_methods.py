"""Methods beside forward that still compute the old function when they are called by themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from torch import nn

from chebact.surgery.graphs.tracing import names_in_code
from chebact.surgery.places.finder import Site

__all__ = ["old_functions_in_methods"]


def old_functions_in_methods(sites: Iterable[Site]) -> tuple[str, ...]:
    """One sentence per module whose rewritten forward takes over what its other methods do by themselves."""
    words: dict[int, set[str]] = {}
    modules: dict[int, tuple[str, nn.Module]] = {}
    for site in sites:
        if site.traced is not None:
            path = site.name.removesuffix(site.attribute).rstrip(".")
            modules[id(site.parent)] = (path or type(site.parent).__name__, site.parent)
            words.setdefault(id(site.parent), set()).update(_names_of_call(site))
    notes = []
    for key, (path, module) in modules.items():
        if methods := [name for name, code in _methods(module) if words[key] & set(names_in_code(code))]:
            several = "compute" if len(methods) > 1 else "computes"
            notes.append(f"{', '.join(methods)} of {path} {several} the old function when called other than by forward")
    return tuple(notes)


def _names_of_call(site: Site) -> set[str]:
    """How code names what a site calls: a function, a method of a tensor, or a child that is called several times."""
    assert site.traced is not None
    target: Any = site.traced.nodes[False][site.index].target
    return {str(getattr(target, "__name__", target)).partition(".")[0]}


def _methods(module: nn.Module) -> Iterable[tuple[str, Any]]:
    """The methods of a module that torch does not define, forward aside, with their code."""
    for name, method in inspect.getmembers(type(module), inspect.isfunction):
        if name != "forward" and not hasattr(nn.Module, name):
            yield name, inspect.unwrap(method).__code__
