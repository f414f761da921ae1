"""Single cells of a table of recordings: a number, a missing value, or a label."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from pathlib import Path

__all__ = ["DataError", "is_missing", "label_of", "number_of"]

MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")  # unambiguous, so that matching takes linear time
LARGEST = (2 - 2**-23) * 2.0**127  # of single precision, in which networks and forests compute


class DataError(ValueError):
    """A table that cannot be used. Its message is one sentence that names the file, the row and the column."""


def is_missing(cell: str) -> bool:
    """Whether the cell is a word for a missing value.

    >>> is_missing(" N/A "), is_missing("0")
    (True, False)
    """
    return cell.strip().lower() in MISSING


def number_of(path: Path, row: int, column: str, cell: str) -> float | None:
    """The cell's number, None where it is missing; a `DataError` for anything else.

    >>> number_of(Path("a.csv"), 2, "pause", "1.5e3"), number_of(Path("a.csv"), 2, "pause", "NaN")
    (1500.0, None)
    """
    text = cell.strip()
    if is_missing(text):
        return None
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    hint = "leave the column out with `drop`, or correct the cell"
    if not math.isfinite(value):
        raise DataError(
            f"{path}, row {row}, column {column!r}: the cell must be a finite number, got {cell[:40]!r}; {hint}"
        )
    if abs(value) > LARGEST:
        what = f"the cell must be a number of single precision (up to {LARGEST:.2g}), got {value:g}"
        raise DataError(f"{path}, row {row}, column {column!r}: {what}; {hint}")
    return value


def label_of(path: Path, row: int, column: str, cell: str, known: Collection[str]) -> str | None:
    """The cell's label, or for a JSON list of diagnoses the known one among them; None where the list is empty. A word
    for a missing value, such as NA or none, is a label only where it is among the known.

    >>> label_of(Path("a.csv"), 2, "diagnoses", '[{"name": "ad"}]', ("ad", "hc"))
    'ad'
    """
    text = cell.strip()
    if not text or (is_missing(text) and text not in known):
        said = f" ({text!r}; if that is a class, name it with `positive` or `negative`)" if text else ""
        raise DataError(f"{path}, row {row}, column {column!r}: the label is missing{said}")
    if not text.startswith(("[", "{")):
        return text
    names = diagnoses(path, row, column, text)
    found = [name for name in names if name in known]
    if len(set(found)) > 1:
        raise DataError(f"{path}, row {row}, column {column!r}: both {' and '.join(sorted(set(found)))} are named")
    return found[0] if found else names[0] if names else None


def diagnoses(path: Path, row: int, column: str, text: str) -> list[str]:
    """The names in a JSON list such as [{"name": "ad"}]."""
    try:
        entries = json.loads(text)
        names = [entry["name"] for entry in (entries if isinstance(entries, list) else [entries])]
    except (ValueError, KeyError, TypeError, RecursionError):
        names = [None]
    if not all(isinstance(name, str) for name in names):
        wanted = '[{"name": "ad"}]'
        raise DataError(
            f"{path}, row {row}, column {column!r}: the cell must be JSON such as {wanted}, got {text[:60]!r}"
        )
    return names
