"""The first section: what was run, when, how long it took, and on what machine."""

from __future__ import annotations

from collections.abc import Sequence

from chebact.lab.experiments import Experiment
from chebact.lab.page.document import Block, Missing, Section
from chebact.lab.page.results import Results
from chebact.lab.page.sheet import Cell, Head, Sheet
from chebact.lab.record import TypedRecord

__all__ = ["overview_section"]


def overview_section(results: Results, experiments: Sequence[Experiment]) -> Section:
    """One row per experiment, then the machines."""
    there = {row: [record.typed for record in results.records_of(row.name)] for row in experiments}
    blocks: list[Block] = []
    if any(there.values()):
        rows = tuple(experiment_row(row.title, records) for row, records in there.items() if records)
        counts = (Head(head, right=True) for head in ("records", "trainings", "hours of work"))
        heads = (Head("experiment"), *counts, Head("from"), Head("to"))
        caption = "What was run: every number on this page comes from these records."
        blocks.append(Sheet("runs-table", caption, heads, rows))
        blocks.append(machines([record for records in there.values() for record in records]))
    blocks += [
        Missing(f"{row.title}: not run yet, or not in {results.folder}.", f"chebact run {row.name}")
        for row, records in there.items()
        if not records
    ]
    return Section("runs", "What was run", tuple(blocks))


def experiment_row(title: str, records: Sequence[TypedRecord]) -> tuple[Cell, ...]:
    trainings, hours = sum(record.trainings for record in records), seconds_of(records) / 3600
    dates = sorted(record.run.created for record in records if record.run.created)
    first, last = (dates[0], dates[-1]) if dates else ("", "")
    return (
        Cell(title),
        Cell(f"{len(records):,}", len(records)),
        Cell(f"{trainings:,}", trainings),
        Cell(f"{hours:.2f}", hours),
        Cell(first[:16].replace("T", " "), first),
        Cell(last[:16].replace("T", " "), last),
    )


def seconds_of(records: Sequence[TypedRecord]) -> float:
    """The time spent; that of records which were trained together counts once."""
    spent = {
        (record.experiment, str(getattr(record.spec, "model", None)), record.run.created, str(record.run.seconds)): (
            record.run.total_seconds
        )
        for record in records
    }
    return sum(spent.values())


def machines(records: Sequence[TypedRecord]) -> Sheet:
    """The different machines, versions and commits, with how many records each made."""
    counts: dict[tuple[str, ...], int] = {}
    for record in records:
        setting = environment_of(record)
        counts[setting] = counts.get(setting, 0) + 1
    rows = tuple(
        (Cell(setting[0]), *(Cell(word, word) for word in setting[1:]), Cell(str(count), count))
        for setting, count in counts.items()
    )
    heads = (*map(Head, ("host", "processor", "threads", "kernel", "versions", "commit")), Head("records", right=True))
    return Sheet("machines-table", "On what it was run.", heads, rows)


def environment_of(record: TypedRecord) -> tuple[str, ...]:
    here = record.environment
    versions = ", ".join(f"{name} {version}" for name, version in (here.versions or {}).items() if version)
    processor = " ".join(word for word in (here.machine, here.cpu) if word)
    threads = "" if here.threads is None else str(here.threads)
    commit = (here.commit or "not known")[:10]
    return record.run.host or "not known", processor, threads, here.kernel or "", versions, commit
