"""The channel axis of a tensor, probed: a twin of a layer's output, with some channels changed, goes the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from random import Random
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.weak import WeakTensorKeyDictionary

from chebact.surgery.kinds import Layout, produced_by
from chebact.torch_modes import without_functions

__all__ = ["PRODUCT", "Twin", "Twins"]

PRODUCT = "it is given a product of tensors, of which no layer tells the channel axis; pass channel_dim"
LAYERS = {"linear": -1, "conv1d": 1, "conv2d": 1, "conv3d": 1, "conv_transpose1d": 1, "conv_transpose2d": 1}
"""Functions that make channels as a layer does, and their axis."""
FACTORS = ("matmul", "bmm", "__matmul__")
ALL = 0.95  # of the numbers that are others: then no channel tells itself from the rest
PRODUCTS = ("matmul", "mm", "bmm", "__matmul__", "addmm", "baddbmm")


class Twin(NamedTuple):
    """A tensor with some channels changed, and the layer that made it: name, number and axis of its channels.

    Where all numbers are others the channels are mixed, and stay so.
    """

    tensor: Tensor
    evidence: str
    channels: int
    axis: int
    is_weight: bool = False
    is_mixed: bool = False


class Twins:
    """The twins of the tensors of one run.

    >>> x, twins = torch.zeros(2, 5, 8), Twins()
    >>> twins.start(x, -1, "Linear")
    >>> y = twins.call(Tensor.transpose, (x, 1, 2), {})
    >>> twins.find(y)
    Layout(channels=8, channel_dim=1, evidence='after Linear')
    """

    def __init__(self) -> None:
        self.twins: Any = WeakTensorKeyDictionary()
        self.quiet = self.busy = 0  # inside of a layer whose output starts anew; in a run for a twin

    def start(self, output: Tensor, axis: int, evidence: str) -> None:
        """A layer gave that output, with the channels at that axis: the twin has others in some of them."""
        channels = output.shape[axis]
        shape = [1] * output.dim()
        shape[axis] = channels
        with self._trying():
            if output.is_floating_point() and output.numel() and not output.is_meta:
                size = output.abs()
                noise = (torch.rand_like(output) + 0.5) * (size + size.mean() + 1e-2) / 8
                twin = output + noise * _bits(channels).to(output).view(shape)
                self.twins[output] = Twin(twin, evidence, channels, axis - output.dim() if axis >= 0 else axis)

    def note(self, layer: nn.Module, output: Any) -> None:
        """A module gave an output; of several tensors the first counts, as after a recurrent layer."""
        first = output[0] if isinstance(output, tuple) and output else output
        if not isinstance(first, Tensor) or isinstance(layer, nn.Sequential):
            return
        known, shape = produced_by(layer), tuple(first.shape)
        if known is not None and len(shape) > 1 and shape[known.channel_dim :][:1] == (known.channels,):
            self.start(first, known.channel_dim, known.evidence)
        elif (twin := self.twins.get(first)) is not None and twin.evidence == "weights":
            self.twins[first] = twin._replace(evidence=type(layer).__name__, is_weight=False)

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a function of torch, which is called on the twins too."""
        if self.quiet or self.busy:
            return function(*args, **kwargs)
        name, given = str(getattr(function, "__name__", "")), _tensors((args, kwargs))
        found = {}
        for each in given:
            if (twin := self._twin_of(each)) is not None:
                found[id(each)] = twin
        if not found and name not in LAYERS and name not in PRODUCTS:
            return function(*args, **kwargs)
        writes = (
            name.startswith(("__i", "__set")) or (name.endswith("_") and not name.endswith("__")) or "out" in kwargs
        )
        writes = writes or kwargs.get("inplace") is True or True in [each for each in args if isinstance(each, bool)]
        first = given[0] if writes else None
        before, state = None, None
        if found:
            state = torch.get_rng_state()
            with self._trying():
                before = _replaced((args, kwargs), lambda each: each.clone() if each is first else each)
                if first is not None and id(first) not in found:
                    found[id(first)] = next(iter(found.values()))._replace(tensor=first.clone())
        result = function(*args, **kwargs)
        made = _tensors(result) or ([] if first is None else [first])
        if made and (axis := self._axis_made(name, args)) is not None:
            self.start(made[0], axis, name)
        elif found and made:
            for each in made:
                self.twins.pop(each, None)
            with self._trying():
                self._step(function, (args, kwargs), before, found, made, state, first)
        return result

    def _step(
        self, function: Any, given: Any, before: Any, found: dict[int, Twin], made: list[Tensor], state: Any, first: Any
    ) -> None:
        """Make the twins of a result: by the inputs, and where these tell nothing any more, as in a norm, by weights.
        Of two factors that counts of which some is as it was, and of attention what it takes the mean of.
        """
        inputs = {key: twin for key, twin in found.items() if not twin.is_weight}
        name = str(getattr(function, "__name__", ""))
        if name in FACTORS and len(inputs) > 1:
            telling = {key: twin for key, twin in inputs.items() if not twin.is_mixed}
            inputs = telling if len(telling) == 1 else inputs
        elif name == "scaled_dot_product_attention":
            inputs = {id(each): inputs[id(each)] for each in given[0][2:3] if id(each) in inputs}
        weights = {key: twin for key, twin in found.items() if twin.is_weight}
        for way in filter(None, (inputs, weights)):
            torch.set_rng_state(state)
            args, kwargs = self._changed(given, before, way, first)
            results = _tensors(function(*args, **kwargs)) or _tensors((args, kwargs))[:1]
            twin, is_mixed = next(iter(way.values())), all(each.is_mixed for each in way.values())
            for each, new in zip(made, results, strict=False):
                mixed = is_mixed or (twin.channels > 1 and _share(each, new) > ALL)
                self.twins[each] = twin._replace(tensor=new, is_mixed=mixed)
            if not weights or not all(self.twins[each].is_mixed for each in made):
                break

    @staticmethod
    def _changed(given: Any, before: Any, way: dict[int, Twin], first: Any) -> Any:
        """Arguments with twins in some places; what the function wrote into is a copy from before."""
        flat = iter(_tensors(before))

        def change(tensor: Tensor) -> Tensor:
            old = next(flat)
            return way[id(tensor)].tensor if id(tensor) in way else old

        return _replaced(given, change)

    def _twin_of(self, tensor: Tensor) -> Twin | None:
        """The twin of a tensor; that of weights along one axis is made where they are used."""
        twin: Twin | None = self.twins.get(tensor)
        if twin is None and isinstance(tensor, nn.Parameter) and tensor.dim() == 1 and len(tensor) > 1:
            self.start(tensor, -1, "weights")
            if (made := self.twins.get(tensor)) is not None:
                self.twins[tensor] = twin = made._replace(is_weight=True)
        return twin

    @staticmethod
    def _axis_made(name: str, args: tuple[Any, ...]) -> int | None:
        """The channel axis of what a function makes with weights; None for all other functions."""
        if name in LAYERS:
            return LAYERS[name]
        pair = [each for each in args if isinstance(each, Tensor)][-2:] if name in PRODUCTS else []
        if len(pair) < 2 or pair[1].dim() < 2 or pair[0].dim() < 2:
            return None
        return -1 if isinstance(pair[1], nn.Parameter) else -2 if isinstance(pair[0], nn.Parameter) else None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """What is computed in the block is not of the run: it leaves no trace."""
        self.busy += 1
        states = torch.get_rng_state()
        try:
            with without_functions(), torch.no_grad():
                yield
        finally:
            self.busy -= 1
            torch.set_rng_state(states)

    @contextmanager
    def _trying(self) -> Iterator[None]:
        """The same for what a twin may not be able to do; then nothing is known of it."""
        with suppress(Exception), self.alone():
            yield

    def find(self, x: Tensor) -> Layout | str | None:
        """The layout of what an activation is given: along one axis some change and others do not, whatever the rest.

        Of more than two axes the first is the batch: a reshape of a batch of 1 joins the channels with it. Of channels
        that were split into heads, at the second of four axes as in attention, a head is one.
        """
        twin = self.twins.get(x)
        if twin is None or x.dim() < 2 or twin.tensor.shape != x.shape:
            return None
        axes = [] if twin.is_mixed else _axes(x, twin.tensor)
        if not twin.is_weight and len(axes) != 1 and x.dim() >= -twin.axis and x.shape[twin.axis] == twin.channels:
            loose = _axes(x, twin.tensor, strict=False) if twin.channels > 1 else _lonely(x)
            axes = loose if loose == [twin.axis + x.dim()] else axes
        if len(axes) == 1 and (axes[0] or x.dim() == 2):
            (axis,) = axes
            return Layout(x.shape[axis], -1 if axis == x.dim() - 1 > 1 else axis, f"after {twin.evidence}")
        spread = _spread(x, twin.tensor) if not twin.is_mixed and x.dim() > 2 else []
        bits = _bits(twin.channels).bool()
        told = [k for k in spread if k and torch.equal((x != twin.tensor).movedim(k, 0).flatten(1).any(1).cpu(), bits)]
        if len(told) == 1:
            return Layout(x.shape[told[0]], -1 if told[0] == x.dim() - 1 else told[0], f"after {twin.evidence}")
        # a mask or a padding along an axis that is no part of the channels looks like a split of them too
        if x.dim() == 4 and spread in ([1, 2], [1, 3]) and twin.channels % (x.shape[1] * x.shape[spread[1]]) == 0:
            return Layout(x.shape[1], 1, f"heads after {twin.evidence}")
        return PRODUCT if twin.is_mixed else ""


