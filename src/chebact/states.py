"""`load_state_`: a state with its intervals and tails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from chebact.activations import ChebyshevLagrange
from chebact.checks import check_module, must_be
from chebact.learned import EXTRA_STATE

__all__ = ["load_state_"]

WRAPPERS = {"module.": "DDP or DataParallel", "_orig_mod.": "torch.compile"}
"""What stands before the names of a wrapped model's state, and who puts it there."""


def load_state_(model: nn.Module, state: Mapping[str, Any]) -> nn.Module:
    """Load a state in place; the learned activations take interval and tails from it too. Returns the model.

    `model.load_state_dict(state)` refuses a state of other intervals or tails, since the heights would be another
    function. After `replace_activations(..., interval="fit")` nobody knows the intervals in advance: build the model,
    replace its activations with any interval, and load. Degrees and channels have to fit. If the state does not fit,
    the error is that of `load_state_dict`, and the model is as it was. A state of a wrapped model (DDP, torch.compile)
    or a checkpoint that holds the state beside other things is an error that says what to pass.

    >>> import torch
    >>> state = ChebyshevLagrange(2, interval=(0.0, 6.0)).state_dict()
    >>> load_state_(ChebyshevLagrange(2), state).basis.interval
    (0.0, 6.0)
    """
    check_module("model", model)
    if not isinstance(state, Mapping):
        raise TypeError(must_be("state", "a state dict, as torch.load(path, weights_only=True) returns", state))
    found = {name: part for name, part in model.named_modules() if isinstance(part, ChebyshevLagrange)}
    if not found:
        raise ValueError("model must have a ChebyshevLagrange, got none; use model.load_state_dict(state)")
    _check_names(model, state)
    before = {name: part.basis for name, part in found.items()}
    tensors = [tensor for tensor in (*model.parameters(), *model.buffers()) if not is_lazy(tensor)]
    weights = [(tensor, tensor.detach().clone()) for tensor in tensors]
    try:
        for name, part in found.items():
            key = f"{name}.{EXTRA_STATE}" if name else EXTRA_STATE
            if key in state:
                part.take_function_(state[key])
        model.load_state_dict(state)
    except Exception:
        for name, part in found.items():
            part.basis = before[name]
        with torch.no_grad():
            for tensor, kept in weights:
                tensor.copy_(kept)
        raise
    return model


def _check_names(model: nn.Module, state: Mapping[str, Any]) -> None:
    """A ValueError for the state of a wrapped model, and for a dict that holds the state under a name."""
    ours = set(model.state_dict())
    if not state or not ours.isdisjoint(state):
        return
    what = "the state of the model itself"
    for prefix, wrapper in WRAPPERS.items():
        if all(str(name).startswith(prefix) for name in state):
            raise ValueError(
                f"state must be {what}, got names that start with {prefix!r}, as {wrapper} saves them; pass "
                f"{{name.removeprefix({prefix!r}): value for name, value in state.items()}}"
            )
    for name, value in state.items():
        if isinstance(value, Mapping) and not ours.isdisjoint(value):
            raise ValueError(f"state must be {what}, got a dict that has it at {name!r}; pass state[{name!r}]")
