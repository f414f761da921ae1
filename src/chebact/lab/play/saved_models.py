"""Learned activations out of a file that torch.save wrote: a state dict, a checkpoint, a model."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from chebact import coefficients_to_values
from chebact.activations import ChebyshevLagrange, WeightedChebyshev
from chebact.basis import Basis
from chebact.checks import FLOATS, TAILS, Interval, Tails, check_interval, check_regression_nodes, check_tails
from chebact.lab import LabError
from chebact.lab.checkpoint import CheckpointError, has_compressed_parts, is_checkpoint, read_checkpoint
from chebact.lab.play.shapes import Shapes
from chebact.lazy_parameter import LazyParameter
from chebact.learned import EXTRA_STATE

__all__ = ["MAX_DEGREE", "shapes_in_model"]

MAX_DEGREE = 100  # the limit of the page, MOST.read in state.js
MAX_NUMBERS = 400_000  # about 8 MB of page
ALLOWED = (
    "chebact.activations",
    "chebact.lazy_parameter",
    "chebact.networks.",
    "chebact.lab.images.network",
    "chebact.basis",
    "torch.nn.modules.",
    "torch.nn.parameter",
)
PARAMETERS = ("heights", "values")  # the name of the heights in a state; the second is the older one


def shapes_in_model(path: Path) -> list[Shapes]:
    """The activations in a file of torch.save: a state dict, a checkpoint that holds one, or a whole model.

    The file is loaded as data (`weights_only=True`); of classes only those of torch.nn and chebact are allowed. What a
    tensor says of itself is checked before its numbers are touched, and no more of them than are shown.
    """
    content = load_data(path)
    try:
        found = list(find_layers(content))
        shown = [layer for layer in found if layer.degree <= MAX_DEGREE]
        shapes = [each for each in cut_to_limit(shown) if each is not None]
    except Exception as error:  # a model whose parts were tampered with raises anything
        raise LabError(f"{path} holds a model whose parts are not what they should be: save it again") from error
    if found and not shown:
        raise LabError(f"{path} holds activations of degree above {MAX_DEGREE} only, which the playground cannot show")
    if not shapes:
        raise LabError(
            f"{path} holds no learned activations: no module of chebact, and no finite dense tensor `heights`"
        )
    return shapes


def load_data(path: Path) -> Any:
    """What torch.save wrote; no code in the file is run."""
    if path.exists() and not path.is_file():
        raise LabError(f"cannot read {path}: it is not a file")
    try:
        if is_checkpoint(path):
            return read_checkpoint(path)["state"]
        if has_compressed_parts(path):
            raise LabError(f"{path} has compressed parts, which torch.save does not write: save the model again")
        unknown = torch.serialization.get_unsafe_globals_in_checkpoint(path)
        classes = {name: find_class(name) for name in unknown}
        refused = sorted(name for name, found in classes.items() if found is None)
        if refused:
            raise LabError(
                f"{path} holds {', '.join(refused)}, which is not loaded because it could run anything: save "
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
        raise LabError(f"{path} is not a file that torch.save wrote, or not a complete one") from error


def find_class(name: str) -> Any:
    """The class of that name if it is a module of torch.nn or chebact, or what these hold; else None."""
    home, _, last = name.rpartition(".")
    if not f"{home}.".startswith(tuple(prefix if prefix.endswith(".") else f"{prefix}." for prefix in ALLOWED)):
        return None
    try:
        found = getattr(importlib.import_module(home), last, None)
    except ImportError:
        return None
    kinds = (nn.Module, nn.UninitializedParameter, LazyParameter, Basis)
    allowed = isinstance(found, type) and issubclass(found, kinds)
    return found if allowed else None


@dataclass(frozen=True)
class Layer:
    """A tensor that can be heights, or weights of Chebyshev polynomials, and what is known of how it is used."""

    name: str
    values: torch.Tensor
    tails: str | None = None
    regression_nodes: int | None = None
    interval: tuple[float, float] | None = None
    weights: bool = False

    @property
    def degree(self) -> int:
        """The degree of the polynomial."""
        return self.values.shape[-1] - 1

    def shapes(self, count: int) -> Shapes | None:
        """The first `count` rows, each number converted to double exactly; None if one is not finite."""
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


def find_layers(content: Any, where: str = "") -> Iterator[Layer]:
    """Every set of values in what was loaded, at any depth."""
    if isinstance(content, nn.Module):
        yield from layers_in_modules(content, where)
    elif isinstance(content, Mapping):
        for key, inner in content.items():
            path = f"{where}.{key}" if where else str(key)
            if isinstance(inner, torch.Tensor):
                last = str(key).rpartition(".")[2]
                if last in PARAMETERS and is_values(inner):
                    extra = content.get(str(key).removesuffix(last) + EXTRA_STATE)
                    name = path.removesuffix(last).rstrip(".") or last
                    yield Layer(name, inner, *read_extra_state(extra, inner.shape[-1] - 1))
            else:
                yield from find_layers(inner, path)


def read_extra_state(extra: Any, degree: int) -> tuple[Tails, int, Interval] | tuple[None, None, None]:
    """Tails, regression nodes and interval, as `ChebyshevLagrange.get_extra_state` writes them; None if there are none.

    >>> read_extra_state(ChebyshevLagrange(2, tails="none").get_extra_state(), degree=3)
    ('none', 2, (-1.0, 1.0))
    """
    if not (isinstance(extra, torch.Tensor) and extra.dtype == torch.float64 and extra.shape == (4,)):
        return None, None, None  # of an older version, or of a module of another library
    left, right, index, nodes = extra.tolist()
    if index not in range(len(TAILS)) or not nodes.is_integer():
        raise ValueError(f"the extra state must hold an interval, tails and regression nodes, got {extra.tolist()}")
    return TAILS[int(index)], check_regression_nodes(int(nodes), degree), check_interval((left, right))


def layers_in_modules(model: nn.Module, where: str) -> Iterator[Layer]:
    """The learned activations of a model."""
    for name, module in model.named_modules():
        path = ".".join(part for part in (where, name) if part) or type(module).__name__
        if isinstance(module, ChebyshevLagrange) and is_values(module.heights):
            basis = module.basis
            nodes = check_regression_nodes(basis.regression_nodes, basis.degree)
            yield Layer(path, module.heights, check_tails(basis.tails), nodes, check_interval(basis.interval))
        elif isinstance(module, WeightedChebyshev) and is_values(module.weights):
            yield Layer(f"{path} (weighted Chebyshev)", module.weights, "none", weights=True)


def is_values(tensor: Any) -> bool:
    """Whether a tensor can be heights: dense, in memory, of a served type, and of the shape (channel, degree + 1) or
    (replica, channel, degree + 1).
    """
    if not isinstance(tensor, torch.Tensor) or is_lazy(tensor):
        return False
    dense = tensor.layout == torch.strided and tensor.device.type == "cpu"
    if not dense or tensor.is_quantized or tensor.is_nested or tensor.dtype not in FLOATS:
        return False
    return tensor.dim() in (2, 3) and tensor.shape[-1] > 1 and tensor.numel() > 0


def cut_to_limit(layers: Sequence[Layer]) -> list[Shapes | None]:
    """All layers; only the first channels of each if the page would be too large."""
    counts = [math.prod(layer.values.shape[:-1]) for layer in layers]
    total = sum(count * layer.values.shape[-1] for count, layer in zip(counts, layers, strict=True))
    share = min(1.0, MAX_NUMBERS / max(1, total))
    return [layer.shapes(max(1, int(count * share))) for count, layer in zip(counts, layers, strict=True)]