@cache
def _bits(size: int) -> Tensor:
    """Which channels are changed: no part of them is like another, so that no axis of a split looks like theirs. Few
    follow the sequence of Thue and Morse, which has no two equal halves; one alone is changed.
    """
    draw = Random(size)
    bits = [k.bit_count() % 2 if size < 16 else draw.randrange(2) for k in range(size)] if size > 1 else [1]
    return torch.tensor(bits, dtype=torch.float32, device="cpu")


def _axes(x: Tensor, twin: Tensor, strict: bool = True) -> list[int]:
    """The axes along which some differ and others do not; strictly, each slice as a whole."""
    changed = (x != twin) & ~(x.isnan() & twin.isnan())
    found = []
    for axis in range(x.dim()):
        rows = changed.movedim(axis, 0).flatten(1)
        some, every = rows.any(1), rows.all(1)
        if bool(some.any()) and not bool(some.all()) and (not strict or torch.equal(some, every)):
            found.append(axis)
    return found


def _spread(x: Tensor, twin: Tensor) -> list[int]:
    """The axes along which it changes which numbers differ: several where channels were split, as into heads."""
    changed = x != twin
    return [axis for axis in range(x.dim()) if not torch.equal(changed.any(axis), changed.all(axis))]


def _share(x: Tensor, twin: Tensor) -> float:
    return 0.0 if x.is_nested or x.shape != twin.shape else float((x != twin).float().mean())


def _lonely(x: Tensor) -> list[int]:
    return [axis for axis in range(1, x.dim()) if x.shape[axis] == 1]


def _tensors(value: Any) -> list[Tensor]:
    found: list[Tensor] = []
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else (value,):
        if isinstance(each, Tensor):
            found.append(each)
        elif isinstance(each, (tuple, list, dict)) and each:
            found += _tensors(each)
    return found


def _replaced(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """A copy of arguments with other tensors."""
    if isinstance(value, Tensor):
        return change(value)
    if type(value) in (tuple, list):
        return type(value)([_replaced(each, change) for each in value])
    if type(value) is dict:
        return {key: _replaced(each, change) for key, each in value.items()}
    return value
