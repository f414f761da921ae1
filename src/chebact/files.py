"""Atomic writes of files (temporary file, flush, rename) and folders locked for one process."""

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

__all__ = ["FolderInUseError", "exclusive_lock", "flush_folder", "open_atomic", "write_atomic"]


class FolderInUseError(OSError):
    """Another process holds the lock of the folder."""


@contextmanager
def exclusive_lock(folder: Path) -> Iterator[None]:
    """Create a folder and lock it for this process; a FolderInUseError if another process holds the lock.

    The system releases the lock when the process ends, for any reason. Systems without such locks (Windows, some
    network drives) do not lock.

    >>> with tempfile.TemporaryDirectory() as folder, exclusive_lock(Path(folder) / "a"):
    ...     with exclusive_lock(Path(folder) / "b"):
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


def write_atomic(path: Path, content: bytes) -> None:
    """Create or replace a file and its folders atomically: a reader sees the old content or the new content."""
    with open_atomic(path) as file:
        file.write(content)


@contextmanager
def open_atomic(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which replaces `path` when the block succeeds and is removed when it fails.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_atomic(Path(folder) / "a" / "b.txt") as file:
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
    """Flush a folder, where the system allows it, so that a rename survives a power failure."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
