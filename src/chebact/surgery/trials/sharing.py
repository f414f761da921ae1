"""A copy of a model's structure that holds the same weights."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from itertools import chain
from typing import Any

from torch import nn

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
        for name in part._modules:  # torch's decoder layer hides its activation behind F.relu when it is copied
            vars(part).pop(name, None)
    return new


def keep_activation_when_copied_(layer: nn.TransformerDecoderLayer) -> None:
    """Let copies and pickles of a layer keep an activation that is a module; torch's own would put F.relu there."""
    origin = type(layer)
    if origin.__setstate__ is nn.TransformerDecoderLayer.__setstate__:
        layer.__class__ = _class_that_keeps(origin)  # type: ignore[arg-type]


@cache
def _class_that_keeps(origin: Any) -> Any:
    members = {
        "__setstate__": nn.Module.__setstate__,
        "__reduce_ex__": lambda self, protocol: (_rebuild, (origin,), self.__dict__),
        "__module__": origin.__module__,
        "__qualname__": origin.__qualname__,
        "__doc__": origin.__doc__,
    }
    return type(origin.__name__, (origin,), members)


def _rebuild(origin: type[nn.TransformerDecoderLayer]) -> Any:
    made = _class_that_keeps(origin)  # type: ignore[arg-type]
    return made.__new__(made)
