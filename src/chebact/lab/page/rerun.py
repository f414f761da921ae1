"""The commands that make records again: what was not the usual choice is said, the rest left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from chebact.lab.clinical.table import PRESETS
from chebact.lab.images.sets import IMAGE_DATASETS
from chebact.lab.store import Record
from chebact.table import ACTIVATIONS

__all__ = ["clinical_commands", "image_commands", "image_training", "synthetic_commands"]

# What the commands take where nothing is said; a test holds these to the commands themselves.
SYNTHETIC: dict[str, Any] = {"seeds": 10, "epochs": 300}
CLINICAL: dict[str, Any] = {"seeds": 30, "folds": 10, "labels": "true", "epochs": 300, "shortcut": "average"}
IMAGES: dict[str, Any] = {
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
NOISE = [0.01, 0.04]


def options(spec: Mapping[str, Any], usual: Mapping[str, Any]) -> list[str]:
    """The options that a spec takes beside the usual ones.

    >>> options({"epochs": 5, "seeds": 3, "channels_last": False}, IMAGES)
    ['--epochs 5', '--no-channels-last']
    """
    words = []
    for name, value in usual.items():
        if name in spec and spec[name] != value:
            word = name.replace("_", "-")
            if isinstance(spec[name], bool):
                words.append(f"--{'' if spec[name] else 'no-'}{word}")
            else:
                words.append(f"--{word} {spaced(spec[name])}")
    return words


def spaced(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def synthetic_commands(records: Iterable[Record]) -> list[str]:
    """One command a form of the recipes and number of seeds and epochs; it asks for all models and data sets."""
    levels: dict[tuple[str, ...], set[float]] = {}
    for record in records:
        asked = (f"chebact run synthetic --recipes {record.spec['recipes']}", *options(record.spec, SYNTHETIC))
        levels.setdefault(asked, set()).add(record.spec["noise"])
    return [
        " ".join(asked) + ("" if sorted(noise) == NOISE else f" --noise {spaced(sorted(noise))}")
        for asked, noise in levels.items()
    ]


def image_commands(records: Iterable[Record]) -> list[str]:
    """One command for the records that differ in the activation alone."""
    activations: dict[str, list[str]] = {}
    for record in records:
        spec = record.spec
        team = f"python -m torch.distributed.run --standalone --nproc-per-node {spec['processes']} -m "
        start = "chebact run images" if spec["processes"] == 1 else f"{team}chebact run images"
        words = options(spec, {**IMAGES, "shake": IMAGE_DATASETS[spec["dataset"]].shake})
        asked = " ".join([f"{start} --dataset {spec['dataset']}", *words])
        activations.setdefault(asked, []).append(spec["activation"])
    return [asked + activations_asked(own) for asked, own in activations.items()]


def image_training(spec: Mapping[str, Any]) -> tuple[str, str]:
    """What is unusual in how an image network was trained, and in the learned shapes: options, or empty texts.

    Sets, epochs, subsets and seeds are left out, which every table shows; so are shapes where nothing is learned.
    """
    shapes = {name: IMAGES[name] for name in ("degree", "where")}
    shown = (*shapes, "epochs", "seeds", "subset")
    usual = {name: value for name, value in IMAGES.items() if name not in shown}
    shake = {"shake": IMAGE_DATASETS[spec["dataset"]].shake}
    learned = [] if spec["activation"] == "relu" else options(spec, shapes)
    return ", ".join(options(spec, {**usual, **shake})), ", ".join(learned)


def activations_asked(names: Iterable[str]) -> str:
    own = sorted(set(names), key=lambda name: (list(ACTIVATIONS).index(name) if name in ACTIVATIONS else 99, name))
    return "" if own == BOTH else f" --activation {' '.join(own)}"


def clinical_commands(specs: Iterable[Mapping[str, Any]]) -> list[str]:
    """One command a table; which file it was and how its columns were named is not in the records."""
    specs = list(specs)
    shown = [spec for spec in specs if "epochs" in spec] or specs  # one without a network says less
    lines = (" ".join(["chebact run clinical", *data_options(spec), *options(spec, CLINICAL)]) for spec in shown)
    return list(dict.fromkeys(lines))


def data_options(spec: Mapping[str, Any]) -> list[str]:
    """The options about the table and the choice of its features."""
    words = []
    if not spec["generated"]:
        known = spec["data"] in PRESETS
        words.append(f"--data FILE.csv --preset {spec['data']}" if known else f"--data {spec['data']}.csv ...")
    if spec["choice"].startswith("boruta in folds"):
        words.append("--select folds")
    elif spec["choice"].startswith("boruta on ") and not spec["generated"]:
        words.append("--select OTHER.csv")
    elif spec["choice"] == "all" and spec["generated"]:
        words.append("--features all")
    return words
