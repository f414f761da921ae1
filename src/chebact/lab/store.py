"""The records on disk: one JSON file a cohort, whole or not there at all, never overwritten by another spec."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chebact.files import write_whole
from chebact.lab import LabError
from chebact.lab.spec import canonical, differences

__all__ = ["Record", "holds", "read_record", "records_under", "write_record"]

FORMAT = 1


@dataclass(frozen=True)
class Record:
    """What came out of one spec.

    `spec` and `results` are covered by the checksum. `environment` is what the results may depend on beside the spec;
    `run` holds times and host, the only part in which two runs of one spec on like machines differ.
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

    def text(self) -> str:
        """The file's text: one line a part, so that a difference between two records shows its part."""
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
    """Read a record and check it; a LabError names a file that is not whole or was changed by hand."""
    try:
        parts = json.loads(path.read_text(encoding="utf-8"))
        if parts["format"] != FORMAT:
            raise LabError(f"{path} has format {parts['format']!r}; this version of chebact reads {FORMAT}")
        checksum = parts["checksum"]
        record = Record(**{name: parts[name] for name in Record.__dataclass_fields__})
        unchanged = record.checksum == checksum
    except OSError as error:
        raise LabError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise LabError(f"{path} is not a whole record: move it away, and what it held can be run again") from error
    if not unchanged:
        raise LabError(f"{path} was changed after it was written: restore it, or move it away and run it again")
    return record


def records_under(folder: Path) -> Iterator[Record]:
    """All records below a folder, in the order of their paths."""
    if not folder.is_dir():
        raise LabError(f"there is no results folder {folder}: run the experiment first, or name another with --results")
    for path in sorted(folder.rglob("*.json")):
        yield read_record(path)


def holds(path: Path, spec: Mapping[str, Any], option: str = "--results") -> bool:
    """True when the file is a record of this spec, False when there is no file; a LabError when it is of another
    spec, which names the option by which another folder is chosen.
    """
    if not path.exists():
        return False
    difference = differences(read_record(path).spec, spec)
    if difference:
        raise LabError(f"{path} is of another spec ({difference}): choose another folder with {option}")
    return True


def write_record(path: Path, record: Record) -> None:
    """Write beside the target, flush to the disk, rename: at any moment the target is whole or not there.

    A record of the same spec that is there already is kept; one of another spec is an error.
    """
    if holds(path, record.spec):
        return
    try:
        write_whole(path, record.text().encode())
    except OSError as error:
        raise LabError(f"cannot write {path}: {error.strerror}; the records written before are whole") from error
