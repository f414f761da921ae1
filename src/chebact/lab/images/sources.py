"""Where the files of an image set can be found: in folders, archives and packages, in whatever form they are there.

Everything here only offers content, under the name of the file it claims to be; `image_fetch` checks it. Nothing is
unpacked to a place that an archive names: members are read one by one, no further than the wanted size.
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
from chebact.lab.images.restricted_pickle import read_arrays
from chebact.lab.images.unpacking import GZIP, UNREADABLE, Unpacked

__all__ = ["Offer", "offers_in", "offers_of"]

ARCHIVES = (".tar.gz", ".tgz", ".tar", ".tar.xz")
LARGEST = 64 * 2**20  # bytes of any file that is read, before it is known to be what it claims
ARCHIVE = 512 * 2**20  # bytes of an archive, unpacked; the largest that is known has 186 million
MEMBERS = 10_000  # files of an archive
BROKEN = (OSError, EOFError, tarfile.TarError, *UNREADABLE)


@dataclass(frozen=True)
class Offer:
    """Content that claims to be the file `name` of a set, and where it was found."""

    name: str
    where: str
    content: bytes


def offers_in(folder: Path, dataset: str) -> Iterator[Offer]:
    """All that a folder, an archive or a file of it offers for a set, however deep.

    A file that cannot be read is passed over, since another may hold the same; the first of them is named at the end.
    """
    if not folder.exists():
        raise DataError(f"there is no folder {folder}")
    broken: list[DataError] = []
    paths = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else [folder]
    for path in paths:
        if path.name.endswith((*ARCHIVES, ".deb")) or claimed(path.name, dataset):
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
            elif (name := claimed(path.name, dataset)) is not None:
                yield Offer(name, str(path), in_one_form(path.name, read_some(file, str(path)), str(path)))
    except BROKEN as error:
        raise DataError(f"{path} cannot be read to its end ({error}): get it anew") from error


def from_archive(file: IO[bytes], where: str, dataset: str) -> Iterator[Offer]:
    """The files of the set in a tar archive, by their last name; links and folders are passed over."""
    sheets: dict[str, bytes] = {}
    packed = Unpacked(file, where, ARCHIVE)
    with tarfile.open(fileobj=packed, mode="r|") as archive:  # type: ignore[call-overload]  # `read` is all it needs
        for count, member in enumerate(archive):
            if count >= MEMBERS:
                raise DataError(f"{where} has more than {MEMBERS} files, as no archive of the image sets has")
            last = PurePosixPath(member.name).name
            name, inside = claimed(last, dataset), f"{last} in {where}"
            wanted = member.isfile() and (name is not None or (dataset == "cifar10" and last in SHEETS))
            content = archive.extractfile(member) if wanted else None
            if content is None:
                continue
            if name is not None:
                yield Offer(name, inside, in_one_form(last, read_some(content, inside), inside))
            else:
                sheets[last] = read_some(content, inside)
    if set(sheets) >= set(SHEETS):
        yield from from_sheets(sheets, where)


def claimed(name: str, dataset: str) -> str | None:
    """The file of the set that a file of this name claims to be, whatever its form.

    >>> claimed("train-images-idx3-ubyte.gz", "mnist"), claimed("data_batch_1", "cifar10")
    ('train-images-idx3-ubyte', 'data_batch_1.bin')
    """
    plain = name.removesuffix(".gz").replace(".idx", "-idx")  # some copies are named train-images.idx3-ubyte
    if dataset == "cifar10":
        plain = plain if plain.endswith(".bin") else f"{plain}.bin"
    return plain if plain in FILES[dataset] else None


def in_one_form(name: str, content: bytes, where: str) -> bytes:
    """The content as the data folder has it: unpacked, and CIFAR's pickles as binary records."""
    if content[:2] == GZIP:
        content = Unpacked(io.BytesIO(content), where, LARGEST).read()
    if name.removesuffix(".gz") in PICKLES:
        return records(read_arrays(content), where)
    return content


PICKLES = tuple(name.removesuffix(".bin") for name in FILES["cifar10"])


def records(arrays: dict[str, object], where: str) -> bytes:
    """The binary records of a pickled batch: `data` (n, 3072) and `labels`."""
    data, labels = arrays.get("data"), arrays.get("labels")
    if not isinstance(data, numpy.ndarray) or data.ndim != 2 or data.shape[1] != 3072 or data.dtype != numpy.uint8:
        raise DataError(f"{where} has no images of CIFAR-10: an array `data` of 3072 bytes a row is wanted")
    if not isinstance(labels, list) or len(labels) != len(data) or not all(label in range(10) for label in labels):
        raise DataError(f"{where} has no labels of CIFAR-10: a list of {len(data)} numbers from 0 to 9 is wanted")
    return bytes(numpy.concatenate([numpy.array(labels, numpy.uint8)[:, None], data], axis=1).tobytes())


SHEETS = (*(f"{name.removesuffix('.bin')}.png" for name in FILES["cifar10"]), "train_lables.json", "test_lables.json")


def from_sheets(sheets: dict[str, bytes], where: str) -> Iterator[Offer]:
    """CIFAR-10 from six pictures with an image a row of 1024 pixels and two lists of labels (spelled as they are)."""
    try:
        from PIL import Image
    except ImportError as error:
        raise DataError("this package holds pictures, and Pillow reads them: pip install 'chebact[lab]'") from error
    *batches, test = (stored.size // RECORD for stored in FILES["cifar10"].values())  # images of each file
    lists = {
        part: labels_in(sheets, f"{part}_lables.json", where, count)
        for part, count in (("train", sum(batches)), ("test", test))
    }
    size = batches[0]
    for index, name in enumerate(FILES["cifar10"]):
        stem = name.removesuffix(".bin")
        labels = lists["test"] if stem == "test_batch" else lists["train"][size * index : size * (index + 1)]
        try:
            with Image.open(io.BytesIO(sheets[f"{stem}.png"]), formats=["PNG"]) as picture:
                if picture.size != (1024, len(labels)):
                    raise DataError(f"{stem}.png in {where} is of {picture.size} pixels, not of 1024 by {len(labels)}")
                pixels = numpy.asarray(picture.convert("RGB"))
        except DataError:
            raise
        except Exception as error:  # a broken picture raises anything
            raise DataError(f"{stem}.png in {where} is a broken picture: get it anew") from error
        planes = pixels.transpose(0, 2, 1).reshape(len(labels), 3072)
        yield Offer(name, f"{stem}.png in {where}", records({"data": planes, "labels": labels}, where))


def labels_in(sheets: dict[str, bytes], name: str, where: str, count: int) -> list[object]:
    """The list of so many labels in one of the package's JSON files."""
    try:
        labels = json.loads(sheets[name])
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name} in {where} is not JSON: get it anew") from error
    if not isinstance(labels, list) or len(labels) != count:
        raise DataError(f"{name} in {where} is no list of {count} labels: get it anew")
    return labels


def debian_data(file: IO[bytes]) -> IO[bytes]:
    """The Debian package, which is an ar archive, at the start of the archive of files within it."""
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


def read_some(file: IO[bytes], where: str) -> bytes:
    """All of a file, unless it is larger than any file of the sets."""
    content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise DataError(f"{where} is larger than any file of the image sets")
    return content
