"""Learned activations for the playground, and those that a record keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from chebact.lab import LabError
from chebact.lab.captures import Histogram, tails_of
from chebact.lab.store import read_record

__all__ = ["Shapes", "shapes_in_record"]

TURNED_NAN = "{} keeps no learned activations because that training turned NaN: choose another record"


@dataclass(frozen=True)
class Shapes:
    """The activations of one layer: `rows` are (replica x channel, degree + 1). None: the file does not say it."""

    name: str
    rows: Sequence[Sequence[float]]
    replicas: int = 1
    tails: str | None = None
    regression_nodes: int | None = None
    interval: tuple[float, float] | None = None
    inputs: Sequence[Histogram] | None = None

    def as_json(self) -> dict[str, Any]:
        """What the page reads."""
        return {
            "name": self.name,
            "degree": len(self.rows[0]) - 1,
            "replicas": self.replicas,
            "channels": len(self.rows) // self.replicas,
            "tails": self.tails,
            "regressionNodes": self.regression_nodes,
            "interval": self.interval,
            "rows": self.rows,
            "inputs": None if self.inputs is None else [asdict(inputs) for inputs in self.inputs],
        }


def shapes_in_record(path: Path) -> list[Shapes]:
    """The activations that a record keeps: each layer after training, then before."""
    record = read_record(path)
    readers = {"synthetic": shapes_in_layers, "images": shapes_in_captures}
    shapes = readers[record.experiment](path, record.typed) if record.experiment in readers else []
    if not shapes:
        raise LabError(
            f"{path} keeps no learned activations: records of networks that learn them do, made by `chebact run`"
        )
    return shapes


def shapes_in_layers(path: Path, record: Any) -> list[Shapes]:
    """The layers that a synthetic record keeps."""
    kept = record.results.activations
    if kept is None and record.results.seeds[0].nan:
        raise LabError(TURNED_NAN.format(path))
    if kept is None:
        return []
    options = {"tails": kept.tails, "regression_nodes": kept.regression_nodes, "interval": kept.interval}
    after = [Shapes(layer.layer, layer.values, inputs=layer.inputs, **options) for layer in kept.layers]
    before = [Shapes(f"{layer.layer}, before training", layer.start, **options) for layer in kept.layers]
    return [*after, *before]


def shapes_in_captures(path: Path, record: Any) -> list[Shapes]:
    """The units that an image record keeps, convolution by convolution."""
    captures, tails = record.results.captures, tails_of(record.spec.activation)
    if tails is not None and not captures.after:
        raise LabError(TURNED_NAN.format(path))
    shapes = []
    for units, suffix in ((captures.after, ""), (captures.before, ", before training")):
        learned = [unit for unit in units if unit.values is not None] if tails is not None else []
        for number in dict.fromkeys(unit.convolution for unit in learned):
            group = [unit for unit in learned if unit.convolution == number]
            values, inputs = [unit.values for unit in group], [unit.inputs for unit in group]
            shapes.append(Shapes(f"convolution {number}{suffix}", values, 1, tails, 2, (-1.0, 1.0), inputs))
    return shapes
