"""Output of the commands: a console that tables fit into, files, and folders.

One rule for every path of a user: a file is written into an existing folder, and of a folder only the last level is
created. A mistyped path creates nothing; it is refused before the work starts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

from chebact.files import write_atomic
from chebact.lab import LabError

__all__ = ["check_file", "check_folder", "check_outputs", "make_folder", "save", "wide_console"]

USUAL = Path("results")  # the default folder of all records: created together with those in it


def check_outputs(
    *, files: Iterable[Path | None] = (), folders: Iterable[Path | None] = (), documents: Iterable[Path] = ()
) -> None:
    """A LabError for the first of these that cannot be written; documents must exist."""
    for path in files:
        if path is not None:
            check_file(path)
    for folder in folders:
        if folder is not None:
            check_folder(folder, "--output")
    for document in documents:
        if not document.is_file():
            raise LabError(f"cannot update {document}: there is no such file; name a document with marked blocks")


def check_file(path: Path) -> None:
    """A LabError unless a file of this name can be written into an existing folder."""
    try:
        if path.is_dir():
            raise LabError(f"cannot write {path}: it is a folder; give the name of a file")
        if not path.parent.is_dir():
            raise LabError(f"cannot write {path}: there is no folder {path.parent}; make it, or name another file")
        if path.is_file() or not path.exists():  # a device or a pipe is written to as it is
            try_to_write(path.parent)
    except OSError as error:
        raise LabError(f"cannot write {path}: {error.strerror}; name another file") from error


def check_folder(folder: Path, option: str) -> None:
    """A LabError unless a folder can be written into, or created in an existing folder. Nothing is created."""
    try:
        if folder.is_dir():
            try_to_write(folder)
        elif folder.exists():
            raise LabError(f"cannot write into {folder}: it is a file, not a folder; choose another with {option}")
        elif folder.parent.is_dir():
            try_to_write(folder.parent)
        elif folder.parent != USUAL:
            raise LabError(
                f"cannot make {folder}: there is no folder {folder.parent}; make it, or choose another with {option}"
            )
    except OSError as error:
        raise LabError(f"cannot write into {folder}: {error.strerror}; choose another with {option}") from error


def make_folder(folder: Path, option: str = "--results") -> None:
    """Create a folder unless it exists; a LabError where it cannot be written into."""
    check_folder(folder, option)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(f"cannot make {folder}: {error.strerror}; choose another with {option}") from error


def try_to_write(folder: Path) -> None:
    """An OSError where nothing can be written into a folder: better before a run than after."""
    with tempfile.TemporaryFile(dir=folder):
        pass


def save(path: Path, content: bytes) -> None:
    """Write a file atomically, or raise a LabError with the reason; a device or a pipe is written to directly."""
    check_file(path)
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            write_atomic(path, content)
    except OSError as error:
        raise LabError(f"cannot write {path}: {error.strerror}") from error


def wide_console(width: int = 120) -> Console:
    """Standard output; a file or a pipe has no width and gets one that the tables fit into."""
    console = Console()
    return console if console.is_terminal else Console(width=width)
