"""What a record of a study keeps besides the errors: what the tails do, or all learned shapes of some seeds.

A measure is made before the training, from the network and the test inputs, and called after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from chebact.activations import ChebyshevLagrange
from chebact.lab.functions import DATASETS, target
from chebact.lab.spec import stream
from chebact.lab.studies.spec import Keep
from chebact.networks.linear import ReplicaLinear
from chebact.networks.residual_mlp import ResidualMLP
from chebact.training.replicas import predict_replicas

if TYPE_CHECKING:
    from chebact.lab.studies.training import Draw

__all__ = ["BEYOND", "MEASURES", "SHAPE_SEEDS", "numbers"]

BEYOND = 1.25
"""The inputs beyond the range of the data are those of [-1.25, 1.25] that are not all in [-1, 1]."""

BEYOND_POINTS = 1000
SHAPE_SEEDS = 3
DIGITS, SHAPE_DIGITS = 4, 3
More = Callable[[slice], dict[str, Any]]  # of the replicas of one function
Measure = Callable[[Tensor, Sequence[str], "Draw"], More]


def measure_nothing(network: ResidualMLP, x: Tensor) -> Measure:
    """The errors are enough."""
    return lambda failed, functions, data: lambda own: {}


def measure_tails(network: ResidualMLP, x: Tensor) -> Measure:
    """The share of inputs outside the interval before and after training, the error beyond the range of the data, and
    the error where inputs outside the interval are clamped to it.
    """
    before = shares_outside(network, x)

    def measure(failed: Tensor, functions: Sequence[str], data: Draw) -> More:
        after = shares_outside(network, x)
        far_x, far_y = draw_beyond(functions, x.shape[2])
        beyond = rmse_of(network, far_x, far_y)
        with clamped_inputs(network):
            clamped = rmse_of(network, data.test_x, data.test_y)

        def more(own: slice) -> dict[str, Any]:
            kept = ~failed[own]
            found: dict[str, Any] = {"beyond": numbers(beyond[own], failed[own])}
            if before:
                found["clamped"] = numbers(clamped[own], failed[own])
                found["outside"] = [
                    [round_value(float(share[own][kept].mean())) if kept.any() else None for share in pair]
                    for pair in zip(before, after, strict=True)
                ]
            return found

        return more

    return measure


def measure_shapes(network: ResidualMLP, x: Tensor) -> Measure:
    """All channels of the first seeds: see `ChannelShape` of the record."""

    def measure(failed: Tensor, functions: Sequence[str], data: Draw) -> More:
        inputs = inputs_of(network, x)
        rows = torch.stack([layer_rows(*each, seen) for each, seen in zip(layers_of(network), inputs, strict=True)], 1)

        def more(own: slice) -> dict[str, Any]:
            kept = [seed for seed, lost in enumerate(failed[own][:SHAPE_SEEDS]) if not lost]
            return {"shapes": [[plain_rows(layer) for layer in rows[own][seed]] for seed in kept]}

        return more

    return measure


MEASURES: dict[Keep, Callable[[ResidualMLP, Tensor], Measure]] = {
    "errors": measure_nothing,
    "tails": measure_tails,
    "shapes": measure_shapes,
}


def layers_of(network: ResidualMLP) -> list[tuple[ChebyshevLagrange, Tensor]]:
    """The learned activations in their order, each with the weight that follows it (replica, out, channel)."""
    blocks = [tuple(block.children()) for block in network.blocks]
    return [
        (part, after.weight.detach())
        for part, after in (*blocks, (network.last_activation, network.last))
        if isinstance(part, ChebyshevLagrange) and isinstance(after, ReplicaLinear)
    ]


def inputs_of(network: ResidualMLP, x: Tensor) -> list[Tensor]:
    """The inputs of every learned activation: (replica, points, channel) each."""
    seen: list[list[Tensor]] = [[] for _ in layers_of(network)]

    def keep(index: int) -> Any:
        return lambda _, inputs: seen[index].append(inputs[0].detach().clone())

    hooks = [part.register_forward_pre_hook(keep(index)) for index, (part, _) in enumerate(layers_of(network))]
    try:
        predict_replicas(network, x, len(x))
    finally:
        for hook in hooks:
            hook.remove()
    return [torch.cat(portions, dim=1) for portions in seen]


def shares_outside(network: ResidualMLP, x: Tensor) -> list[Tensor]:
    """The share of inputs outside the interval, (replica,) for every layer."""
    found = []
    for (part, _), inputs in zip(layers_of(network), inputs_of(network, x), strict=True):
        low, high = part.basis.interval
        found.append(((inputs < low) | (inputs > high)).double().mean(dim=(1, 2)))
    return found


@contextmanager
def clamped_inputs(network: ResidualMLP) -> Iterator[None]:
    """All inputs of the learned activations in the interval, while this lasts."""

    def clamp(part: nn.Module, inputs: tuple[Tensor, ...]) -> Any:
        assert isinstance(part, ChebyshevLagrange)
        return (inputs[0].clamp(*part.basis.interval),)

    hooks = [part.register_forward_pre_hook(clamp) for part, _ in layers_of(network)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def rmse_of(network: ResidualMLP, x: Tensor, y: Tensor) -> Tensor:
    """The root mean square error of every replica."""
    return (predict_replicas(network, x, len(x)).double() - y.double()).square().mean(dim=(1, 2)).sqrt()


def draw_beyond(functions: Sequence[str], columns: int) -> tuple[Tensor, Tensor]:
    """Points beyond the range of the data, the same for all seeds of a function."""
    x, y = [], []
    for function in functions:
        drawn = torch.rand(
            40 * BEYOND_POINTS, DATASETS[function].features, generator=stream("studies", "far", function)
        )
        far = BEYOND * (drawn * 2 - 1)
        far = far[(far.abs() > 1).any(dim=1)][:BEYOND_POINTS]
        x.append(torch.nn.functional.pad(far, (0, columns - far.shape[1])))
        y.append(target(function, far, "released"))
    return torch.stack(x), torch.stack(y)


def layer_rows(part: ChebyshevLagrange, weight: Tensor, inputs: Tensor) -> Tensor:
    """Of every channel its heights, the 5 and 95 % quantiles of its inputs, and its effect: the deviation of its
    outputs times the length of the weights that follow: (replica, channel, degree + 4).
    """
    with torch.no_grad():
        outputs = part(inputs)
    ends = torch.quantile(inputs, torch.tensor([0.05, 0.95]), dim=1)
    effect = outputs.std(dim=1) * weight.norm(dim=1)
    return torch.cat([part.learned.detach(), ends.movedim(0, -1), effect.unsqueeze(-1)], dim=-1)


def plain_rows(rows: Tensor) -> list[list[float]]:
    return [[round_value(value, SHAPE_DIGITS) for value in row] for row in rows.tolist()]


def numbers(values: Tensor, failed: Tensor) -> list[float | None]:
    """The numbers of the seeds, None where one diverged or is not finite."""
    lost = failed | ~values.isfinite()
    return [None if gone else round_value(float(value)) for value, gone in zip(values, lost, strict=True)]


def round_value(value: float, digits: int = DIGITS) -> float:
    """The number with some significant digits."""
    return float(f"{value:.{digits}g}")
