"""The rows of a benchmark on disk: a JSON list, and beside it the record of the machine that they were made on."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chebact.lab import LabError
from chebact.lab.bench.ops import Row
from chebact.lab.forms import COUNT, TEXT, TEXTS, Kind, Maybe, between, sized, unlike
from chebact.lab.output import save

__all__ = ["machine_path", "read_below", "read_rows", "write_rows"]

TIME = between(0, 1e12)
SIZES = re.compile(r"[1-9]\d{0,9}(x[1-9]\d{0,9}|(x[1-9]\d{0,9}){3})")
CASE = Kind("sizes such as 256x256 or 128x64x16x16", lambda value: TEXT.fits(value) and bool(SIZES.fullmatch(value)))
ROW = {
    "case": CASE,
    "layout": TEXT,
    "name": TEXT,
    "degree": Maybe(COUNT),
    "kept_bytes": COUNT,
    "rounds": COUNT,
    **dict.fromkeys(("forward", "training", "forward_us", "training_us"), TIME),
    **dict.fromkeys(("forward_spread", "training_spread"), sized(TIME, 2)),
}
MACHINE = {
    **dict.fromkeys(("processor", "system", "machine", "cpu", "kernel", "rows_sha256"), TEXT),
    "cores": COUNT,
    "threads": COUNT,
    "load": Maybe(TIME),
    "versions": TEXTS,
    "commit?": Maybe(TEXT),
}


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
    rows = parsed(text, [ROW], f"{path} is no list of rows", f"make it with `chebact bench ops --json {path}`")
    machine = parsed(
        content(beside), MACHINE, f"{beside} is no record of a machine", "measure again with `chebact bench ops`"
    )
    known = machine["rows_sha256"] == checksum(text)
    if not rows or not known:
        what = "is of other rows" if rows else "has no rows beside it"
        raise LabError(f"{beside} {what}: the two files of one `chebact bench ops --json` are wanted")
    return [row_from(each) for each in rows], machine


def parsed(text: str, form: Any, what: str, mend: str) -> Any:
    """The JSON in a text, of this form; a LabError says what it is not, and what to do."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LabError(f"{what}: {mend}") from error
    reason = unlike(found, form, "it")
    if reason is not None:
        raise LabError(f"{what} ({reason}): {mend}")
    return found


def read_below(folder: Path) -> tuple[list[Row], dict[str, Any]] | None:
    """What `chebact bench ops` measured, in a results folder or beside it; None where nothing was."""
    found = [each / "bench" / "ops.json" for each in (folder, folder.parent)]
    return next((read_rows(path) for path in found if path.is_file()), None)


def row_from(fields: Mapping[str, Any]) -> Row:
    spreads = {name: tuple(fields[name]) for name in ("forward_spread", "training_spread")}
    return Row(**{name: fields[name] for name in Row.__dataclass_fields__} | spreads)


def content(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():
            raise LabError(f"cannot read {path}: it is not a file; `chebact bench ops --json FILE` writes it")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise LabError(f"{path} is not text in UTF-8: measure again with `chebact bench ops --json FILE`") from error
    except OSError as error:
        raise LabError(f"cannot read {path}: {error.strerror}; `chebact bench ops --json FILE` writes it") from error


def checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
