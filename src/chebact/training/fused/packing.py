"""Where everything lies in a worker's memory, and the parameters of all replicas packed into one block and back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch import nn

__all__ = ["LINE", "Room", "Slot", "pack", "unpack_", "zeros"]

CACHE_LINE = 64  # bytes
LINE = 16  # places start at multiples of this, so that no vector crosses a cache line


class Room:
    """Hands out places, one after the other."""

    def __init__(self) -> None:
        self.length = 0

    def take(self, length: int) -> int:
        """The place of `length` numbers."""
        place = self.length
        self.length += -(-length // LINE) * LINE
        return place

    def take_apart(self, length: int) -> int:
        """As `take`, with a gap behind: blocks at distances of 4096 bytes would wait for each other."""
        place = self.take(length)
        self.length += LINE
        return place


@dataclass(frozen=True)
class Slot:
    """A parameter (replica, *) in a replica's block: at `place`, as rows of `columns` numbers, the last of which may be
    filled up with zeros; `turned` where rows and columns have changed places.
    """

    parameter: nn.Parameter
    place: int
    rows: int
    columns: int
    turned: bool

    def view(self, block: Any) -> Any:
        """The part of block (replica, length) that is this parameter, in its own order: (replica, rows, columns)."""
        part = block[:, self.place : self.place + self.rows * self.columns].reshape(-1, self.rows, self.columns)
        rows, columns = self.numbers.shape[1:]
        part = part.swapaxes(1, 2) if self.turned else part
        return part[:, :rows, :columns]

    @property
    def numbers(self) -> Any:
        """The parameter's own memory as (replica, rows, columns); a bias is one row."""
        own = self.parameter.detach().numpy()
        return own[:, None] if own.ndim == 2 else own


def pack(slots: list[Slot], length: int) -> Any:
    """The parameters as one block (replica, length), with zeros between and after them."""
    first = slots[0].numbers
    block = zeros((len(first), length), first.dtype)
    for slot in slots:
        slot.view(block)[...] = slot.numbers
    return block


def unpack_(slots: list[Slot], block: Any) -> None:
    """Put the numbers of the block back into the parameters."""
    for slot in slots:
        slot.numbers[...] = slot.view(block)
        torch.autograd.graph.increment_version(slot.parameter)  # NumPy wrote behind torch's back


def zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array of zeros that begins with a cache line. NumPy fills it on this thread: after work that torch divides,
    the threads of its team spin for a tenth of a second, at the cost of those that train.
    """
    count, size = math.prod(shape), numpy.dtype(dtype).itemsize
    room = numpy.zeros(count * size + CACHE_LINE, numpy.uint8)
    start = -room.ctypes.data % CACHE_LINE
    return room[start : start + count * size].view(dtype).reshape(shape)
