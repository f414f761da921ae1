"""The image sets: MNIST, Fashion-MNIST and CIFAR-10 from the data folder, scikit-learn's digits from its package."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy
import torch
from torch import Tensor

from chebact.lab.images.files import FILES, DataError, read_cifar, read_idx, read_stored

__all__ = ["IMAGE_DATASETS", "ImageDataset", "ImageSet", "data_folder", "load_images"]

Part = Literal["train", "test"]
DIGITS_TRAIN = 1437  # four fifths of 1797, in scikit-learn's order, which is not shuffled
CIFAR_STATISTICS = (0.4914, 0.4824, 0.4467), (0.2471, 0.2435, 0.2616)  # mean and deviation of each colour


@dataclass(frozen=True)
class ImageDataset:
    """A row of the table: the images of a set, and how the paper trains on them.

    `border` is the padding of all images with zeros, in pixels; training images are then shifted at random by up to
    `shift` pixels and, with `flip`, half of them are mirrored. The input is (pixel / 255 - mean) / deviation.
    """

    title: str
    channels: int
    size: int
    train: int
    test: int
    border: int
    shift: int
    flip: bool
    shake: bool
    mean: tuple[float, ...] = (0.0,)
    deviation: tuple[float, ...] = (1.0,)
    classes: int = 10


IMAGE_DATASETS: dict[str, ImageDataset] = {
    "digits": ImageDataset("Digits", 1, 8, DIGITS_TRAIN, 360, 0, 1, False, False),
    "mnist": ImageDataset("MNIST", 1, 28, 60_000, 10_000, 2, 2, False, False),
    "fashion-mnist": ImageDataset("Fashion-MNIST", 1, 28, 60_000, 10_000, 2, 2, True, False),
    "cifar10": ImageDataset("CIFAR-10", 3, 32, 50_000, 10_000, 0, 4, True, True, *CIFAR_STATISTICS),
}
"""The image sets by name."""


@dataclass(frozen=True)
class ImageSet:
    """Images (n, channel, height, width) of unsigned bytes and labels (n,) of integers."""

    images: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def head(self, count: int | None) -> ImageSet:
        """The first `count` images, or all."""
        return self if count is None else ImageSet(self.images[:count], self.labels[:count])


def data_folder() -> Path:
    """The default data folder: $CHEBACT_DATA, or chebact in the user's cache folder.

    >>> data_folder().name != ""
    True
    """
    named = os.environ.get("CHEBACT_DATA")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "chebact"


def load_images(dataset: str, part: Part, folder: Path | None = None) -> ImageSet:
    """The training or the test part of a set, every file checked; a DataError if one is missing or damaged.

    >>> digits = load_images("digits", "test")
    >>> digits.images.shape, digits.images.dtype
    (torch.Size([360, 1, 8, 8]), torch.uint8)
    """
    if dataset not in IMAGE_DATASETS:
        raise DataError(f"unknown image set {dataset!r}: choose from {', '.join(IMAGE_DATASETS)}")
    if part not in ("train", "test"):
        raise DataError(f"unknown part {part!r}: choose from train, test")
    if dataset == "digits":
        return _digits(part)
    folder = data_folder() if folder is None else folder
    if dataset == "cifar10":
        names = [name for name in FILES[dataset] if name.startswith("test") == (part == "test")]
        pairs = [read_cifar(read_stored(dataset, name, folder)) for name in names]
        images, labels = (numpy.concatenate(arrays) for arrays in zip(*pairs, strict=True))
    else:
        stem = "train" if part == "train" else "t10k"
        images = read_idx(read_stored(dataset, f"{stem}-images-idx3-ubyte", folder))[:, None]
        labels = read_idx(read_stored(dataset, f"{stem}-labels-idx1-ubyte", folder))
    return ImageSet(torch.from_numpy(images.copy()), torch.from_numpy(labels.astype(numpy.int64)))


def _digits(part: Part) -> ImageSet:
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise DataError("the digits come with scikit-learn: pip install 'chebact[lab]'") from error
    digits = load_digits()
    rows = slice(None, DIGITS_TRAIN) if part == "train" else slice(DIGITS_TRAIN, None)
    levels = numpy.rint(digits.images[rows, None] * (255 / 16)).astype(numpy.uint8)  # they have levels from 0 to 16
    return ImageSet(torch.from_numpy(levels), torch.from_numpy(digits.target[rows].astype(numpy.int64)))
