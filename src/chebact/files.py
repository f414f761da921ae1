"""Files that are whole or not there: written beside their place, flushed to the disk, renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["flush_folder", "write_whole", "writing_whole"]


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file, or make it and its folders, in one step: a reader meets all of the old or all of the new."""
    with writing_whole(path) as file:
        file.write(content)


@contextmanager
def writing_whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write to that takes the place of `path` when the block ends well, and vanishes when it does not.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with writing_whole(Path(folder) / "a" / "b.txt") as file:
    ...         _ = file.write(b"all of it")
    ...     (Path(folder) / "a" / "b.txt").read_bytes()
    b'all of it'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".partial")
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(partial).chmod(0o644)
        Path(partial).replace(path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
    flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where the system lets a folder be flushed."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
