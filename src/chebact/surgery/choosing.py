"""Which of the activations found are replaced: by name, by place in the order, or by a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, Protocol, TypeVar

from chebact.checks import must_be
from chebact.surgery.report import Left

__all__ = ["Where", "choose"]

Where = str | Sequence[str] | slice | Callable[[Any], bool] | None


class Named(Protocol):
    """Something with a name."""

    @property
    def name(self) -> str:
        """Its name."""


T = TypeVar("T", bound=Named)


def choose(found: Sequence[T], where: Where, left: Sequence[Left] = ()) -> list[T]:
    """Those that `where` names: patterns such as "layer3.*", a slice of all in order, or a function of a row."""
    if where is None:
        return list(found)
    if isinstance(where, slice):
        chosen = list(found[where])
    elif callable(where):
        chosen = [each for each in found if _asks(where, each)]
    elif isinstance(where, (str, list, tuple, set, frozenset)):
        chosen = _by_patterns(found, [where] if isinstance(where, str) else list(where), left)
    else:
        raise TypeError(must_be("where", "a name, names, a slice or a function", where))
    if not chosen:
        raise ValueError(f"where must choose an activation, got {where!r}, which chooses none of {_names(found)}")
    return chosen


def _asks(where: Callable[[Any], bool], row: Any) -> bool:
    try:
        return bool(where(row))
    except (AttributeError, TypeError) as error:
        raise TypeError(
            "where must be a function of a row, which has a name, a kind and channels, got one that raised "
            f"{type(error).__name__}: {error}; write for example where=lambda row: row.name.startswith('layer4')"
        ) from error


def _by_patterns(found: Sequence[T], patterns: list[Any], left: Sequence[Left]) -> list[T]:
    names = [each.name for each in found]
    for pattern in patterns:
        if not isinstance(pattern, str):
            raise TypeError(must_be("where", "a name, names, a slice or a function", pattern))
        if not any(fnmatchcase(name, pattern) for name in names):
            close = get_close_matches(pattern, names, n=1)
            meant = f"did you mean {close[0]!r}?" if close else f"the names are {_names(found)}"
            why = next((each.reason for each in left if fnmatchcase(each.name, pattern)), None)
            meant = meant if why is None else f"that cannot be replaced: {why}"
            raise ValueError(f"where must name activations of the model, got {pattern!r}; {meant}")
    return [each for each in found if any(fnmatchcase(each.name, pattern) for pattern in patterns)]


def _names(found: Sequence[Named], most: int = 12) -> str:
    names = [each.name for each in found]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
