"""Checkpoints with a right checksum and strange content: refused in one sentence that names the file, nothing run."""

import copy
import hashlib
import io
import os
import zipfile

import pytest
import torch

from chebact.lab.checkpoint import MAGIC, CheckpointError, load_checkpoint, read_checkpoint
from chebact.lab.cli import run_command
from chebact.lab.images.network import ShakeShakeResNet
from chebact.lab.images.sets import IMAGE_DATASETS, load_images
from chebact.lab.images.training import GENERATORS, ImageSettings, ImageTraining

NAME = "checkpoint-00001.pt"
IDENTITY = {"activation": "cl-extrapolate", "seed": 0, "where": [2, 3]}
pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.filterwarnings("ignore")]


def training(folder):
    network = ShakeShakeResNet(1, widths=(4, 4, 8, 8), blocks=1, generator=torch.Generator().manual_seed(1))
    data = [load_images("digits", part).head(32) for part in ("train", "test")]
    drawn = {name: torch.Generator().manual_seed(2) for name in GENERATORS}
    settings = ImageSettings(epochs=2, batch_size=16)
    return ImageTraining(network, *data, IMAGE_DATASETS["digits"], settings, drawn, folder=folder, identity=IDENTITY)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """What the checkpoint of a training holds after its first epoch."""
    folder = tmp_path_factory.mktemp("trained")
    own = training(folder)
    own.history.append(own.train_epoch_())
    own.save()
    return read_checkpoint(folder / NAME)


def packed(content):
    raw = content
    if not isinstance(content, bytes):
        file = io.BytesIO()
        torch.save(content, file)
        raw = file.getvalue()
    return MAGIC + hashlib.sha256(raw).hexdigest().encode() + b"\n" + raw


def test_an_honest_checkpoint_is_taken_up(trained, tmp_path):
    (tmp_path / NAME).write_bytes(packed(trained))
    own = training(tmp_path)
    own.resume_()
    assert [epoch.epoch for epoch in own.history] == [1]
    assert all(
        torch.equal(value, trained["state"]["network"][name]) for name, value in own.network.state_dict().items()
    )
    assert len(own.run()) == 2


class Payload:
    def __reduce__(self):
        return os.mkdir, ("ran",)


def first_of(mapping):
    return next(iter(mapping))


def in_place(change):
    def changed(parts):
        change(parts)
        return parts

    return changed


def each_state(value):
    return in_place(lambda parts: parts.update(state=dict.fromkeys(parts["state"], value)))


def part(*path, value):
    """Replace one part, named by its keys; `...` is the first key there."""

    def change(parts):
        inner = parts
        for key in path[:-1]:
            inner = inner[first_of(inner) if key is ... else key]
        last = path[-1]
        inner[first_of(inner) if last is ... else last] = value

    return in_place(change)


def without(*path):
    def change(parts):
        inner = parts
        for key in path[:-1]:
            inner = inner[key]
        del inner[first_of(inner) if path[-1] is ... else path[-1]]

    return in_place(change)


