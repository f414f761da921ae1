"""Where commands put what they have to say: a console that tables fit into, and files."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from chebact.files import write_whole
from chebact.lab import LabError

__all__ = ["save", "wide_console"]


def save(path: Path, content: bytes) -> None:
    """Write a file whole, or raise a LabError with the reason; a device or a pipe is written to as it is."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(content)
        else:
            write_whole(path, content)
    except OSError as error:
        raise LabError(f"cannot write {path}: {error.strerror}") from error


def wide_console(width: int = 120) -> Console:
    """Standard output; a file or a pipe has no width of its own and gets one that the tables fit into."""
    console = Console()
    return console if console.is_terminal else Console(width=width)
