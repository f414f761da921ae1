"""The commands that make synthetic records again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from chebact.lab.page.rerun import options, spaced
from chebact.lab.store import Record

__all__ = ["synthetic_commands"]

DEFAULTS: dict[str, Any] = {"seeds": 10, "epochs": 300}  # a test holds these to the command itself
NOISE = [0.01, 0.04]


def synthetic_commands(records: Iterable[Record]) -> list[str]:
    """One command per form of the recipes and number of seeds and epochs; it asks for all models and data sets."""
    levels: dict[tuple[str, ...], set[float]] = {}
    for record in records:
        asked = (f"chebact run synthetic --recipes {record.spec['recipes']}", *options(record.spec, DEFAULTS))
        levels.setdefault(asked, set()).add(record.spec["noise"])
    return [
        " ".join(asked) + ("" if sorted(noise) == NOISE else f" --noise {spaced(sorted(noise))}")
        for asked, noise in levels.items()
    ]
