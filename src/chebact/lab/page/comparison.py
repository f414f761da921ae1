"""How far a number of ours is from the published one, for every experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chebact.lab.page.sheet import Tone

__all__ = ["DEVIATIONS", "tone_of", "unlike"]

DEVIATIONS = 2.0  # of the paper: up to here a number counts as reproduced


def tone_of(ours: float, published: float, deviation: float, *, higher_is_better: bool = False) -> tuple[str, Tone]:
    """How far a number is from the published one, in its deviations: as a signed text and as a colour.

    >>> tone_of(0.025, 0.02, 0.002), tone_of(93.0, 92.0, 0.5, higher_is_better=True)
    (('+2.5', 'worse'), ('+2.0', 'better'))
    """
    away = (ours - published) / deviation
    worse = -away if higher_is_better else away
    tone: Tone = "better" if worse < -1 else "near" if worse <= DEVIATIONS else "worse" if worse <= 4 else "far"
    return f"{round(away, 1) + 0.0:+.1f}".replace("-", "−"), tone


def unlike(spec: Mapping[str, Any], paper: Mapping[str, Any]) -> str:
    """Where a run differs from the paper's settings, in words; empty where it does not, or the spec is silent.

    >>> unlike({"epochs": 10, "batch_size": 32}, {"epochs": 300, "batch_size": 32})
    'epochs: 10 instead of 300'
    """
    names = [name for name, value in paper.items() if spec.get(name, value) != value]
    return ", ".join(f"{name.replace('_', ' ')}: {spec[name]} instead of {paper[name]}" for name in names)
