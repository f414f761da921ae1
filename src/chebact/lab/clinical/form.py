"""The form of the records of the clinical experiment, and of its choices of features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from chebact.lab.clinical.spec import Labels, Shortcut
from chebact.lab.forms import COUNT, FLAG, NUMBER, TEXT, Maybe, between, one_of, sized

__all__ = ["FORMS", "why_not"]

TRIAL = {
    "data": TEXT,
    "digest": TEXT,
    "generated": FLAG,
    "recordings": COUNT,
    "subjects": COUNT,
    "positive?": COUNT,
    "features": COUNT,
    "choice": TEXT,
    "labels": one_of(*get_args(Labels)),
    "seeds": COUNT,
    "folds": COUNT,
}
RUN = {"seconds?": between(0, 1e12)}
FORMS = {
    "clinical": {
        "spec": {
            **TRIAL,
            "model": TEXT,
            "width?": Maybe(COUNT),
            "shortcut?": Maybe(one_of(*get_args(Shortcut))),
            "epochs?": Maybe(COUNT),
            "init?": TEXT,
        },
        "results": {
            "parameters": Maybe(COUNT),
            "seeds": [{"folds": [Maybe(sized(COUNT, 4))], "seed?": COUNT, "loss?": Maybe(NUMBER)}],
        },
        "run": RUN,
    },
    "clinical-choice": {
        "spec": TRIAL,
        "results": {"features?": [TEXT], "how?": TEXT, "folds?": [{"columns": [COUNT], "how": TEXT}]},
        "run": RUN,
    },
}
"""The form of each part of a record, by experiment."""


def why_not(parts: Mapping[str, Any]) -> str | None:
    """What does not go together in a record whose parts have their forms; None where all does."""
    spec, results = parts["spec"], parts["results"]
    if parts["experiment"] == "clinical-choice":
        known = ("features" in results) != ("folds" in results)
        return None if known else "results must have either features or folds"
    if len(results["seeds"]) != spec["seeds"] or any(len(seed["folds"]) != spec["folds"] for seed in results["seeds"]):
        return f"results must have {spec['seeds']} seeds of {spec['folds']} folds"
    if any(sum(fold) == 0 for seed in results["seeds"] for fold in seed["folds"] if fold is not None):
        return "results must have a recording in every fold"
    return None
