"""The commands that make synthetic records again."""

from __future__ import annotations

from collections.abc import Iterable

from chebact.lab.options import as_typed, options
from chebact.lab.store import Record
from chebact.lab.synthetic.spec import Settings, SyntheticRequest

__all__ = ["synthetic_commands"]


def synthetic_commands(records: Iterable[Record]) -> list[str]:
    """One command per recipe and number of seeds and epochs; it asks for all models and data sets."""
    usual, levels = SyntheticRequest(), dict[tuple[str, ...], set[float]]()
    for record in records:
        plain = {name: value for name, value in record.spec.items() if name != "recipes"}
        asked = (f"chebact run synthetic --recipe {record.spec['recipes']}", *options(plain, usual, Settings))
        levels.setdefault(asked, set()).add(record.spec["noise"])
    return [
        " ".join(asked) + ("" if sorted(noise) == list(usual.noise) else f" --noise {as_typed(sorted(noise))}")
        for asked, noise in levels.items()
    ]
