"""Whether the state in a checkpoint is one of this training: the same parts, of the same shapes and types.

A checksum says that a file is as it was written, not that it was written by this program. So nothing of it is taken
over before all of it was held against the state that the training itself would write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = ["unlike", "why_not_of"]


def why_not_of(
    state: Any, own: Mapping[str, Any], parameters: Sequence[Tensor], epoch: Sequence[str], position: int
) -> str | None:
    """Why a state cannot be taken over by a training whose state is `own`, in a few words; None where it can.

    `parameters` are those of the network, `epoch` names the numbers of an epoch, and `position` is how many epochs
    there must be.
    """
    if not isinstance(state, Mapping) or set(state) != set(own):
        return f"it must have the parts {', '.join(own)}"
    optimizer = state["optimizer"]
    if not isinstance(optimizer, Mapping) or set(optimizer) != set(own["optimizer"]):
        return "its optimizer has other parts"
    return (
        unlike(state["network"], own["network"], "network")
        or unlike(optimizer["param_groups"], own["optimizer"]["param_groups"], "optimizer")
        or why_not_momentum(optimizer["state"], parameters)
        or unlike(state["schedule"], own["schedule"], "schedule")
        or unlike(state["generators"], own["generators"], "generators")
        or why_not_generators(state["generators"])
        or why_not_history(state["history"], epoch, position)
    )


def unlike(found: Any, wanted: Any, where: str) -> str | None:
    """Where and how something differs in its form from what is wanted; the numbers themselves may be others.

    >>> unlike({"a": [1, 2.5]}, {"a": [3, 4.0]}, "state"), unlike({"a": ["x"]}, {"a": [3]}, "state")
    (None, 'state.a[0] must be a number, got str')
    """
    if isinstance(wanted, Tensor):
        return unlike_tensor(found, wanted, where)
    if isinstance(wanted, Mapping):
        if not isinstance(found, Mapping) or set(found) != set(wanted):
            return f"{where} is of another network or version"
        pairs = [(found[key], wanted[key], f"{where}.{key}") for key in wanted]
    elif isinstance(wanted, list | tuple):
        if not isinstance(found, list | tuple) or len(found) != len(wanted):
            return f"{where} must have {len(wanted)} entries"
        pairs = [
            (one, other, f"{where}[{place}]") for place, (one, other) in enumerate(zip(found, wanted, strict=True))
        ]
    elif type(wanted) in (int, float):
        return None if type(found) in (int, float) else f"{where} must be a number, got {type(found).__name__}"
    else:
        same = type(found) is type(wanted)
        return None if same else f"{where} must be {type(wanted).__name__}, got {type(found).__name__}"
    return next((reason for pair in pairs if (reason := unlike(*pair)) is not None), None)


def unlike_tensor(found: Any, wanted: Tensor, where: str) -> str | None:
    if not isinstance(found, Tensor) or found.layout != torch.strided or found.is_nested or found.is_quantized:
        return f"{where} must be a dense tensor"
    if found.device != wanted.device and found.device.type != "cpu":
        return f"{where} must be in memory, got {found.device}"
    if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        shapes = f"{tuple(wanted.shape)} of {wanted.dtype}, got {tuple(found.shape)} of {found.dtype}"
        return f"{where} must be {shapes}: it is of another network"
    return None


def why_not_momentum(found: Any, parameters: Sequence[Tensor]) -> str | None:
    """The optimizer keeps a tensor like each parameter; parameters that got no gradient have none."""
    if not isinstance(found, Mapping) or not set(found) <= set(range(len(parameters))):
        return "its optimizer is of another network"
    for number, kept in found.items():
        if not isinstance(kept, Mapping) or set(kept) != {"momentum_buffer"}:
            return "its optimizer keeps something else than momentum"
        buffer = kept["momentum_buffer"]
        where = f"momentum of parameter {number}"
        if buffer is not None and (reason := unlike_tensor(buffer, parameters[number], where)) is not None:
            return reason
    return None


def why_not_generators(states: Sequence[Mapping[str, Tensor]]) -> str | None:
    """Whether the generators take their states, tried on one of no use."""
    try:
        for state in states:
            for each in state.values():
                torch.Generator().set_state(each)
    except RuntimeError:
        return "its generators have no states of generators"
    return None


def why_not_history(found: Any, names: Sequence[str], position: int) -> str | None:
    """A history is one dictionary of numbers per epoch, the epochs counted from 1."""
    if not isinstance(found, list) or len(found) != position:
        return f"its history must have {position} epochs"
    form = [{name: epoch if name == "epoch" else 0.0 for name in names} for epoch in range(1, position + 1)]
    if (reason := unlike(found, form, "history")) is not None:
        return reason
    return (
        None if [epoch["epoch"] for epoch in found] == list(range(1, position + 1)) else "its epochs are out of order"
    )
