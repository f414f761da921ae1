"""A small network as a list of steps on vectors, for those who write it down elsewhere: as a formula, as C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from chebact.basis import Basis

__all__ = ["Curve", "Move", "Program", "Step", "Window"]


@dataclass(frozen=True)
class Curve:
    """A learned activation: heights or weights (row, degree + 1), float64, and the basis that they belong to."""

    heights: Any
    basis: Basis


class Window(NamedTuple):
    """Where a convolution or a pooling reads, on planes (channel, height, width); channels are those of one group."""

    groups: int
    inputs: int
    outputs: int
    height: int
    width: int
    rows: int
    columns: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]


class Move(NamedTuple):
    """Numbers that are copied from one input of a step to its result: a block, and its place at both ends."""

    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]
    out_offset: int
    out_strides: tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """One vector from others.

    `kind` is linear, convolution, curve, a row of `elements.ELEMENTS` or `elements.PAIRS`, or another name that the
    writers have a row for. `layout` is (outer, channel, inner): the vector as a block whose middle axis has the
    channels of `weight`, `bias` and `curve`, or is the one that is reduced.
    """

    kind: str
    inputs: tuple[int, ...]
    size: int
    weight: Any = None
    bias: Any = None
    curve: Curve | None = None
    numbers: tuple[float, ...] = ()
    layout: tuple[int, int, int] = (1, 1, 1)
    window: Window | None = None
    moves: tuple[Move, ...] = ()

    @property
    def factor(self) -> float:
        """The first number: the factor of a step `scale`."""
        return self.numbers[0]


@dataclass(frozen=True)
class Program:
    """Steps in order; vector 0 is the input, vector k + 1 the result of step k, the last one the output."""

    inputs: int
    steps: tuple[Step, ...]
    shape: tuple[int, ...] = ()
    """Of one input, without the batch axis."""
