"""The form of the records of the comparison on tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chebact.lab.forms import COUNT, NUMBER, TEXT, between, one_of, sized
from chebact.lab.tables.spec import LEVELS, SECONDS

__all__ = ["FORMS", "why_not"]

FOLD = {
    "score": between(0, 1e9),
    "seconds": between(0, 1e9),
    "log_loss?": NUMBER,
    "coverage?": sized(between(0, 1), len(LEVELS)),
}
FORMS = {
    "tables": {
        "spec": {"data": TEXT, "model": one_of(*SECONDS), "folds": COUNT, "repeats": COUNT},
        "results": {
            "rows": COUNT,
            "columns": COUNT,
            "task": one_of("regression", "classification"),
            "seeds": [{"folds": [FOLD]}],
        },
        "run": {"seconds?": between(0, 1e12)},
    }
}
"""The form of each part of a record, by experiment."""


def why_not(parts: Mapping[str, Any]) -> str | None:
    """What does not go together in a record whose parts have their forms; None where all does."""
    spec, seeds = parts["spec"], parts["results"]["seeds"]
    if not spec["folds"] or len(seeds) != spec["repeats"] or any(len(each["folds"]) != spec["folds"] for each in seeds):
        return f"results must have {spec['repeats']} repeats of {spec['folds']} folds"
    return None
