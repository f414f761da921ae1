"""Learned activations for the playground, out of a record or of a file that torch.save wrote."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from chebact import coefficients_to_values
from chebact.activations import ChebyshevLagrange, WeightedChebyshev
from chebact.basis import Basis
from chebact.checks import FLOATS, interval_of, regression_nodes_of
from chebact.checks import tails_of as tails_kind
from chebact.lab import LabError
from chebact.lab.captures import inputs_of, tails_of
from chebact.lab.checkpoint import CheckpointError, has_compressed_parts, is_checkpoint, read_checkpoint
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
PARAMETERS = ("heights", "values")  # what a state calls the heights; the second, before they had that name


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


def shapes_in_model(path: Path) -> list[Shapes]:
    """The activations in a file of torch.save: a state dict, a checkpoint that holds one, or a whole model.

    The file is loaded as data (`weights_only=True`); of classes only those of torch.nn and chebact are allowed. What a
    tensor says of itself is checked before its numbers are touched, and no more of them than are shown.
    """
    content = loaded(path)
    try:
        found = list(layers_of(content))
        shown = [layer for layer in found if layer.values.shape[-1] - 1 <= MOST_DEGREE]
        shapes = [each for each in trimmed(shown) if each is not None]
    except Exception as error:  # a model whose parts were tampered with raises anything
        raise LabError(f"{path} holds a model whose parts are not what they should be: save it anew") from error
    if found and not shown:
        raise LabError(f"{path} holds activations of degree above {MOST_DEGREE} only, which the playground cannot show")
    if not shapes:
        raise LabError(
            f"{path} holds no learned activations: no module of chebact, and no finite dense tensor `heights`"
        )
    return shapes


def loaded(path: Path) -> Any:
    """What torch.save wrote, with no code of the file's run."""
    if path.exists() and not path.is_file():
        raise LabError(f"cannot read {path}: it is not a file")
    try:
        if is_checkpoint(path):
            return read_checkpoint(path)["state"]
        if has_compressed_parts(path):
            raise LabError(f"{path} has compressed parts, which torch.save does not write: save the model anew")
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
    except LabError:
        raise
    except OSError as error:
        raise LabError(f"cannot read {path}: {error.strerror}") from error
    except Exception as error:  # a file of any content raises anything
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


@dataclass(frozen=True)
class Layer:
    """A tensor that can be heights, or weights of Chebyshev polynomials, and what is known of how it is used."""

    name: str
    values: torch.Tensor
    tails: str | None = None
    regression_nodes: int | None = None
    interval: tuple[float, float] | None = None
    weights: bool = False

    def shapes(self, count: int) -> Shapes | None:
        """The first `count` rows, every number the tensor's own as a double holds it; None where one is not finite."""
        replicas, channels = (1, *self.values.shape[:-1])[-2:]
        values = self.values.detach()
        if count < replicas * channels:  # cut before anything is computed: a small file may claim a tensor of any size
            values = values[: -(-count // channels)] if values.dim() == 3 else values[:count]
            values = values[..., :count, :] if values.dim() == 3 else values
        rows = values.double().flatten(0, -2)[:count]
        if not rows.isfinite().all():
            return None
        heights = coefficients_to_values(rows) if self.weights else rows
        known = (self.tails, self.regression_nodes, self.interval)
        if count < replicas * channels:
            return Shapes(f"{self.name} (the first {count} of {replicas * channels})", heights.tolist(), 1, *known)
        return Shapes(self.name, heights.tolist(), replicas, *known)


def layers_of(content: Any, where: str = "") -> Iterator[Layer]:
    """Every set of values in what was loaded, however deep it lies."""
    if isinstance(content, nn.Module):
        yield from layers_in_modules(content, where)
    elif isinstance(content, Mapping):
        for key, inner in content.items():
            own = f"{where}.{key}" if where else str(key)
            if isinstance(inner, torch.Tensor):
                last = str(key).rpartition(".")[2]
                if last in PARAMETERS and is_values(inner):
                    yield Layer(own.removesuffix(last).rstrip(".") or last, inner)
            else:
                yield from layers_of(inner, own)


def layers_in_modules(model: nn.Module, where: str) -> Iterator[Layer]:
    """The learned activations of a model."""
    for name, module in model.named_modules():
        own = ".".join(part for part in (where, name) if part) or type(module).__name__
        if isinstance(module, ChebyshevLagrange) and is_values(module.heights):
            basis = module.basis
            nodes = regression_nodes_of(basis.regression_nodes, basis.degree)
            yield Layer(own, module.heights, tails_kind(basis.tails), nodes, interval_of(basis.interval))
        elif isinstance(module, WeightedChebyshev) and is_values(module.weights):
            yield Layer(f"{own} (weighted Chebyshev)", module.weights, "none", weights=True)


def is_values(tensor: Any) -> bool:
    """Whether a tensor can be heights: dense, in memory, of a served type, and of the shape (channel, degree + 1) or
    (replica, channel, degree + 1).
    """
    if not isinstance(tensor, torch.Tensor) or isinstance(tensor, nn.parameter.UninitializedParameter):
        return False
    dense = tensor.layout == torch.strided and tensor.device.type == "cpu"
    if not dense or tensor.is_quantized or tensor.is_nested or tensor.dtype not in FLOATS:
        return False
    return tensor.dim() in (2, 3) and tensor.shape[-1] > 1 and tensor.numel() > 0


def trimmed(layers: Sequence[Layer]) -> list[Shapes | None]:
    """All of the layers, or where they would make too large a page the first channels of each."""
    counts = [math.prod(layer.values.shape[:-1]) for layer in layers]
    total = sum(count * layer.values.shape[-1] for count, layer in zip(counts, layers, strict=True))
    share = min(1.0, MOST_NUMBERS / max(1, total))
    return [layer.shapes(max(1, int(count * share))) for count, layer in zip(counts, layers, strict=True)]
