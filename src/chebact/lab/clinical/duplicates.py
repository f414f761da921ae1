"""Recordings with the same numbers: one person under two names, one recording in two cohorts, or chance.

Numbers that were measured never agree in all features by chance; counts and answers of few values do. How often they do
is estimated from the recordings of different subjects in one cohort.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Shared", "describe_duplicates", "find_shared_rows"]

Floats = NDArray[np.float64]
EXCESS = 2.0  # twice the pairs that chance gives are more than chance


@dataclass(frozen=True)
class Shared:
    """How many different rows two cohorts have in common, and whether chance explains it."""

    count: int
    chance: bool


def find_shared_rows(one: Floats, owners: Sequence[str], other: Floats, others: Sequence[str]) -> Shared:
    """The rows that are in one (recording, feature) and in other, whose recordings are of the subjects `owners` and
    `others`.

    >>> a, b = np.array([[0.5, 1.0], [0.7, 2.0]]), np.array([[0.7, 2.0], [0.1, 3.0]])
    >>> find_shared_rows(a, ["ann", "bob"], b, ["cy", "dan"])
    Shared(count=1, chance=False)
    """
    mine, theirs = Counter(row.tobytes() for row in one), Counter(row.tobytes() for row in other)
    shared = mine.keys() & theirs.keys()
    if not shared or mine == theirs:
        return Shared(len(shared), chance=False)
    pairs = sum(mine[row] * theirs[row] for row in shared)
    rate = max(repeat_rate(one, owners), repeat_rate(other, others))
    return Shared(len(shared), chance=pairs <= EXCESS * rate * len(one) * len(other))


def repeat_rate(x: Floats, subjects: Sequence[str]) -> float:
    """The part of the pairs of recordings of different subjects that have the same numbers."""
    rows = [row.tobytes() for row in x]
    people, owned = Counter(subjects), Counter(zip(rows, subjects, strict=True))
    equal = sum(count**2 for count in Counter(rows).values()) - sum(count**2 for count in owned.values())
    pairs = len(rows) ** 2 - sum(count**2 for count in people.values())
    return equal / pairs if pairs else 0.0


def describe_duplicates(x: Floats, subjects: Sequence[str]) -> tuple[str, ...]:
    """In words, how many recordings of x (recording, feature) have the numbers of another subject's.

    >>> describe_duplicates(np.array([[0.5], [0.5], [0.7]]), ["ann", "bob", "cy"])[0][:61]
    "2 recordings with all numbers of another subject's ('ann' and"
    """
    rows = [row.tobytes() for row in x]
    owners: dict[bytes, dict[str, None]] = {}
    for row, subject in zip(rows, subjects, strict=True):
        owners.setdefault(row, {})[subject] = None
    equal = [row for row in rows if len(owners[row]) > 1]
    if not equal:
        return ()
    first, second, *_ = owners[equal[0]]
    return (
        f"{len(equal)} recordings with all numbers of another subject's ({first!r} and {second!r} to begin with): "
        "chance where features have few values, else perhaps one person under two names, who is then learned from and "
        "tested on",
    )
