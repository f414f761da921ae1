"""Whether the state in a checkpoint is one of this training: the same parts, of the same shapes and types.

A checksum says that a file is as it was written, not that this program wrote it. So nothing of it is loaded before all
of it was compared with the state that the training itself would write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = ["unlike", "why_not_of"]


def why_not_of(
    state: Any, current: Mapping[str, Any], parameters: Sequence[Tensor], epoch: Sequence[str], position: int
) -> str | None:
    """Why a training whose state is `current` cannot load `state`, in a few words; None if it can.

    `parameters` are those of the network, `epoch` names the numbers of an epoch, and `position` is the number of
    epochs. The optimizer has a momentum like each parameter, or none for one that got no gradient.
    """
    expected = {**current, "history": [dict.fromkeys(epoch, 0.0) for _ in range(position)]}
    if not isinstance(state, Mapping) or set(state) != set(expected):
        return f"it must have the parts {', '.join(expected)}"
    optimizer = state["optimizer"]
    kept = optimizer.get("state") if isinstance(optimizer, Mapping) else None
    if not isinstance(kept, Mapping) or not set(kept) <= set(range(len(parameters))):
        return "its optimizer is of another network"
    momentum = {
        number: {"momentum_buffer": None if inner == {"momentum_buffer": None} else parameters[number]}
        for number, inner in kept.items()
    }
    expected["optimizer"] = {**current["optimizer"], "state": momentum}
    reason = unlike(state, expected, "its state")
    if reason is None and [each["epoch"] for each in state["history"]] != list(range(1, position + 1)):
        reason = "its epochs must be counted from 1"
    return reason or why_not_generators(state["generators"])


def unlike(found: Any, expected: Any, where: str) -> str | None:
    """Where and how something differs in its form from what is expected; the numbers themselves may be others.

    >>> unlike({"a": [1, 2.5]}, {"a": [3, 4.0]}, "state"), unlike({"a": ["x"]}, {"a": [3]}, "state")
    (None, 'state.a[0] must be a number, got str')
    """
    if isinstance(expected, Tensor):
        return unlike_tensor(found, expected, where)
    if isinstance(expected, Mapping):
        if not isinstance(found, Mapping) or set(found) != set(expected):
            return f"{where} is of another network or version"
        pairs = [(found[key], expected[key], f"{where}.{key}") for key in expected]
    elif isinstance(expected, list | tuple):
        if not isinstance(found, list | tuple) or len(found) != len(expected):
            return f"{where} must have {len(expected)} entries"
        pairs = [(*pair, f"{where}[{index}]") for index, pair in enumerate(zip(found, expected, strict=True))]
    elif type(expected) in (int, float):
        return None if type(found) in (int, float) else f"{where} must be a number, got {type(found).__name__}"
    else:
        same = type(found) is type(expected)
        return None if same else f"{where} must be {type(expected).__name__}, got {type(found).__name__}"
    return next((reason for pair in pairs if (reason := unlike(*pair)) is not None), None)


def unlike_tensor(found: Any, expected: Tensor, where: str) -> str | None:
    if not isinstance(found, Tensor) or found.layout != torch.strided or found.is_nested or found.is_quantized:
        return f"{where} must be a dense tensor"
    if found.device != expected.device and found.device.type != "cpu":
        return f"{where} must be in memory, got {found.device}"
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        shapes = f"{tuple(expected.shape)} of {expected.dtype}, got {tuple(found.shape)} of {found.dtype}"
        return f"{where} must be {shapes}: it is of another network"
    return None


def why_not_generators(states: Sequence[Mapping[str, Tensor]]) -> str | None:
    """Whether a generator accepts each state."""
    try:
        for state in states:
            for each in state.values():
                torch.Generator().set_state(each)
    except RuntimeError:
        return "its generators have no states of generators"
    return None
