"""Learned activations for the playground, and those that a record keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from chebact.lab import LabError
from chebact.lab.captures import inputs_of, tails_of
from chebact.lab.store import Record, read_record

__all__ = ["Shapes", "shapes_in_record"]

TURNED_NAN = "{} keeps no learned activations because that training turned NaN: choose another record"


@dataclass(frozen=True)
class Shapes:
    """The activations of one layer: `rows` are (replica x channel, degree + 1). None is what a file does not tell."""

    name: str
    rows: Sequence[Sequence[float]]
    replicas: int = 1
    tails: str | None = None
    regression_nodes: int | None = None
    interval: tuple[float, float] | None = None
    inputs: Sequence[Mapping[str, Any]] | None = None

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
            "inputs": self.inputs,
        }


def shapes_in_record(path: Path) -> list[Shapes]:
    """The activations that a record keeps: each layer as it was after training, then as it was before."""
    record = read_record(path)
    if record.experiment == "images" and tails_of(record.spec["activation"]) is not None:
        return shapes_in_captures(path, record)
    if record.experiment != "synthetic" or "activations" not in record.results:
        raise LabError(
            f"{path} keeps no learned activations: records of networks that learn them do, made by `chebact run`"
        )
    kept = record.results["activations"]
    if kept is None:
        raise LabError(TURNED_NAN.format(path))
    choices = {
        "tails": kept["tails"],
        "regression_nodes": kept["regression_nodes"],
        "interval": tuple(kept["interval"]),
    }
    after = [Shapes(layer["layer"], layer["values"], inputs=layer["inputs"], **choices) for layer in kept["layers"]]
    before = [Shapes(f"{layer['layer']}, before training", layer["start"], **choices) for layer in kept["layers"]]
    return [*after, *before]


def shapes_in_captures(path: Path, record: Record) -> list[Shapes]:
    """The units that an image record keeps, convolution by convolution: after training, then before."""
    captures, found = record.results["captures"], []
    if not captures["after"]:
        raise LabError(TURNED_NAN.format(path))
    for when, told in (("after", ""), ("before", ", before training")):
        learned = [entry for entry in captures[when] if entry["values"] is not None]
        for number in dict.fromkeys(entry["convolution"] for entry in learned):
            own = [entry for entry in learned if entry["convolution"] == number]
            found.append(
                Shapes(
                    f"convolution {number}{told}",
                    [entry["values"] for entry in own],
                    tails=tails_of(record.spec["activation"]),
                    regression_nodes=2,
                    interval=(-1.0, 1.0),
                    inputs=[asdict(inputs_of(entry)) for entry in own],
                )
            )
    if not found:
        raise LabError(f"{path} keeps no learned activations: its captured units are those of ReLU")
    return found
