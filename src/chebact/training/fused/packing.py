"""Where everything lies in a worker's memory, and the parameters of all replicas packed into one block and back."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

__all__ = ["LINE", "Room", "Slot", "pack", "unpack_"]

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

    def view(self, block: Tensor) -> Tensor:
        """The part of block (replica, length) that is this parameter, in its own order: (replica, rows, columns)."""
        own = self.matrix(self.parameter)
        part = block[:, self.place : self.place + self.rows * self.columns].view(-1, self.rows, self.columns)
        shape = own.mT.shape if self.turned else own.shape
        part = part[:, : shape[1], : shape[2]]
        return part.mT if self.turned else part

    @staticmethod
    def matrix(tensor: Tensor) -> Tensor:
        """A parameter as (replica, rows, columns); a bias is one row."""
        return tensor.detach().unsqueeze(1) if tensor.ndim == 2 else tensor.detach()


def pack(slots: list[Slot], length: int) -> Tensor:
    """The parameters as one block (replica, length), with zeros between and after them."""
    first = slots[0].parameter
    block = torch.zeros(first.shape[0], length, dtype=first.dtype)
    for slot in slots:
        slot.view(block).copy_(slot.matrix(slot.parameter))
    return block


def unpack_(slots: list[Slot], block: Tensor) -> None:
    """Put the numbers of the block back into the parameters."""
    with torch.no_grad():
        for slot in slots:
            slot.parameter.copy_(slot.view(block).reshape(slot.parameter.shape))
