"""The options of a command that makes a record again: what is not the default is named, the rest left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["options", "spaced"]


def options(spec: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    """The options of a spec that differ from the defaults.

    >>> options({"epochs": 5, "seeds": 3, "channels_last": False}, {"epochs": 100, "seeds": 3, "channels_last": True})
    ['--epochs 5', '--no-channels-last']
    """
    words = []
    for name, value in defaults.items():
        if name in spec and spec[name] != value:
            word = name.replace("_", "-")
            if isinstance(spec[name], bool):
                words.append(f"--{'' if spec[name] else 'no-'}{word}")
            else:
                words.append(f"--{word} {spaced(spec[name])}")
    return words


def spaced(value: Any) -> str:
    """A value as it is typed: several words with blanks between."""
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
