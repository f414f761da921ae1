"""The engine of the experiments: find the missing records, run them, write each when it is done, report progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import Field, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from chebact.lab.environment import environment, host
from chebact.lab.output import make_folder
from chebact.lab.spec import as_plain
from chebact.lab.store import Record, holds, write_record
from chebact.lab.workers import run_all

__all__ = ["Engine", "Spec", "Step", "Work", "now"]


class Spec(Protocol):
    """What the engine needs of a spec, which is a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def seeds(self) -> int:
        """How many trainings its record holds."""

    def path(self, results: Path) -> Path:
        """The path of its record below the results folder."""

    def cost(self) -> float:
        """How long it takes, in any unit that all specs of a command share."""


Kind = TypeVar("Kind", bound=Spec)


@dataclass(frozen=True)
class Work(Generic[Kind]):
    """How groups of specs become records. `results(group)` gives the results part of each, in the same order."""

    experiment: str
    results: Callable[[Sequence[Kind]], Sequence[dict[str, Any]]]
    packages: tuple[str, ...] = ()  # other packages whose versions a result may depend on
    batched: bool = False  # whether all seeds of a group are trained as one network

    def __call__(self, group: Sequence[Kind]) -> tuple[Sequence[Kind], list[Record]]:
        """Run a group; it is part of the result because the order is not kept."""
        created, start = now(), time.perf_counter()
        results = self.results(group)
        run = {"host": host(), "created": created, "seconds": round(time.perf_counter() - start, 1)}
        if self.batched:
            run["together"] = sum(spec.seeds for spec in group)
        about = environment(*self.packages)
        pairs = zip(group, results, strict=True)
        return group, [Record(self.experiment, as_plain(spec), result, about, run) for spec, result in pairs]


@dataclass(frozen=True)
class Step:
    """New records, runs done of how many, and the fraction of the work."""

    records: list[Record]
    done: int
    total: int
    fraction: float


class Engine:
    """Runs what is missing in a results folder, on processes of this machine or on a Dask cluster.

    Stopping it at any moment loses no written record; started again it runs only what is missing.
    """

    def __init__(self, results: Path, *, workers: int | None = None, dask: str | None = None) -> None:
        self.results = results
        self.run_all = partial(run_all, workers=workers, dask=dask)
        self.done, self.spent = 0, 0.0

    def run(self, groups: Sequence[Sequence[Kind]], work: Work[Kind], later: Sequence[Spec] = ()) -> Iterator[Step]:
        """Run the groups of which a record is missing and write the records.

        The first step says what was there; one follows for each group. `later` is what another call will run.
        """
        there = {spec: holds(spec.path(self.results), as_plain(spec)) for group in groups for spec in group}
        missing = [group for group in groups if not all(there[spec] for spec in group)]
        if missing:
            make_folder(self.results)
        before, count = self.done, self.done + len(there) + len(later)
        left, rest = sum(map(cost, missing)), cost(later)
        total = self.spent + sum(map(cost, groups)) + rest

        def step(records: list[Record]) -> Step:
            self.done = before + sum(there.values())
            return Step(records, self.done, count, min(1.0, 1 - (left + rest) / total))

        yield step([])
        for group, records in self.run_all(work, missing):
            for spec, record in zip(group, records, strict=True):
                write_record(spec.path(self.results), record)
                there[spec] = True
            left -= cost(group)
            yield step(records)
        self.spent += sum(map(cost, groups))


def cost(group: Sequence[Spec]) -> float:
    """How long a group takes, in the unit of its specs."""
    return sum(spec.cost() for spec in group)


def now() -> str:
    """The time, as records have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
