"""Fewer steps with the same result: what nothing reads is left out, factors per channel go into the layer before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy

from chebact.export.program import Step

__all__ = ["simplify"]


def simplify(steps: Sequence[Step], output: int) -> list[Step]:
    """The steps that vector `output` needs, in order, so that it is the last one."""
    return _used(*_folded(_used(steps, output)))


def _used(steps: Sequence[Step], output: int) -> list[Step]:
    needed, place = {output}, {0: 0}
    for index in range(output, 0, -1):
        if index in needed:
            needed.update(steps[index - 1].inputs)
    kept: list[Step] = []
    for index in sorted(needed - {0}):
        step = steps[index - 1]
        kept.append(replace(step, inputs=tuple(place[each] for each in step.inputs)))
        place[index] = len(kept)
    return kept


def _folded(steps: list[Step]) -> tuple[list[Step], int]:
    """With every `affine` step that is the only reader of a linear layer or convolution multiplied into it."""
    readers = Counter(each for step in steps for each in step.inputs)
    instead = list(range(len(steps) + 1))
    for index, step in enumerate(steps, 1):
        source = instead[step.inputs[0]]
        before = steps[source - 1] if source else None
        if step.kind == "affine" and before is not None and readers[step.inputs[0]] == 1 and _fits(before, step):
            steps[source - 1] = _multiplied(before, step)
            instead[index] = source
        else:
            steps[index - 1] = replace(step, inputs=tuple(instead[each] for each in step.inputs))
    return steps, instead[-1]


def _fits(before: Step, step: Step) -> bool:
    """Whether the channels of the factors are the outputs of that layer."""
    outer, channels, inner = step.layout
    if before.kind == "linear":
        return outer * inner == 1 and channels == before.size
    return before.kind == "convolution" and outer == 1 and channels == len(before.weight)


def _multiplied(before: Step, step: Step) -> Step:
    weight, bias = before.weight, before.bias
    if step.weight is not None:
        factors: Any = step.weight
        weight = weight * factors.reshape(-1, *(1,) * (weight.ndim - 1))
        bias = None if bias is None else bias * factors
    if step.bias is not None:
        bias = step.bias if bias is None else numpy.add(bias, step.bias)
    return replace(before, weight=weight, bias=bias)
