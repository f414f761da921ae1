"""Checkpoints: written atomically, with a checksum, each of one training."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import torch

from chebact.files import open_atomic
from chebact.lab.spec import differences

__all__ = [
    "CheckpointError",
    "checkpoints",
    "has_compressed_parts",
    "is_checkpoint",
    "load_checkpoint",
    "read_checkpoint",
    "save_checkpoint",
]

MAGIC = b"chebact checkpoint 1\n"
NAME = re.compile(r"checkpoint-(\d+)\.pt")
KEPT = 2


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be written, read or used; the message is one sentence that says what to do."""


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, the oldest first.

    >>> checkpoints(Path("no such folder"))
    []
    """
    found = [path for path in folder.glob("checkpoint-*.pt") if NAME.fullmatch(path.name)]
    return sorted(found, key=position_of)


def position_of(path: Path) -> int:
    found = NAME.fullmatch(path.name)
    return int(found[1]) if found else -1


def save_checkpoint(folder: Path, position: int, state: Mapping[str, Any], identity: Mapping[str, Any]) -> Path:
    """Write `checkpoint-<position>.pt` and remove all but the newest two.

    `state` holds tensors and plain values; `identity` says which training it is of, in plain values. Should the disk
    be full or the machine stop, the checkpoints written before are as they were.
    """
    content = io.BytesIO()
    torch.save({"identity": dict(identity), "position": position, "state": dict(state)}, content)
    payload = content.getbuffer()
    path = folder / f"checkpoint-{position:05d}.pt"
    try:
        for partial in folder.glob(".checkpoint-*.partial"):  # of a process that was killed while it wrote
            partial.unlink()
        with open_atomic(path) as file:
            file.write(MAGIC + hashlib.sha256(payload).hexdigest().encode() + b"\n")
            file.write(payload)
        for old in checkpoints(folder)[:-KEPT]:
            old.unlink()
    except OSError as error:
        raise CheckpointError(
            f"cannot write {path}: {error.strerror}; the checkpoints written before are complete: free some space and "
            "run the same command again"
        ) from error
    return path


def load_checkpoint(path: Path, identity: Mapping[str, Any]) -> dict[str, Any]:
    """The state in a checkpoint of the training that `identity` names; a CheckpointError where it is damaged or of
    another one.
    """
    parts = read_checkpoint(path)
    if words := differences(parts["identity"], identity):
        raise CheckpointError(f"{path} is of another training ({words}): choose another folder with `results`")
    if parts["position"] != position_of(path):
        raise CheckpointError(
            f"{path} is the checkpoint {parts['position']} under another name; give it its name again"
        )
    state: dict[str, Any] = parts["state"]
    return state


def is_checkpoint(path: Path) -> bool:
    """Whether a file begins as a checkpoint does.

    >>> is_checkpoint(Path(__file__))
    False
    """
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def read_checkpoint(path: Path) -> dict[str, Any]:
    """All that a checkpoint holds: `identity`, `position` and `state`; a CheckpointError where it is damaged."""
    advice = f"remove it to continue from the one before, or move {path.parent} away to start again"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror}") from error
    start = len(MAGIC) + 65
    if content[: len(MAGIC)] != MAGIC or len(content) < start:
        raise CheckpointError(f"{path} is not a complete checkpoint of this version of chebact: {advice}")
    if hashlib.sha256(content[start:]).hexdigest().encode() != content[len(MAGIC) : start - 1]:
        raise CheckpointError(f"{path} is damaged: its checksum differs: {advice}")
    payload = io.BytesIO(content[start:])
    try:
        if has_compressed_parts(payload):
            raise CheckpointError(f"{path} has compressed parts, which no checkpoint has: {advice}")
        payload.seek(0)
        parts = torch.load(payload, map_location="cpu", weights_only=True)
        right = is_plain(parts["identity"]) and isinstance(parts["state"], dict)
        right = right and type(parts["position"]) is int
    except CheckpointError:
        raise
    except Exception as error:  # a foreign file with a valid checksum may raise anything
        raise CheckpointError(f"{path} does not hold what a checkpoint holds: {advice}") from error
    if not right:
        raise CheckpointError(f"{path} does not hold what a checkpoint holds: {advice}")
    return dict(parts)


def is_plain(identity: Any) -> bool:
    """Whether this is a dictionary of what JSON knows; an error or False where not."""
    return isinstance(identity, dict) and bool(json.dumps(identity, allow_nan=False))


def has_compressed_parts(file: IO[bytes] | Path) -> bool:
    """Whether a file is a zip file with compressed parts. torch.save writes none, and a few bytes may claim gigabytes.

    >>> has_compressed_parts(io.BytesIO(b"no zip file"))
    False
    """
    if not zipfile.is_zipfile(file):
        return False
    with zipfile.ZipFile(file) as archive:
        return any(part.compress_type != zipfile.ZIP_STORED for part in archive.infolist())
