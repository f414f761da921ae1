"""Augmentation of a batch against the plain way, image by image: pad, crop, flip."""

import numpy
import pytest
import torch

from chebact.lab.images.augment import Moves, as_input, draw_moves, move_images, with_border
from chebact.lab.images.sets import IMAGE_DATASETS


def plain(image, down, right, mirrored, shift):
    """Mirror, pad with zeros, cut the window out: numpy, one image (channel, height, width)."""
    image = image[:, :, ::-1] if mirrored else image
    _, height, width = image.shape
    padded = numpy.pad(image, ((0, 0), (shift, shift), (shift, shift)))
    top, left = shift - down, shift - right
    return padded[:, top : top + height, left : left + width]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize("shape", [(40, 3, 8, 8), (25, 1, 5, 7)])
def test_each_image_is_moved_on_its_own(shape, dtype):
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(1, 256, shape, generator=generator).to(dtype)
    moves = draw_moves(len(images), 3, True, generator)
    result = move_images(images, moves)
    assert result.dtype == dtype
    numbers = zip(images.numpy(), moves.down.tolist(), moves.right.tolist(), moves.mirrored.tolist(), strict=True)
    for index, (image, *move) in enumerate(numbers):
        numpy.testing.assert_array_equal(result[index].numpy(), plain(image, *move, shift=3))
    assert len({tuple(move) for move in zip(moves.down.tolist(), moves.right.tolist(), strict=True)}) > 10


def test_moves_are_uniform_and_flips_fair():
    moves = draw_moves(50_000, 2, True, torch.Generator().manual_seed(1))
    for axis in (moves.down, moves.right):
        counts = torch.bincount(axis + 2, minlength=5)
        assert len(counts) == 5
        assert ((counts - 10_000).abs() < 400).all()  # four deviations are 358
    assert abs(int(moves.mirrored.sum()) - 25_000) < 450
    assert torch.corrcoef(torch.stack([moves.down, moves.right]).double())[0, 1].abs() < 0.02
    assert not draw_moves(100, 2, False, torch.Generator()).mirrored.any()


def test_no_move_leaves_the_images_as_they_are():
    images = torch.arange(48.0).view(2, 2, 3, 4)
    still = Moves(
        torch.zeros(2, dtype=torch.int64), torch.zeros(2, dtype=torch.int64), torch.zeros(2, dtype=torch.bool)
    )
    assert torch.equal(move_images(images, still), images)


def test_the_generator_gives_the_same_number_of_draws_with_and_without_flips():
    one, two = (torch.Generator().manual_seed(3) for _ in range(2))
    assert torch.equal(draw_moves(7, 2, True, one).down, draw_moves(7, 2, False, two).down)
    assert torch.equal(one.get_state(), two.get_state())


def test_border_and_normalisation_of_the_paper():
    row = IMAGE_DATASETS["mnist"]
    images = torch.randint(0, 256, (3, 1, 28, 28), dtype=torch.uint8)
    bordered = with_border(images, row.border)
    assert bordered.shape == (3, 1, 32, 32)
    assert torch.equal(as_input(bordered, row.mean, row.deviation)[:, :, 2:-2, 2:-2], images.float() * (1 / 255))
    colour = IMAGE_DATASETS["cifar10"]
    pixels = torch.randint(0, 256, (2, 3, 4, 4), dtype=torch.uint8)
    mean, deviation = (torch.tensor(each).view(1, 3, 1, 1) for each in (colour.mean, colour.deviation))
    torch.testing.assert_close(as_input(pixels, colour.mean, colour.deviation), (pixels / 255 - mean) / deviation)
