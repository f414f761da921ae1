"""The rows of a benchmark on disk: a JSON list, and beside it the record of the machine that they were made on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chebact.lab import LabError
from chebact.lab.bench.ops import Row
from chebact.lab.output import save

__all__ = ["machine_path", "read_rows", "write_rows"]


def machine_path(path: Path) -> Path:
    """Where the record of the machine lies.

    >>> machine_path(Path("ops.json")).name
    'ops.machine.json'
    """
    return path.with_name(f"{path.stem}.machine.json")


def write_rows(path: Path, rows: Sequence[Row], machine: Mapping[str, Any]) -> None:
    """Write both files; the record holds a checksum of the rows, so that neither is taken for another's."""
    text = "[\n" + ",\n".join(json.dumps(row.as_json(), allow_nan=False) for row in rows) + "\n]\n"
    record = {**machine, "rows_sha256": checksum(text)}
    save(machine_path(path), (json.dumps(record, indent=1) + "\n").encode())
    save(path, text.encode())


def read_rows(path: Path) -> tuple[list[Row], dict[str, Any]]:
    """The rows and the record of the machine; a LabError where a file is missing, broken, or the two do not belong
    together.
    """
    text, beside = content(path), machine_path(path)
    try:
        rows = [row_from(each) for each in json.loads(text)]
    except (ValueError, TypeError, KeyError) as error:
        raise LabError(f"{path} is no list of rows: make it with `chebact bench ops --json {path}`") from error
    try:
        machine: dict[str, Any] = json.loads(content(beside))
        known = machine["rows_sha256"] == checksum(text)
    except (ValueError, TypeError, KeyError) as error:
        raise LabError(f"{beside} is no record of a machine: measure again with `chebact bench ops`") from error
    if not rows or not known:
        what = "is of other rows" if rows else "has no rows beside it"
        raise LabError(f"{beside} {what}: the two files of one `chebact bench ops --json` are wanted")
    return rows, machine


def row_from(fields: Mapping[str, Any]) -> Row:
    spreads = {name: tuple(fields[name]) for name in ("forward_spread", "training_spread")}
    return Row(**{**fields, **spreads})


def content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise LabError(f"cannot read {path}: {error.strerror}; `chebact bench ops --json FILE` writes it") from error


def checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
