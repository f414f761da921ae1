"""The records on disk: one JSON file per run, written atomically, never overwritten by another spec."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from chebact.files import write_atomic
from chebact.lab import LabError
from chebact.lab.forms import read_as, shorten
from chebact.lab.record import record_class
from chebact.lab.spec import canonical, differences

__all__ = ["Record", "holds", "read_record", "records_under", "write_record"]

FORMAT = 1
LARGEST = 256 * 2**20  # bytes of a record; the largest of ours have some thousands


@dataclass(frozen=True)
class Record:
    """The results of one spec, as JSON; `typed` has it as the dataclass of its experiment.

    `spec` and `results` are covered by the checksum. `environment` is what the results may depend on besides the spec;
    `run` holds times and host, the only part in which two runs of one spec on the same kind of machine differ.
    """

    experiment: str
    spec: Mapping[str, Any]
    results: Mapping[str, Any]
    environment: Mapping[str, Any]
    run: Mapping[str, Any]

    @property
    def checksum(self) -> str:
        """SHA-256 over experiment, spec and results."""
        return hashlib.sha256(canonical([self.experiment, self.spec, self.results]).encode()).hexdigest()

    @cached_property
    def typed(self) -> Any:
        """The record as the class of its experiment (see `chebact.lab.record`); a LabError says what does not fit."""
        parts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return read_as(record_class(self.experiment), parts, "the record")

    def text(self) -> str:
        """The file's text: one line per part, so that a difference between two records shows its part."""
        parts = {
            "format": FORMAT,
            "experiment": self.experiment,
            "spec": self.spec,
            "results": self.results,
            "checksum": self.checksum,
            "environment": self.environment,
            "run": self.run,
        }
        lines = (f"{json.dumps(name)}: {json.dumps(part, allow_nan=False)}" for name, part in parts.items())
        return "{\n" + ",\n".join(lines) + "\n}\n"


def read_record(path: Path) -> Record:
    """Read a record and check it: complete, unchanged, and of the class of its experiment.

    A LabError names the file otherwise. No more than `LARGEST` bytes are read, whatever the file says of its size.
    """
    try:
        parts = json.loads(read_content(path).decode("utf-8"), parse_constant=refuse_constant)
        if parts["format"] != FORMAT:
            raise LabError(f"{path} has format {shorten(parts['format'])}; this version of chebact reads {FORMAT}")
        checksum = parts["checksum"]
        record = Record(**{name: parts[name] for name in Record.__dataclass_fields__})
        unchanged = record.checksum == checksum
        json.dumps([record.environment, record.run], allow_nan=False)
    except OSError as error:
        raise LabError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise LabError(f"{path} is not a complete record: move it away and run its spec again") from error
    if not unchanged:
        raise LabError(f"{path} was changed after it was written: restore it, or move it away and run it again")
    try:
        assert record.typed is not None
    except LabError as reason:
        raise LabError(f"{path} is not a record that chebact wrote ({reason}): move it away and run it again") from None
    return record


def read_content(path: Path) -> bytes:
    """The bytes of a file; a LabError for what is no file, and for one that is larger than any record."""
    if path.exists() and not path.is_file():
        raise LabError(f"cannot read {path}: it is not a file")
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise LabError(f"{path} is larger than any record: move it away")
    return content


def refuse_constant(word: str) -> None:
    """JSON knows no NaN and no Infinity; Python would read them."""
    raise ValueError(word)


def records_under(folder: Path) -> Iterator[Record]:
    """All records below a folder, in the order of their paths."""
    if not folder.is_dir():
        raise LabError(f"there is no results folder {folder}: run the experiment first, or name another with `results`")
    for path in sorted(folder.rglob("*.json")):
        yield read_record(path)


def holds(path: Path, spec: Mapping[str, Any]) -> bool:
    """True when the file is a record of this spec, False when there is no file; a LabError when it is of another."""
    if not path.exists():
        return False
    difference = differences(read_record(path).spec, spec)
    if difference:
        raise LabError(f"{path} is of another spec ({difference}): choose another folder with `results`")
    return True


def write_record(path: Path, record: Record) -> None:
    """Write atomically: beside the target, flushed to the disk, then renamed.

    An existing record of the same spec is kept; one of another spec is an error.
    """
    if holds(path, record.spec):
        return
    try:
        write_atomic(path, record.text().encode())
    except OSError as error:
        raise LabError(f"cannot write {path}: {error.strerror}; the records written before are complete") from error
