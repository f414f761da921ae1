"""A copy of a model's structure that holds the same weights."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from itertools import chain
from typing import Any

from torch import nn

from chebact.surgery.trials.subclasses import subclass_of

__all__ = ["copy_structure", "keep_activation_when_copied_"]


def copy_structure(model: nn.Module, *, share: bool) -> nn.Module:
    """A copy of a model; with `share` its parameters and buffers are those of the model itself.

    >>> model = nn.Linear(2, 2)
    >>> copy_structure(model, share=True).weight is model.weight
    True
    """
    kept = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())} if share else {}
    try:
        new = deepcopy(model, kept)
    except Exception as error:
        raise ValueError(
            f"model must be a module that copy.deepcopy can copy, got {type(model).__name__}, which raised "
            f"{type(error).__name__}: {error}; drop what cannot be copied from it (open files, "
            "tensors of a graph such as torch.nn.utils.weight_norm keeps: use parametrizations.weight_norm)"
        ) from error
    for part in new.modules():
        _uncover_children_(part)
    return new


def keep_activation_when_copied_(layer: nn.TransformerDecoderLayer) -> None:
    """Let copies and pickles of a layer keep an activation that is a module; torch's own would put F.relu there."""
    if not getattr(layer, "_keeps_activation", False):
        layer.__class__ = _class_that_keeps(type(layer))  # type: ignore[arg-type]


@cache
def _class_that_keeps(origin: Any) -> Any:
    def set_state(self: Any, state: Any) -> None:
        origin.__setstate__(self, state)
        _uncover_children_(self)

    members = {
        "__setstate__": set_state,
        "__reduce_ex__": lambda self, protocol: (_rebuild, (origin,), self.__getstate__()),
        "__module__": origin.__module__,
        "__qualname__": origin.__qualname__,
        "__doc__": origin.__doc__,
        "_keeps_activation": True,
    }
    return subclass_of(origin, members)


def _uncover_children_(part: nn.Module) -> None:
    """Remove attributes that hide children: torch's decoder layer sets F.relu beside its child when it is copied."""
    for name in part._modules:
        vars(part).pop(name, None)


def _rebuild(origin: type[nn.TransformerDecoderLayer]) -> Any:
    made = _class_that_keeps(origin)  # type: ignore[arg-type]
    return made.__new__(made)
