"""What every record holds, as dataclasses: the base of the records of each experiment, and where those are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from chebact.lab.forms import OBJECT, SECONDS, TEXT, check_kind
from chebact.lab.spec import added

__all__ = ["Environment", "Run", "TypedRecord", "record_class"]


@dataclass(frozen=True)
class Environment:
    """What results may depend on besides the spec."""

    versions: Mapping[str, str | None] | None = added(None)
    commit: str | None = added(None)
    machine: str | None = added(None)
    cpu: str | None = added(None)
    kernel: str | None = added(None)
    device: str | None = added(None)
    threads: int | None = added(None)
    processes: int | None = added(None)


@dataclass(frozen=True)
class Run:
    """When and where it ran. `seconds` may be those of every seed and epoch, as lists of lists."""

    created: str = added("")
    host: str = added("")
    seconds: Annotated[Any, SECONDS] = added(0.0)

    @property
    def total_seconds(self) -> float:
        """All seconds, added up."""
        return add_up(self.seconds)


def add_up(seconds: Any) -> float:
    return sum(map(add_up, seconds)) if isinstance(seconds, list) else float(seconds)


@dataclass(frozen=True)
class TypedRecord:
    """A record; that of an experiment says what `spec` and `results` are."""

    experiment: str
    spec: Annotated[Any, OBJECT]
    results: Annotated[Any, OBJECT]
    environment: Environment
    run: Run

    @property
    def trainings(self) -> int:
        """How many models were trained for it."""
        return 1


def record_class(experiment: str) -> type[TypedRecord]:
    """The class of an experiment's records, in `RECORDS` of the file `record` in its folder (clinical for
    clinical-choice); the base where there is none.
    """
    subject = check_kind(TEXT, experiment, "the record.experiment").partition("-")[0]
    known = subject.isidentifier() and (Path(__file__).parent / subject / "record.py").is_file()
    records = import_module(f"chebact.lab.{subject}.record").RECORDS if known else {}
    found: type[TypedRecord] = records.get(experiment, TypedRecord)
    return found
