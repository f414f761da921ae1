"""Parameters, buffers and attributes of a model that are afterwards what they were before a run of it."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from chebact.surgery.trials.comparing import is_equal
from chebact.torch_modes import OWN_TYPES

AFFORDABLE = 2**28  # bytes of the copies of parameters
DEEPEST = 4  # containers inside of each other that are looked into

__all__ = ["attributes_of", "is_lazy_layer", "restore_attributes", "state_kept"]


@contextmanager
def state_kept(model: nn.Module) -> Iterator[None]:
    """Parameters, buffers and attributes are afterwards what they were before the block.

    Lazy layers that got a shape keep it. All buffers are copied. So are parameters, the smallest first, as long as the
    copies fit into `AFFORDABLE` bytes: every number of a model of that size is put back, however it was written. Of a
    larger parameter only its place in memory is put back (`weight.data = other`); where its version says that it was
    written in place, a warning names it.
    """
    kept = [_Kept(tensor) for tensor in _with_numbers(model.buffers())]
    kept += [_Kept(tensor, copied) for tensor, copied in _affordable(model)]
    parts = [(part, attributes_of(part)) for part in model.modules() if not is_lazy_layer(part)]
    try:
        yield
    finally:
        for part, attributes in parts:
            restore_attributes(part, attributes)
        written = [each.tensor for each in kept if not each.restore()]
        if names := [name for name, tensor in model.named_parameters() if any(tensor is each for each in written)]:
            warnings.warn(
                f"model must not write parameters that are too large to be copied, got {', '.join(names)} written by "
                "its forward; load its state again, or pass a model whose parameters are not written in forward",
                stacklevel=3,
            )


class _Kept:
    """A tensor of a model, its place in memory and its numbers; without a copy only its version."""

    def __init__(self, tensor: Tensor, copied: bool = True) -> None:
        self.tensor, self.place = tensor, tensor.data if type(tensor) in OWN_TYPES else None
        self.numbers = tensor.detach().clone() if copied else None
        self.version = None if copied or tensor.is_inference() else tensor._version

    def restore(self) -> bool:
        """Put the numbers back; whether these are known to be those from before."""
        if self.tensor.layout is not torch.strided or self.tensor.is_nested:
            return self._restore_sparse()
        if self.place is not None and self.tensor.data_ptr() != self.place.data_ptr():
            self.tensor.data = self.place
        if self.numbers is None:
            return self.version is None or self.version == self.tensor._version
        with torch.no_grad():
            if self.tensor.shape != self.numbers.shape:
                self.tensor.resize_(self.numbers.shape)
            if not torch.equal(self.tensor, self.numbers):  # its version does not tell: batch norm writes past it
                self.tensor.copy_(self.numbers)
        return True

    def _restore_sparse(self) -> bool:
        if self.numbers is not None and not is_equal(self.tensor, self.numbers):
            self.tensor.data = self.numbers
        return True


def _with_numbers(tensors: Iterable[Tensor]) -> list[Tensor]:
    return [tensor for tensor in tensors if not is_lazy(tensor) and not tensor.is_meta]


def _affordable(model: nn.Module) -> Iterator[tuple[Tensor, bool]]:
    """The parameters of torch's own types, the smallest first, and whether a copy of each is affordable."""
    left = AFFORDABLE
    own = (each for each in _with_numbers(model.parameters()) if type(each) in OWN_TYPES)
    for parameter in sorted(own, key=lambda each: each.nbytes):
        left -= parameter.nbytes
        yield parameter, left >= 0


def is_lazy_layer(part: nn.Module) -> bool:
    """Whether parameters or buffers of a layer have no shape yet."""
    return any(map(is_lazy, chain(part.parameters(recurse=False), part.buffers(recurse=False))))


def attributes_of(module: nn.Module) -> dict[str, tuple[Any, list[Any]]]:
    """The attributes of a module, and what those hold that are lists, sets, deques or dicts, at any depth."""
    return {name: (value, _items(value)) for name, value in vars(module).items() if not _is_of_torch(name)}


def _is_of_torch(name: str) -> bool:
    """The mode, and the constants of torch.fx, which are refused with a reason of their own."""
    return name == "training" or name.startswith("_tensor_constant")


def _items(value: Any, depth: int = 0) -> list[Any]:
    """Pairs of a part and what that holds itself; for a dict also the key."""
    if depth > DEEPEST:
        return []
    if isinstance(value, dict):
        return [(key, part, _items(part, depth + 1)) for key, part in value.items()]
    return [(None, part, _items(part, depth + 1)) for part in value] if isinstance(value, (list, set, deque)) else []


def restore_attributes(module: nn.Module, before: dict[str, tuple[Any, list[Any]]]) -> list[str]:
    """Set the attributes to what they were; the names of those that had changed."""
    after, none = attributes_of(module), (None, [None])
    changed = [name for name in {**before, **after} if not _is_unchanged(before.get(name, none), after.get(name, none))]
    for name in changed:
        vars(module).pop(name, None)
        if name in before:
            vars(module)[name] = before[name][0]
            _refill(*before[name])
    return changed


def _refill(value: Any, items: list[Any]) -> None:
    """Put back what a container held."""
    if not isinstance(value, (dict, list, set, deque)):
        return
    for _, part, inner in items:
        _refill(part, inner)
    value.clear()
    if isinstance(value, dict):
        value.update((key, part) for key, part, _ in items)
    else:
        (value.update if isinstance(value, set) else value.extend)(part for _, part, _ in items)


def _is_unchanged(before: tuple[Any, list[Any]], after: tuple[Any, list[Any]]) -> bool:
    return before[0] is after[0] and _hold_the_same(before[1], after[1])


def _hold_the_same(before: list[Any], after: list[Any]) -> bool:
    if len(before) != len(after) or None in (*before, *after):
        return before == after
    pairs = zip(before, after, strict=True)
    return all(a[0] is b[0] and a[1] is b[1] and _hold_the_same(a[2], b[2]) for a, b in pairs)
