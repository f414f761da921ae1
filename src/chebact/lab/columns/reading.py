"""Reads a table of comma-separated values: columns of numbers or of texts, with errors that name row and column."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chebact.lab import LabError

__all__ = ["Column", "Sheet", "numbers_in", "read_sheet"]

MISSING = ("", "na", "n/a", "nan", "null", "none", "?")
Column = Sequence[str]


@dataclass(frozen=True)
class Sheet:
    """The cells of a file by column, as texts; `lines` are the line of each row in the file."""

    path: Path
    columns: dict[str, list[str]]
    lines: list[int]

    def where(self, row: int, column: str) -> str:
        """A cell in words."""
        return f"{self.path}, line {self.lines[row]}, column {column!r}"

    def column(self, name: str) -> list[str]:
        """A column; a LabError that lists the columns where there is none of that name."""
        if name not in self.columns:
            raise LabError(f"{self.path} has no column {name!r}: its columns are {', '.join(self.columns)}")
        return self.columns[name]


def read_sheet(path: Path) -> Sheet:
    """Read a file with a line of names and then a line per row; cells are divided by commas, semicolons or tabs."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise LabError(f"cannot read {path}: it is not text in UTF-8; save it as CSV in UTF-8") from error
    except OSError as error:
        raise LabError(f"cannot read {path}: {error.strerror}") from error
    head = text.partition("\n")[0]
    reader = csv.reader(text.splitlines(), delimiter=max(",;\t", key=head.count))
    rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    if len(rows) < 2:
        raise LabError(f"{path} must have a line of column names and rows below it, got {len(rows)} lines")
    names = [name.strip() for name in rows[0][1]]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise LabError(f"{path} must have different column names, got {twice!r} more than once")
    for line, row in rows[1:]:
        if len(row) != len(names):
            raise LabError(f"{path}, line {line} must have {len(names)} cells as the first line has, got {len(row)}")
    columns = {name: [row[place].strip() for _, row in rows[1:]] for place, name in enumerate(names)}
    return Sheet(path, columns, [line for line, _ in rows[1:]])


def numbers_in(sheet: Sheet, name: str) -> list[float] | None:
    """A column as numbers, or None for one of texts. A LabError names the first cell that is empty, and the first that
    is no number in a column where most are.
    """
    cells = sheet.column(name)
    for row, cell in enumerate(cells):
        if cell.lower() in MISSING:
            raise LabError(f"{sheet.where(row, name)} must have a value, got {cell!r}: fill it in, or drop the row")
    found = [as_number(cell) for cell in cells]
    count = sum(number is not None for number in found)
    if 2 * count <= len(cells):
        return None
    for row, number in enumerate(found):
        if number is None:
            raise LabError(f"{sheet.where(row, name)} must be a number as the others are, got {cells[row]!r}")
    return [number for number in found if number is not None]


def as_number(cell: str) -> float | None:
    """The finite number that a cell is, or None.

    >>> as_number("1e3"), as_number("inf"), as_number("blue")
    (1000.0, None, None)
    """
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
