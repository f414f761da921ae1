"""The form of the records of the synthetic experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chebact.checks import TAILS
from chebact.lab.forms import COUNT, FLAG, NUMBER, TEXT, Maybe, between, one_of, sized
from chebact.lab.synthetic.recipes import DATASETS, RECIPE_FORMS
from chebact.networks.residual_mlp import ARCHITECTURES

__all__ = ["FORMS", "why_not"]

HISTOGRAM = {"low": NUMBER, "high": NUMBER, "counts": [COUNT], "outside": between(0, 1)}
LAYER = {"layer": TEXT, "start": [[NUMBER]], "values": [[NUMBER]], "inputs": [HISTOGRAM]}
FORMS = {
    "synthetic": {
        "spec": {
            "model": one_of(*ARCHITECTURES),
            "dataset": one_of(*DATASETS),
            "noise": between(0, 1e100),
            "recipes": one_of(*RECIPE_FORMS),
            "seeds": between(1, 10_000),
            "epochs?": COUNT,
            "init?": TEXT,
        },
        "results": {
            "seeds": [{"seed": COUNT, "rmse": Maybe(NUMBER), "nan": FLAG, "loss?": Maybe(NUMBER)}],
            "curve": {"epoch": [COUNT], "loss": [Maybe(NUMBER)]},
            "slice": [Maybe(NUMBER)],
            "trainer?": one_of("fused", "torch"),
            "activations?": Maybe(
                {
                    "degree": between(1, 1000),
                    "tails": one_of(*TAILS),
                    "regression_nodes": COUNT,
                    "interval": sized(NUMBER, 2),
                    "layers": [LAYER],
                }
            ),
        },
        "run": {"seconds?": between(0, 1e12)},
    }
}
"""The form of each part of a record, by experiment."""


def why_not(parts: Mapping[str, Any]) -> str | None:
    """What does not go together in a record whose parts have their forms; None where all does."""
    spec, results = parts["spec"], parts["results"]
    curve, kept = results["curve"], results.get("activations")
    if type(spec["seeds"]) is not int or len(results["seeds"]) != spec["seeds"]:
        return f"results.seeds must have {spec['seeds']} entries, got {len(results['seeds'])}"
    if any((seed["rmse"] is None) != seed["nan"] for seed in results["seeds"]):
        return "results.seeds must have a rmse unless it is nan"
    if len(curve["epoch"]) != len(curve["loss"]) or len(results["slice"]) < 2:
        return "results.curve and results.slice must have numbers for every place"
    return why_not_activations(kept) if kept is not None else None


def why_not_activations(kept: Mapping[str, Any]) -> str | None:
    width, (left, right) = kept["degree"] + 1, kept["interval"]
    if type(kept["degree"]) is not int or not 2 <= kept["regression_nodes"] <= width or not 1e-30 < right - left < 1e30:
        return "results.activations are not those of a polynomial on an interval"
    for layer in kept["layers"]:
        rows = [*layer["start"], *layer["values"]]
        if not layer["values"] or any(len(row) != width for row in rows):
            return f"results.activations must have {width} values per channel"
        if not len(layer["start"]) == len(layer["values"]) == len(layer["inputs"]):
            return "results.activations must have a start, values and inputs per channel"
        if any(not each["counts"] or each["low"] > each["high"] for each in layer["inputs"]):
            return "results.activations must have inputs from low to high"
    return None
