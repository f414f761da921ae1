"""The memory layout of a worker, and packing of the parameters of all replicas into one block and back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch import nn

__all__ = ["LINE", "Allocator", "Slot", "pack", "unpack_", "zeros"]

CACHE_LINE = 64  # bytes
LINE = 16  # offsets are multiples of this, so that no vector crosses a cache line


class Allocator:
    """Allocates offsets in sequence."""

    def __init__(self) -> None:
        self.length = 0

    def take(self, length: int) -> int:
        """The offset of `length` numbers."""
        offset = self.length
        self.length += -(-length // LINE) * LINE
        return offset

    def take_with_gap(self, length: int) -> int:
        """As `take`, followed by a gap: blocks 4096 bytes apart would conflict in the cache."""
        offset = self.take(length)
        self.length += LINE
        return offset


@dataclass(frozen=True)
class Slot:
    """A parameter (replica, *) in the block of a replica: at `offset`, as `rows` of `columns` numbers.

    It may be padded with zeros; `transposed` means that rows and columns are swapped.
    """

    parameter: nn.Parameter
    offset: int
    rows: int
    columns: int
    transposed: bool

    def view(self, block: Any) -> Any:
        """The part of block (replica, length) with this parameter, as (replica, rows, columns) of the parameter."""
        part = block[:, self.offset : self.offset + self.rows * self.columns].reshape(-1, self.rows, self.columns)
        rows, columns = self.numbers.shape[1:]
        part = part.swapaxes(1, 2) if self.transposed else part
        return part[:, :rows, :columns]

    @property
    def numbers(self) -> Any:
        """The memory of the parameter as (replica, rows, columns); a bias is one row."""
        memory = self.parameter.detach().numpy()
        return memory[:, None] if memory.ndim == 2 else memory


def pack(slots: list[Slot], length: int) -> Any:
    """The parameters as one block (replica, length), padded with zeros."""
    first = slots[0].numbers
    block = zeros((len(first), length), first.dtype)
    for slot in slots:
        slot.view(block)[...] = slot.numbers
    return block


def unpack_(slots: list[Slot], block: Any) -> None:
    """Copy the numbers of the block back into the parameters."""
    for slot in slots:
        slot.numbers[...] = slot.view(block)
        torch.autograd.graph.increment_version(slot.parameter)  # torch does not see what NumPy writes


def zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array of zeros, aligned to a cache line.

    NumPy fills it on this thread: after a parallel torch operation the threads of torch's pool spin for a tenth of a
    second, which slows down the training threads.
    """
    count, size = math.prod(shape), numpy.dtype(dtype).itemsize
    memory = numpy.zeros(count * size + CACHE_LINE, numpy.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + count * size].view(dtype).reshape(shape)
