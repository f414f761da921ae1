"""Files that are whole or not there: written beside their place, flushed, renamed; folders with one writer."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["FolderInUseError", "alone_in", "flush_folder", "write_whole", "writing_whole"]


class FolderInUseError(OSError):
    """Another process works in the folder."""


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Work in a folder, which is made, while no other process does so; a FolderInUseError where one does.

    The system gives the folder free when the process ends, however it ends. Where it knows no such locks (Windows,
    some network drives) nothing is held.

    >>> with tempfile.TemporaryDirectory() as folder, alone_in(Path(folder) / "a"):
    ...     with alone_in(Path(folder) / "b"):
    ...         pass
    """
    folder.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    with (folder / ".lock").open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderInUseError(errno.EAGAIN, "another process works there", str(folder)) from None
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
                raise
        yield


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
