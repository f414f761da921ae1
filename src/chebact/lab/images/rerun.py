"""The commands that make image records again, and what is unusual in a training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from chebact.lab.images.sets import IMAGE_DATASETS
from chebact.lab.page.rerun import options
from chebact.lab.store import Record
from chebact.table import ACTIVATIONS

__all__ = ["image_commands", "image_training"]

DEFAULTS: dict[str, Any] = {
    "epochs": 100,
    "seeds": 3,
    "batch_size": 128,
    "learning_rate": 0.1,
    "cosine": "epoch",
    "subset": None,
    "form": "paper",
    "where": list(range(6, 14)),
    "degree": 3,
    "precision": "float32",
    "channels_last": True,
}
BOTH = ["relu", "cl-extrapolate"]


def image_commands(records: Iterable[Record]) -> list[str]:
    """One command for the records that differ in the activation alone."""
    activations: dict[str, list[str]] = {}
    for record in records:
        spec = record.spec
        team = f"python -m torch.distributed.run --standalone --nproc-per-node {spec['processes']} -m "
        start = "chebact run images" if spec["processes"] == 1 else f"{team}chebact run images"
        words = options(spec, {**DEFAULTS, "shake": IMAGE_DATASETS[spec["dataset"]].shake})
        asked = " ".join([f"{start} --dataset {spec['dataset']}", *words])
        activations.setdefault(asked, []).append(spec["activation"])
    return [asked + activations_asked(own) for asked, own in activations.items()]


def image_training(spec: Mapping[str, Any]) -> tuple[str, str]:
    """What is unusual in how an image network was trained, and in the learned shapes: options, or empty texts.

    Sets, epochs, subsets and seeds are left out, which every table shows; so are shapes where nothing is learned.
    """
    shapes = {name: DEFAULTS[name] for name in ("degree", "where")}
    shown = (*shapes, "epochs", "seeds", "subset")
    usual = {name: value for name, value in DEFAULTS.items() if name not in shown}
    shake = {"shake": IMAGE_DATASETS[spec["dataset"]].shake}
    learned = [] if spec["activation"] == "relu" else options(spec, shapes)
    return ", ".join(options(spec, {**usual, **shake})), ", ".join(learned)


def activations_asked(names: Iterable[str]) -> str:
    own = sorted(set(names), key=lambda name: (list(ACTIVATIONS).index(name) if name in ACTIVATIONS else 99, name))
    return "" if own == BOTH else f" --activation {' '.join(own)}"
