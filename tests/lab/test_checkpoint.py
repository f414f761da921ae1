"""Checkpoints: whole or not there, found out when damaged or of another training, two kept."""

import errno
import os

import pytest
import torch

from chebact.lab.checkpoint import CheckpointError, checkpoints, load_checkpoint, save_checkpoint

IDENTITY = {"activation": "relu", "seed": 0}


def state(position):
    return {"weights": torch.full((1000,), float(position)), "epoch": position, "history": [{"loss": 0.5}]}


def filled(folder, count=3):
    for position in range(1, count + 1):
        save_checkpoint(folder, position, state(position), IDENTITY)
    return folder


def test_what_was_saved_comes_back_and_two_are_kept(tmp_path):
    filled(tmp_path, 12)
    assert [path.name for path in checkpoints(tmp_path)] == ["checkpoint-00011.pt", "checkpoint-00012.pt"]
    found = load_checkpoint(checkpoints(tmp_path)[-1], IDENTITY)
    assert torch.equal(found["weights"], torch.full((1000,), 12.0))
    assert found["history"] == [{"loss": 0.5}]


def test_what_a_killed_process_left_is_cleared_away(tmp_path):
    (tmp_path / ".checkpoint-00001-abc.partial").write_bytes(b"half")
    filled(tmp_path, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-00001.pt"]


def test_any_flipped_bit_is_found_out(tmp_path):
    older, newer = checkpoints(filled(tmp_path))
    content = newer.read_bytes()
    for place in (3, 40, 90, len(content) // 2, len(content) - 1):
        newer.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        with pytest.raises(CheckpointError, match=f"{newer.name} is .*: remove it to continue from the one before"):
            load_checkpoint(newer, IDENTITY)
    for length in (0, 30, len(content) - 1):
        newer.write_bytes(content[:length])
        with pytest.raises(CheckpointError, match="remove it"):
            load_checkpoint(newer, IDENTITY)
    assert load_checkpoint(older, IDENTITY)["epoch"] == 2


def test_a_checkpoint_of_another_training_is_refused_with_the_difference(tmp_path):
    path = checkpoints(filled(tmp_path))[-1]
    with pytest.raises(CheckpointError, match="activation is 'relu' there and 'tanh' here"):
        load_checkpoint(path, {**IDENTITY, "activation": "tanh"})


@pytest.mark.parametrize("where", ["write", "fsync"])
def test_a_full_disk_leaves_the_earlier_checkpoints(where, tmp_path, monkeypatch):
    filled(tmp_path, 2)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if where == "fsync":
        monkeypatch.setattr("chebact.files.os.fsync", full)
    else:
        real = os.fdopen

        def small(*arguments):
            return Small(real(*arguments))

        class Small:
            def __init__(self, file):
                self.file, self.left = file, 200

            def __enter__(self):
                return self

            def __exit__(self, *_):
                self.file.close()

            def write(self, content):
                self.left -= len(content)
                return full() if self.left < 0 else self.file.write(content)

        monkeypatch.setattr("chebact.files.os.fdopen", small)
    with pytest.raises(CheckpointError, match="No space left on device; the checkpoints written before are complete"):
        save_checkpoint(tmp_path, 3, state(3), IDENTITY)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_checkpoint_is_no_program(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path}/ran",)

    path = save_checkpoint(tmp_path, 1, {"x": Evil()}, IDENTITY)
    with pytest.raises(CheckpointError, match=r"checkpoint-00001\.pt does not hold what a checkpoint holds"):
        load_checkpoint(path, IDENTITY)
    assert not (tmp_path / "ran").exists()