WRONG = [None, 3, float("nan"), "x", [], {}, torch.zeros(3), [[[]]], torch.zeros(2, 2).to_sparse(), True]
PLACES = [
    ("identity",),
    ("position",),
    ("state",),
    ("identity", "seed"),
    *(("state", name) for name in ("network", "optimizer", "schedule", "generators", "history")),
    ("state", "network", ...),
    ("state", "optimizer", "state"),
    ("state", "optimizer", "state", ...),
    ("state", "optimizer", "state", ..., "momentum_buffer"),
    ("state", "optimizer", "param_groups"),
    ("state", "optimizer", "param_groups", 0),
    ("state", "optimizer", "param_groups", 0, "params"),
    ("state", "generators", 0),
    ("state", "generators", 0, "order"),
    ("state", "history", 0),
    ("state", "history", 0, "epoch"),
    ("state", "schedule", "base_lrs"),
]
WHOLE = {
    "a payload": lambda parts: {**parts, "state": Payload()},
    "a payload as a weight": part("state", "network", ..., value=Payload()),
    "bytes": lambda parts: b"hello",
    "nothing": lambda parts: b"",
    "a list": lambda parts: [1, 2],
    "other keys": lambda parts: {"a": 1},
    "tensors for all parts": each_state(torch.zeros(3)),
    "a weight of another shape": part("state", "network", ..., value=torch.zeros(3, 3)),
    "a weight of another type": part("state", "network", "first.weight", value=torch.zeros(4, 1, 3, 3).double()),
    "a weight on no device": part("state", "network", "first.weight", value=torch.zeros(4, 1, 3, 3, device="meta")),
    "a weight more": part("state", "network", "more", value=torch.zeros(3)),
    "a weight less": without("state", "network", ...),
    "a part less": without("state", "schedule"),
    "a method of the schedule": part("state", "schedule", "step", value=3),
    "a schedule with less": without("state", "schedule", "last_epoch"),
    "an optimizer of other parameters": part("state", "optimizer", "state", 10**6, value={"momentum_buffer": None}),
    "generators of other sizes": part("state", "generators", 0, "order", value=torch.zeros(3, dtype=torch.uint8)),
    "states of no generator": part(
        "state", "generators", 0, "order", value=torch.full((5056,), 255, dtype=torch.uint8)
    ),
    "a history of two": in_place(lambda parts: parts["state"]["history"].append(parts["state"]["history"][0])),
    "a history of none": in_place(lambda parts: parts["state"]["history"].clear()),
    "an epoch with more": part("state", "history", 0, "more", value=1.0),
    "an identity with a tensor": part("identity", "seed", value=torch.zeros(2)),
    "an identity with more": part("identity", "more", value=3),
}


def refused(folder, content, monkeypatch):
    """The sentence with which a training refuses a checkpoint of this content; nothing of it was taken over."""
    monkeypatch.chdir(folder)
    (folder / NAME).write_bytes(packed(content))
    own = training(folder)
    before = {name: value.clone() for name, value in own.network.state_dict().items()}
    with pytest.raises(CheckpointError) as error:
        own.resume_()
    sentence = str(error.value)
    assert str(folder / NAME) in sentence
    assert "\n" not in sentence
    assert len(sentence) < 700
    assert not (folder / "ran").exists()
    assert all(torch.equal(value, before[name]) for name, value in own.network.state_dict().items())
    assert own.history == []
    return sentence


def test_the_command_gives_the_sentence_alone(tmp_path, capsys):
    path = tmp_path / "digits" / "relu-1-epochs-of-16" / "seed-0" / NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(packed([1, 2]))
    words = ["run", "images", "--models", "relu", "--subset", "16", "--epochs", "1", "--seeds", "1"]
    assert run_command([*words, "--results", str(tmp_path)]) == 2
    (sentence,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("chebact: ")]
    assert NAME in sentence


@pytest.mark.parametrize("make", WHOLE.values(), ids=WHOLE)
def test_a_strange_checkpoint_is_one_sentence(make, trained, tmp_path, monkeypatch):
    refused(tmp_path, make(copy.deepcopy(trained)), monkeypatch)


def harmless(place, wrong):
    """What is right in that place: the numbers of a training are any numbers, and momentum may be missing."""
    momentum = place[:3] == ("state", "optimizer", "state")
    return momentum and ((len(place) == 3 and wrong == {}) or (len(place) == 5 and wrong is None))


@pytest.mark.parametrize(
    "place", PLACES, ids=lambda place: ".".join("first" if key is ... else str(key) for key in place)
)
def test_a_wrong_kind_of_value_anywhere_is_one_sentence(place, trained, tmp_path, monkeypatch):
    for wrong in WRONG:
        if harmless(place, wrong) or (place[-1] == "epoch" and wrong is True):
            continue
        refused(tmp_path, part(*place, value=wrong)(copy.deepcopy(trained)), monkeypatch)


def test_compressed_parts_are_refused_before_they_are_unpacked(tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", bytes(10**7))
    path = tmp_path / "checkpoint-00001.pt"
    path.write_bytes(packed(file.getvalue()))
    with pytest.raises(CheckpointError, match="compressed"):
        load_checkpoint(path, {})
