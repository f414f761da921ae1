"""The rows of a benchmark on disk: a JSON list, and beside it the record of the machine that they were made on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from chebact.lab import LabError
from chebact.lab.bench.machine import Machine
from chebact.lab.bench.rows import Row
from chebact.lab.forms import read_as
from chebact.lab.output import save

__all__ = ["machine_path", "read_below", "read_rows", "write_rows"]

AGAIN = "measure again with `chebact bench ops --json FILE`"


def machine_path(path: Path) -> Path:
    """The path of the record of the machine.

    >>> machine_path(Path("ops.json")).name
    'ops.machine.json'
    """
    return path.with_name(f"{path.stem}.machine.json")


def write_rows(path: Path, rows: Sequence[Row], machine: Machine) -> None:
    """Write both files; the record holds a checksum of the rows, so that the two are known to belong together."""
    text = "[\n" + ",\n".join(json.dumps(row.as_json(), allow_nan=False) for row in rows) + "\n]\n"
    record = replace(machine, rows_sha256=sha256_of(text))
    save(machine_path(path), (json.dumps(asdict(record), indent=1) + "\n").encode())
    save(path, text.encode())


def read_rows(path: Path) -> tuple[list[Row], Machine]:
    """The rows and the record of the machine; a LabError if a file is missing or broken, or the two do not belong
    together.
    """
    text, beside = read_text(path), machine_path(path)
    rows: tuple[Row, ...] = parse(text, tuple[Row, ...], f"{path} must be a list of rows")
    machine: Machine = parse(read_text(beside), Machine, f"{beside} must be the record of a machine")
    if not rows or machine.rows_sha256 != sha256_of(text):
        what = "is of other rows" if rows else "has no rows beside it"
        raise LabError(f"{beside} {what}: name the two files of one `chebact bench ops --json`")
    return list(rows), machine


def parse(text: str, kind: Any, what: str) -> Any:
    """The JSON in a text as that type; a LabError says how it differs, and what to do."""
    try:
        return read_as(kind, json.loads(text), "it")
    except (ValueError, RecursionError) as error:
        raise LabError(f"{what}, got something else: {AGAIN}") from error
    except LabError as error:
        raise LabError(f"{what} ({error}): {AGAIN}") from error


def read_below(folder: Path, command: str = "ops") -> tuple[list[Row], Machine] | None:
    """What `chebact bench` measured by that command, in a results folder or beside it; None if there is nothing."""
    paths = [each / "bench" / f"{command}.json" for each in (folder, folder.parent)]
    return next((read_rows(path) for path in paths if path.is_file()), None)


def read_text(path: Path) -> str:
    """The text of a file; a LabError says why it cannot be read."""
    if path.exists() and not path.is_file():
        raise LabError(f"cannot read {path}: it is not a file; `chebact bench ops --json FILE` writes it")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise LabError(f"{path} must be text in UTF-8: {AGAIN}") from error
    except OSError as error:
        raise LabError(f"cannot read {path}: {error.strerror}; `chebact bench ops --json FILE` writes it") from error


def sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
