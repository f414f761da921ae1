"""What chosen units receive and what they make of it: the histograms and shapes that the paper plots."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from chebact.lab.images.network import ShakeShakeResNet

__all__ = ["CONVOLUTIONS", "UNITS", "capture"]

CONVOLUTIONS = (6, 13)
UNITS = 5
IMAGES = 500
BINS = 60
POINTS = 121


def capture(
    network: ShakeShakeResNet,
    x: Tensor,
    *,
    trained: bool,
    convolutions: Sequence[int] = CONVOLUTIONS,
    units: int = UNITS,
) -> list[dict[str, Any]]:
    """The inputs and the shape of the first units of the activations before these convolutions, in the first branch.

    x (image, channel, height, width) goes through a copy of the network in evaluation mode; before training, batch
    norm has no statistics yet and takes those of x. One entry a convolution and unit: `low` and `high`, the least and
    the greatest input (one less and one more where all are equal); `counts`, how many inputs fall into each of 60 bins
    of equal width between them; `shape`, the activation at 121 points from low to high, the other channels being zero;
    `values`, the learned heights, or None.
    """
    numbers = [number for number in convolutions if number <= 2 * len(network.blocks) + 1]
    own = copy.deepcopy(network).eval()
    for module in own.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.train(not trained)
    seen: dict[int, Tensor] = {}
    hooks = []
    for number in numbers:

        def keep(_module: nn.Module, given: tuple[Tensor, ...], number: int = number) -> None:
            seen[number] = given[0].detach().float().cpu()

        hooks.append(own.activation_before(number).register_forward_pre_hook(keep))
    with torch.no_grad():
        own(x[:IMAGES])
        for hook in hooks:  # the shapes are asked for next
            hook.remove()
        return [
            entry(own.activation_before(number).cpu(), seen[number], number, unit)
            for number in numbers
            for unit in range(min(units, seen[number].shape[1]))
        ]


def entry(activation: nn.Module, inputs: Tensor, number: int, unit: int) -> dict[str, Any]:
    """One unit's histogram and shape, as plain numbers."""
    own = inputs[:, unit].flatten().double()
    low, high = own.min().item(), own.max().item()
    if low == high:
        low, high = low - 1, high + 1
    points = torch.zeros(POINTS, inputs.shape[1], 1, 1)
    points[:, unit] = torch.linspace(low, high, POINTS).view(-1, 1, 1)
    values = getattr(activation, "heights", None)
    return {
        "convolution": number,
        "unit": unit,
        "low": rounded(low),
        "high": rounded(high),
        "counts": [int(count) for count in torch.histc(own, BINS, low, high)],
        "shape": [rounded(value) for value in activation(points)[:, unit].flatten().tolist()],
        "values": None if values is None else [rounded(value) for value in values[unit].tolist()],
    }


def rounded(value: float) -> float:
    return float(f"{value:.6g}")
