"""Learned activations for the playground, out of a record or of a file that torch.save wrote."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from chebact import coefficients_to_values
from chebact.activations import ChebyshevLagrange, WeightedChebyshev
from chebact.basis import Basis
from chebact.lab import LabError
from chebact.lab.captures import inputs_of, tails_of
from chebact.lab.images.checkpoint import CheckpointError, is_checkpoint, read_checkpoint
from chebact.lab.store import Record, read_record

__all__ = ["MOST_DEGREE", "Shapes", "shapes_in_model", "shapes_in_record"]

MOST_DEGREE = 100  # the page's own limit, MOST.read in state.js
MOST_NUMBERS = 400_000  # about 8 MB of page
TURNED_NAN = "{} keeps no learned activations because that training turned NaN: choose another record"
OWN = (
    "chebact.activations",
    "chebact.networks.",
    "chebact.lab.images.network",
    "chebact.basis",
    "torch.nn.modules.",
    "torch.nn.parameter",
)


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
    if "captures" in record.results and tails_of(record.spec["activation"]) is not None:
        return shapes_in_captures(path, record)
    if "activations" not in record.results:
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
                    inputs=[inputs_of(entry) for entry in own],
                )
            )
    if not found:
        raise LabError(f"{path} keeps no learned activations: its captured units are those of ReLU")
    return found


def shapes_in_model(path: Path) -> list[Shapes]:
    """The activations in a file of torch.save: a state dict, a checkpoint that holds one, or a whole model.

    The file is loaded as data (`weights_only=True`); of classes only those of torch.nn and chebact are allowed.
    """
    found = list(shapes_of(loaded(path)))
    if not found:
        raise LabError(f"{path} holds no learned activations: no module of chebact, and no tensor named `values`")
    shown = [shapes for shapes in found if len(shapes.rows[0]) - 1 <= MOST_DEGREE]
    if not shown:
        raise LabError(f"{path} holds activations of degree above {MOST_DEGREE} only, which the playground cannot show")
    return trimmed(shown)


def loaded(path: Path) -> Any:
    """What torch.save wrote, with no code of the file's run."""
    try:
        if is_checkpoint(path):
            return read_checkpoint(path)["state"]
        unknown = torch.serialization.get_unsafe_globals_in_checkpoint(path)
        classes = {name: allowed(name) for name in unknown}
        strange = sorted(name for name, found in classes.items() if found is None)
        if strange:
            raise LabError(
                f"{path} holds {', '.join(strange)}, which is not loaded because it could run anything: save "
                "`model.state_dict()` instead of the model"
            )
        with torch.serialization.safe_globals([found for found in classes.values() if found is not None]):
            return torch.load(path, map_location="cpu", weights_only=True)
    except CheckpointError as error:
        raise LabError(str(error)) from error
    except OSError as error:
        raise LabError(f"cannot read {path}: {error.strerror}") from error
    except (RuntimeError, pickle.UnpicklingError, ValueError, EOFError, KeyError, AttributeError, TypeError) as error:
        raise LabError(f"{path} is not a file that torch.save wrote, or not a whole one") from error


def allowed(name: str) -> Any:
    """The class of that name where it is a module of torch.nn or chebact, or what these keep; else None."""
    home, _, own = name.rpartition(".")
    if not f"{home}.".startswith(tuple(prefix if prefix.endswith(".") else f"{prefix}." for prefix in OWN)):
        return None
    try:
        found = getattr(importlib.import_module(home), own, None)
    except ImportError:
        return None
    wanted = isinstance(found, type) and issubclass(found, (nn.Module, nn.parameter.UninitializedParameter, Basis))
    return found if wanted else None


def shapes_of(content: Any, where: str = "") -> Iterator[Shapes]:
    """Every set of values in what was loaded, however deep it lies."""
    if isinstance(content, nn.Module):
        yield from shapes_in_modules(content, where)
    elif isinstance(content, Mapping):
        for key, inner in content.items():
            own = f"{where}.{key}" if where else str(key)
            if isinstance(inner, torch.Tensor):
                if str(key).rpartition(".")[2] == "values" and is_values(inner):
                    yield shapes_from(own.removesuffix("values").rstrip(".") or "values", inner)
            else:
                yield from shapes_of(inner, own)


def shapes_in_modules(model: nn.Module, where: str) -> Iterator[Shapes]:
    """The learned activations of a model; weights of Chebyshev polynomials as the heights that they give."""
    for name, module in model.named_modules():
        own = ".".join(part for part in (where, name) if part) or type(module).__name__
        if isinstance(module, ChebyshevLagrange) and is_values(module.values):
            basis = module.basis
            yield shapes_from(own, module.values, basis.tails, basis.regression_nodes, basis.interval)
        elif isinstance(module, WeightedChebyshev) and is_values(module.values):
            yield shapes_from(f"{own} (weighted Chebyshev)", coefficients_to_values(module.values.double()), "none")


def is_values(tensor: torch.Tensor) -> bool:
    """Whether a tensor can be heights: (channel, degree + 1) or (replica, channel, degree + 1), all finite."""
    if isinstance(tensor, nn.parameter.UninitializedParameter) or not tensor.is_floating_point():
        return False
    return tensor.dim() in (2, 3) and tensor.shape[-1] > 1 and tensor.numel() > 0 and bool(tensor.isfinite().all())


def shapes_from(
    name: str,
    values: torch.Tensor,
    tails: str | None = None,
    regression_nodes: int | None = None,
    interval: tuple[float, float] | None = None,
) -> Shapes:
    """One set; every number is the tensor's own, as a double holds it."""
    rows = values.detach().double().flatten(0, -2).tolist()
    replicas = values.shape[0] if values.dim() == 3 else 1
    return Shapes(name, rows, replicas, tails, regression_nodes, interval)


def trimmed(sets: list[Shapes]) -> list[Shapes]:
    """The sets, or where they would make too large a page the first channels of each."""
    total = sum(len(shapes.rows) * len(shapes.rows[0]) for shapes in sets)
    if total <= MOST_NUMBERS:
        return sets
    share = MOST_NUMBERS / total
    return [shortened(shapes, max(1, int(len(shapes.rows) * share))) for shapes in sets]


def shortened(shapes: Shapes, count: int) -> Shapes:
    """The first so many rows, and a name that says so."""
    name = f"{shapes.name} (the first {count} of {len(shapes.rows)})"
    return replace(shapes, name=name, rows=shapes.rows[:count], replicas=1)
