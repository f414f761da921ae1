"""What a record keeps of the learned activations: two channels of every layer, seed 0, before and after training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy
import torch
from torch import Tensor, nn

from chebact.activations import ChebyshevLagrange

__all__ = ["copy_values", "keep_inputs", "shapes_of"]

CHANNELS = 2  # the paper's first figure shows two
BINS = 16
DIGITS = 5


def layers(network: nn.Module) -> dict[str, ChebyshevLagrange]:
    """The learned activations by their name in the network."""
    return {name: part for name, part in network.named_modules() if isinstance(part, ChebyshevLagrange)}


def copy_values(network: nn.Module) -> dict[str, Tensor]:
    """A copy of the values of the first channels of every layer: (replica, channel, degree + 1) each."""
    return {name: part.learned.detach()[:, :CHANNELS].clone() for name, part in layers(network).items()}


@contextmanager
def keep_inputs(network: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """The inputs of the first channels of every layer while this lasts: portions of (replica, batch, channel) each."""
    seen: dict[str, list[Tensor]] = {name: [] for name in layers(network)}

    def keep(name: str) -> Any:
        return lambda _, inputs: seen[name].append(inputs[0].detach()[..., :CHANNELS].clone())

    hooks = [part.register_forward_pre_hook(keep(name)) for name, part in layers(network).items()]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def shapes_of(
    network: nn.Module, start: Mapping[str, Tensor], inputs: Mapping[str, Sequence[Tensor]], replica: int
) -> dict[str, Any]:
    """How the activations are built, and of each layer's kept channels the values and a histogram of the inputs.

    A histogram has equal bins from `low` to `high`, the smallest and the largest input of that channel; `outside` is
    the share of inputs that fall outside the interval of the nodes.
    """
    parts = layers(network)
    basis = next(iter(parts.values())).basis  # one network has one kind of activation
    return {
        "degree": basis.degree,
        "tails": basis.tails,
        "regression_nodes": basis.regression_nodes,
        "interval": list(basis.interval),
        "layers": [
            {
                "layer": name,
                "start": round_rows(start[name][replica]),
                "values": round_rows(part.learned[replica, :CHANNELS]),
                "inputs": [histogram(x, basis.interval) for x in torch.cat(list(inputs[name]), dim=1)[replica].T],
            }
            for name, part in parts.items()
        ],
    }


def histogram(x: Tensor, interval: tuple[float, float]) -> dict[str, Any]:
    """The inputs x (points,) of one channel in numbers."""
    inputs = x.double().numpy()
    counts, edges = numpy.histogram(inputs, bins=BINS)
    outside = float(numpy.mean((inputs < interval[0]) | (inputs > interval[1])))
    return {
        "low": round_value(edges[0]),
        "high": round_value(edges[-1]),
        "counts": counts.tolist(),
        "outside": round_value(outside),
    }


def round_rows(rows: Tensor) -> list[list[float]]:
    return [[round_value(value) for value in row] for row in rows.tolist()]


def round_value(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
