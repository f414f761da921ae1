"""Who looks at the input of a learned activation: a list outside of the modules, so that a copy of one is its own.

A module asks by identity when it is called. Nothing of it is replaced: copied, pickled or averaged while somebody
looks, it is an ordinary module.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

__all__ = ["Watcher", "notify", "unwatch", "watch", "watched"]

Watcher = Callable[[Tensor], None]

watched: dict[int, tuple[Watcher, ...]] = {}
"""The watchers by the identity of a module; who watches keeps the module alive meanwhile."""


def watch(module: nn.Module, watcher: Watcher) -> None:
    """Let `watcher` see the input of every call of a module from now on."""
    watched[id(module)] = (*watched.get(id(module), ()), watcher)


def unwatch(module: nn.Module, watcher: Watcher) -> None:
    """End that, in any order."""
    left = tuple(each for each in watched.get(id(module), ()) if each is not watcher)
    if left:
        watched[id(module)] = left
    else:
        watched.pop(id(module), None)


def notify(module: nn.Module, x: Tensor) -> None:
    """Show the input of a call to those who watch the module."""
    for watcher in watched.get(id(module), ()):
        watcher(x)
