"""The inputs and the shapes of some units, as the paper plots them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
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
    norm has no statistics yet and takes those of x. One entry per convolution and unit: `low` and `high`, the least
    and the greatest input (one less and one more if all are equal); `counts`, how many inputs fall into each of 60
    bins of equal width between them; `shape`, the activation at 121 points from low to high, the other channels being
    zero; `values`, the learned heights, or None.
    """
    numbers = [number for number in convolutions if number <= 2 * len(network.blocks) + 1]
    copied = copy.deepcopy(network).eval()
    for module in copied.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.train(not trained)
    inputs: dict[int, Tensor] = {}

    def keep(number: int, _module: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        inputs[number] = arguments[0].detach().float().cpu()

    hooks = [copied.activation_before(n).register_forward_pre_hook(partial(keep, n)) for n in numbers]
    with torch.no_grad():
        copied(x[:IMAGES])
        for hook in hooks:  # the shapes are computed next
            hook.remove()
        return [
            capture_unit(copied.activation_before(number).cpu(), inputs[number], number, unit)
            for number in numbers
            for unit in range(min(units, inputs[number].shape[1]))
        ]


def capture_unit(activation: nn.Module, inputs: Tensor, number: int, unit: int) -> dict[str, Any]:
    """One unit's histogram and shape, as plain numbers."""
    numbers = inputs[:, unit].flatten().double()
    low, high = numbers.min().item(), numbers.max().item()
    if low == high:
        low, high = low - 1, high + 1
    points = torch.zeros(POINTS, inputs.shape[1], 1, 1)
    points[:, unit] = torch.linspace(low, high, POINTS).view(-1, 1, 1)
    values = getattr(activation, "heights", None)
    return {
        "convolution": number,
        "unit": unit,
        "low": six_digits(low),
        "high": six_digits(high),
        "counts": [int(count) for count in torch.histc(numbers, BINS, low, high)],
        "shape": [six_digits(value) for value in activation(points)[:, unit].flatten().tolist()],
        "values": None if values is None else [six_digits(value) for value in values[unit].tolist()],
    }


def six_digits(value: float) -> float:
    return float(f"{value:.6g}")
