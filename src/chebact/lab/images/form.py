"""The form of the records of the image experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chebact.lab.forms import COUNT, FLAG, NUMBER, TEXT, Maybe, between, one_of
from chebact.lab.images.sets import IMAGE_DATASETS

__all__ = ["FORMS", "why_not"]

UNIT = {
    "convolution": COUNT,
    "unit": COUNT,
    "low": NUMBER,
    "high": NUMBER,
    "counts": [COUNT],
    "shape": [NUMBER],
    "values": Maybe([NUMBER]),
}
CURVES = ("train_loss", "test_loss", "test_accuracy")
FORMS = {
    "images": {
        "spec": {
            "dataset": one_of(*IMAGE_DATASETS),
            "activation": TEXT,
            "epochs": COUNT,
            "seeds": COUNT,
            "subset": Maybe(COUNT),
            "processes": COUNT,
            "batch_size?": COUNT,
            "learning_rate?": NUMBER,
            "momentum?": NUMBER,
            "weight_decay?": NUMBER,
            "cosine?": TEXT,
            "degree?": COUNT,
            "where?": [COUNT],
            "shake?": Maybe(FLAG),
            "form?": TEXT,
            "precision?": TEXT,
            "channels_last?": FLAG,
            "init?": TEXT,
        },
        "results": {
            "parameters": COUNT,
            "images?": {"train": COUNT, "test": COUNT},
            "seeds": [
                {
                    "seed": COUNT,
                    "accuracy": Maybe(between(0, 1)),
                    "loss?": Maybe(NUMBER),
                    "nan": FLAG,
                    "curves": {name: [Maybe(NUMBER)] for name in CURVES},
                }
            ],
            "captures": {"before": [UNIT], "after": [UNIT]},
        },
        "run": {"seconds": [[between(0, 1e12)]]},
    }
}
"""The form of each part of a record, by experiment."""


def why_not(parts: Mapping[str, Any]) -> str | None:
    """What does not go together in a record whose parts have their forms; None where all does."""
    spec, results, captures = parts["spec"], parts["results"], parts["results"]["captures"]
    if len(results["seeds"]) != spec["seeds"] or not results["seeds"]:
        return f"results.seeds must have {spec['seeds']} entries, got {len(results['seeds'])}"
    if any((seed["accuracy"] is None) != seed["nan"] for seed in results["seeds"]):
        return "results.seeds must have an accuracy unless it is nan"
    for seed in results["seeds"]:
        if len({len(curve) for curve in seed["curves"].values() if isinstance(curve, list)}) != 1:
            return "results.seeds must have curves of one length"
    if not any(parts["run"]["seconds"]):
        return "run.seconds must have the time of one epoch at least"
    for unit in (*captures["before"], *captures["after"]):
        values, width = unit["values"], spec.get("degree", 3) + 1
        fits = values is None or len(values) == width
        if not (fits and unit["counts"] and len(unit["shape"]) > 1 and unit["low"] < unit["high"]):
            return "results.captures must have counts, a shape and one value per node, from low to high"
    return None
