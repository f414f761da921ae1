"""A table as text: columns as wide as their longest cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["text_table"]


def text_table(rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """The rows as lines; the first `words` columns are aligned to the left, the others to the right.

    >>> print(text_table([("name", "size"), ("first", "12")]))
    name   size
    first    12
    """
    lines = [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(_aligned(line, widths, words)).rstrip() for line in lines)


def _aligned(line: Sequence[str], widths: Sequence[int], words: int) -> Iterable[str]:
    for number, (cell, width) in enumerate(zip(line, widths, strict=True)):
        yield cell.ljust(width) if number < words else cell.rjust(width)
