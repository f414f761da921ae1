"""Watchers of the inputs of learned activations, stored outside the modules.

A module looks them up by its identity when it is called. The module does not change, so it can be copied, pickled or
averaged during recording.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

__all__ = ["Watcher", "notify", "unwatch", "watch", "watched"]

Watcher = Callable[[Tensor], None]

watched: dict[int, tuple[Watcher, ...]] = {}
"""Watchers by the id of a module; a watcher keeps its module alive."""


def watch(module: nn.Module, watcher: Watcher) -> None:
    """Call `watcher` with the input of every call of a module from now on."""
    watched[id(module)] = (*watched.get(id(module), ()), watcher)


def unwatch(module: nn.Module, watcher: Watcher) -> None:
    """Remove a watcher; the order does not matter."""
    others = tuple(each for each in watched.get(id(module), ()) if each is not watcher)
    if others:
        watched[id(module)] = others
    else:
        watched.pop(id(module), None)


def notify(module: nn.Module, x: Tensor, recorded: tuple[Any, ...] | None = None) -> Tensor | None:
    """Pass the input of a call to the watchers of the module.

    `recorded` are the other arguments of `autograd.record`, for calls that are recorded. A sole watcher with a method
    `record` is then called with all of them, and may return the result of the activation.
    """
    watchers = watched.get(id(module), ())
    if recorded is not None and len(watchers) == 1 and (record := getattr(watchers[0], "record", None)) is not None:
        result: Tensor | None = record(x, recorded)
        return result
    for watcher in watchers:
        watcher(x)
    return None
