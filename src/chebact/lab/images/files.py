"""The files of the image sets: their sizes and checksums, and readers of their formats.

The data folder has one format per set: idx files, unpacked, or the binary records of CIFAR-10.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy

from chebact.lab import LabError

__all__ = ["FILES", "DataError", "StoredFile", "read_cifar", "read_idx", "read_stored"]

RECORD = 3073  # bytes of an image of CIFAR-10: its class, then 1024 red, 1024 green and 1024 blue ones
UNSIGNED_BYTES = 8  # the code of that type in an idx file


class DataError(LabError):
    """Data that are missing or not what they should be; the message is one sentence that says what to do."""


@dataclass(frozen=True)
class StoredFile:
    """What a file in the data folder must be."""

    size: int
    sha256: str

    def read(self, path: Path) -> bytes:
        """The content of a file, up to one byte more than the size."""
        with path.open("rb") as file:
            return file.read(self.size + 1)

    def why_not_at(self, path: Path) -> str | None:
        """What is wrong with the file at this path, or None."""
        return self.why_not(self.read(path))

    def why_not(self, content: bytes) -> str | None:
        """What is wrong with these bytes, or None."""
        if len(content) != self.size:
            size = "more" if len(content) > self.size else f"{len(content):,}"
            return f"it must have {self.size:,} bytes, got {size}"
        sha256 = hashlib.sha256(content).hexdigest()
        return None if sha256 == self.sha256 else f"its sha256 must begin {self.sha256[:12]}, got {sha256[:12]}"


IDX = {
    "train-images-idx3-ubyte": 47_040_016,
    "train-labels-idx1-ubyte": 60_008,
    "t10k-images-idx3-ubyte": 7_840_016,
    "t10k-labels-idx1-ubyte": 10_008,
}
"""The files of MNIST and Fashion-MNIST, and their sizes in bytes."""
BATCHES = {**{f"data_batch_{number}.bin": 30_730_000 for number in range(1, 6)}, "test_batch.bin": 30_730_000}


def file_table(sizes: Mapping[str, int], *digests: str) -> dict[str, StoredFile]:
    """The files of a set: their sizes, and the sha256 of each."""
    return {name: StoredFile(sizes[name], sha256) for name, sha256 in zip(sizes, digests, strict=True)}


FILES: dict[str, dict[str, StoredFile]] = {
    "mnist": file_table(
        IDX,
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    "fashion-mnist": file_table(
        IDX,
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
    "cifar10": file_table(
        BATCHES,
        "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
        "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
        "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
        "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
        "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
    ),
}
"""What the data folder holds of each set, by file name."""


def read_stored(dataset: str, name: str, folder: Path) -> bytes:
    """The checked content of a file of the data folder; a DataError says what is wrong and how to get it."""
    path = folder / dataset / name
    fetch = f"fetch it with `chebact data fetch {dataset}`"
    try:
        content = FILES[dataset][name].read(path)
    except FileNotFoundError:
        raise DataError(f"there is no {path}: {fetch}, or name another with `folder`") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    reason = FILES[dataset][name].why_not(content)
    if reason is not None:
        raise DataError(f"{path} is not the file of that name ({reason}): remove it and {fetch}")
    return content


def read_idx(content: bytes) -> numpy.ndarray:
    """The array in an idx file of unsigned bytes: images (n, rows, columns) or labels (n,).

    >>> read_idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]))
    array([7, 8, 9], dtype=uint8)
    """
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != UNSIGNED_BYTES or not 1 <= content[3] <= 4:
        raise DataError(f"an idx file must be of unsigned bytes, got one that begins with {content[:4].hex(' ')}")
    axes = content[3]
    if len(content) < 4 + 4 * axes:
        raise DataError(f"an idx file must have the sizes of its {axes} axes, got one that ends within them")
    shape = struct.unpack(f">{axes}I", content[4 : 4 + 4 * axes])
    numbers = numpy.frombuffer(content, numpy.uint8, offset=4 + 4 * axes)
    if len(numbers) != prod(shape):
        raise DataError(f"an idx file must hold the {prod(shape):,} numbers that it claims, got {len(numbers):,}")
    return numbers.reshape(shape)


def read_cifar(content: bytes) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Images (n, 3, 32, 32) and labels (n,) of one of CIFAR-10's binary files.

    >>> images, labels = read_cifar(bytes([9]) + bytes(3072))
    >>> images.shape, labels.tolist()
    ((1, 3, 32, 32), [9])
    """
    if not content or len(content) % RECORD:
        raise DataError(f"the content must be records of {RECORD} bytes, got {len(content):,} bytes")
    records = numpy.frombuffer(content, numpy.uint8).reshape(-1, RECORD)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0]
