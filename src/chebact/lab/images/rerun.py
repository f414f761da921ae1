"""The commands that make image records again, and what is unusual in a training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from chebact.lab.images.spec import ImageSettings, ImageSpec, Subjects
from chebact.lab.options import options
from chebact.lab.store import Record
from chebact.table import ACTIVATIONS

__all__ = ["image_commands", "image_training", "usual"]


def image_commands(records: Iterable[Record]) -> list[str]:
    """One command for the records that differ in the activation alone."""
    models: dict[str, set[str]] = {}
    for record in records:
        spec = record.spec
        team = f"python -m torch.distributed.run --standalone --nproc-per-node {spec['processes']} -m "
        start = "chebact run images" if spec["processes"] == 1 else f"{team}chebact run images"
        words = options(spec, usual(spec["dataset"]), ImageSettings)
        models.setdefault(" ".join([f"{start} --datasets {spec['dataset']}", *words]), set()).add(spec["activation"])
    return [asked + models_option(own) for asked, own in models.items()]


def models_option(names: set[str]) -> str:
    """The option that names these models; nothing where they are the usual ones."""
    if names == set(Subjects().models):
        return ""
    known = list(ACTIVATIONS)
    own = sorted(names, key=lambda name: (known.index(name) if name in known else len(known), name))
    return f" --models {' '.join(own)}"


def usual(dataset: str) -> ImageSpec:
    """What the paper does on an image set."""
    return ImageSpec(dataset, "relu")


def image_training(plain: Mapping[str, Any]) -> tuple[str, str]:
    """What is unusual in how an image network was trained, and in the learned shapes: options, or empty texts.

    Sets, epochs, subsets and seeds are left out, which every table shows; so are shapes where nothing is learned.
    """
    shapes, shown = ("degree", "where", "init"), ("epochs", "seeds", "subset")
    training = {name: value for name, value in plain.items() if name not in (*shapes, *shown)}
    learned = {name: plain[name] for name in shapes if name in plain and plain["activation"] != "relu"}
    both = (options(each, usual(plain["dataset"]), ImageSettings) for each in (training, learned))
    training_words, shape_words = map(", ".join, both)
    return training_words, shape_words
