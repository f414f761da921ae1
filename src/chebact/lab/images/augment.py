"""Random shifts and mirroring of training images, each image on its own, as a few operations on the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Moves", "as_input", "draw_moves", "move_images", "with_border"]


@dataclass(frozen=True)
class Moves:
    """The move of each image of a batch: `down` and `right` (n,), from -shift to shift, and `mirrored` (n,)."""

    down: Tensor
    right: Tensor
    mirrored: Tensor

    def take(self, which: slice) -> Moves:
        """The moves of some of the images."""
        return Moves(self.down[which], self.right[which], self.mirrored[which])


def draw_moves(count: int, shift: int, flip: bool, generator: torch.Generator) -> Moves:
    """Draw the moves of `count` images; the number of draws from the generator does not depend on `flip`.

    >>> moves = draw_moves(100, 2, True, torch.Generator().manual_seed(0))
    >>> int(moves.down.min()), int(moves.down.max()), 30 < int(moves.mirrored.sum()) < 70
    (-2, 2, True)
    """
    shifts = torch.randint(-shift, shift + 1, (2, count), generator=generator, device=generator.device)
    mirrored = torch.rand(count, generator=generator, device=generator.device) < 0.5
    return Moves(shifts[0], shifts[1], mirrored if flip else torch.zeros_like(mirrored))


def move_images(images: Tensor, moves: Moves) -> Tensor:
    """Each image (n, channel, height, width) mirrored left to right, then shifted, with zeros outside.

    One gather for the batch, on any device and in any type.

    >>> one = torch.arange(4.0).reshape(1, 1, 2, 2)
    >>> move_images(one, Moves(torch.tensor([0]), torch.tensor([1]), torch.tensor([False]))).tolist()
    [[[[0.0, 0.0], [0.0, 2.0]]]]
    """
    height, width = images.shape[2:]
    device = images.device
    rows = torch.arange(height, device=device) - moves.down.to(device)[:, None]  # where each pixel comes from
    columns = torch.arange(width, device=device) - moves.right.to(device)[:, None]
    inside = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None, :]
    columns = torch.where(moves.mirrored.to(device)[:, None], width - 1 - columns, columns)
    index = rows.clamp(0, height - 1)[:, :, None] * width + columns.clamp(0, width - 1)[:, None, :]
    taken = images.flatten(2).gather(2, index.flatten(1)[:, None].expand(-1, images.shape[1], -1))
    return taken.reshape(images.shape) * inside[:, None].to(images.dtype)


def with_border(images: Tensor, border: int) -> Tensor:
    """Each image padded with `border` zero pixels on every side.

    >>> with_border(torch.ones(1, 1, 2, 2), 1).shape
    torch.Size([1, 1, 4, 4])
    """
    return torch.nn.functional.pad(images, (border,) * 4) if border else images


def as_input(images: Tensor, mean: Sequence[float], deviation: Sequence[float]) -> Tensor:
    """Bytes (n, channel, height, width) as the input of a network: (byte / 255 - mean) / deviation.

    >>> as_input(torch.full((1, 1, 1, 1), 255, dtype=torch.uint8), (0.5,), (0.25,)).item()
    2.0
    """
    shape = (1, -1, 1, 1)
    scale = torch.tensor([1 / (255 * each) for each in deviation], device=images.device).view(shape)
    offset = torch.tensor([m / d for m, d in zip(mean, deviation, strict=True)], device=images.device).view(shape)
    return images.float() * scale - offset
