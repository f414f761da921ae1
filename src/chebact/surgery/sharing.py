"""A copy of a model's structure that holds the same weights."""

from __future__ import annotations

from copy import deepcopy
from itertools import chain

from torch import nn

__all__ = ["copy_structure"]


def copy_structure(model: nn.Module, *, share: bool) -> nn.Module:
    """A copy of a model; with `share` its parameters and buffers are those of the model itself.

    >>> model = nn.Linear(2, 2)
    >>> copy_structure(model, share=True).weight is model.weight
    True
    """
    kept = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())} if share else {}
    try:
        return deepcopy(model, kept)
    except Exception as error:
        raise ValueError(
            f"model must be a module that copy.deepcopy can copy, got {type(model).__name__}, which raised "
            f"{type(error).__name__}: {error}; drop what cannot be copied (open files, tensors of a graph) from it"
        ) from error
