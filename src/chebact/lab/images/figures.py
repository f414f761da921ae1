"""The figures of the image experiments: accuracy over the epochs, and single units with their inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chebact.lab.captures import inputs_of, tails_of
from chebact.lab.images.sets import IMAGE_DATASETS
from chebact.lab.page.document import Key, Panel
from chebact.lab.page.learned import Shape
from chebact.lab.page.theme import LIGHT, as_panel, canvas
from chebact.lab.store import Record
from chebact.table import ACTIVATIONS

__all__ = ["ACCURACY_KEYS", "TITLES", "accuracy_panel", "before_after_shapes", "title_of", "unit_shapes"]

SIZE = (346, 236)
TITLES = {name: row.title for name, row in IMAGE_DATASETS.items()}
NAMES = {"test_accuracy": "test accuracy, %", "train_loss": "training loss"}
ACCURACY_KEYS = (Key("line", "other", "ReLU"), Key("line", "learned", "CL-extrapolate"), Key("line", "third", "others"))
COLOURS = {"relu": "other", "cl-extrapolate": "learned"}


def title_of(activation: str) -> str:
    """The name of an activation as the paper writes it."""
    return ACTIVATIONS[activation].label if activation in ACTIVATIONS else activation


def accuracy_panel(records: Sequence[Record], what: str, name: str) -> Panel:
    """One curve of every seed of these records, over the epochs."""
    from matplotlib.ticker import MaxNLocator

    scale = 100 if "accuracy" in what else 1
    last = []
    with canvas(*SIZE, margins=(46, 12, 32, 26)) as axes:
        for record in records:
            colour = LIGHT[COLOURS.get(record.spec["activation"], "third")]
            for seed in record.results["seeds"]:
                pairs = [(i + 1, scale * y) for i, y in enumerate(seed["curves"][what]) if y is not None]
                if pairs:
                    axes.plot(
                        *zip(*pairs, strict=True), color=colour, lw=1.4, marker="o" if len(pairs) < 8 else "", ms=3
                    )
                    last.append(f"{title_of(record.spec['activation'])} seed {seed['seed']} {pairs[-1][1]:.4g}")
        axes.set_title(NAMES[what])
        axes.set_xlabel("epoch")
        axes.set_xlim(0, 1.03 * max(record.spec["epochs"] for record in records))
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.grid(axis="y")
    alt = f"{NAMES[what]} over the epochs; at the end " + ", ".join(last)
    return as_panel(axes, name, alt)


def unit_shapes(record: Record, when: str = "after") -> list[Shape]:
    """The captured units of a record, convolution by convolution."""
    return [shape_of(entry, record.spec) for entry in record.results["captures"][when]]


def before_after_shapes(record: Record) -> list[Shape]:
    """Two units before the last captured convolution, before training and after; empty where nothing is learned."""
    found = []
    for when in ("before", "after"):
        entries = record.results["captures"][when]
        last = max((entry["convolution"] for entry in entries), default=0)
        own = [entry for entry in entries if entry["convolution"] == last and entry["values"] is not None]
        found += [shape_of(entry, record.spec, f"{when}: unit {entry['unit'] + 1}") for entry in own[:2]]
    return found


def shape_of(entry: Mapping[str, Any], spec: Mapping[str, Any], title: str | None = None) -> Shape:
    """A captured unit: its values where the activation is learned by heights at nodes, its drawn curve otherwise."""
    tails = tails_of(spec["activation"])
    learned = entry["values"] is not None and tails is not None
    return Shape(
        title or f"conv {entry['convolution']}, unit {entry['unit'] + 1}",
        entry["values"] if learned else None,
        degree=spec["degree"],
        tails=tails or "none",
        inputs=inputs_of(entry),
        curve=None if learned else entry["shape"],
    )
