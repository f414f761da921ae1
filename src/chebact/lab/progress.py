"""What a run shows while it goes on: cohorts done, time left, the scores of what has just come out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from chebact.lab.stats import summarize
from chebact.lab.store import Record

__all__ = ["show_progress"]


Lines = Callable[[Sequence[Record]], list[str]]


def show_progress(
    steps: Iterable[tuple[Sequence[Record], int, float]], cohorts: int, console: Console, lines: Lines | None = None
) -> int:
    """Go through the steps (new records, cohorts done so far, fraction done) of a run; the number of cohorts done.
    `lines` says in words what new records hold; that of the synthetic experiment by default.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"), TimeElapsedColumn())
    start, done = time.monotonic(), 0
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(f"0 of {cohorts} cohorts", total=1.0, left="")
        first: float | None = None
        for records, done, fraction in steps:
            first = fraction if first is None else first
            for line in (lines or lines_of)(records):
                progress.console.print(line, highlight=False, markup=False, emoji=False)
            left = time_left(time.monotonic() - start, fraction - first, 1 - fraction)
            progress.update(task, completed=fraction, description=f"{done} of {cohorts} cohorts", left=left)
    return done


def time_left(spent: float, gained: float, open_part: float) -> str:
    """About how long the rest will take, in words; empty before anything is known."""
    if gained <= 0 or open_part <= 0:
        return ""
    seconds = round(spent * open_part / gained)
    return f"about {seconds // 60} min {seconds % 60:02d} s left"


def lines_of(records: Sequence[Record]) -> list[str]:
    """The mean RMSE of new records, one line a model, noise level and form of the recipes."""
    lines: dict[tuple[str, ...], list[str]] = {}
    for record in records:
        spec, summary = record.spec, summarize(seed["rmse"] for seed in record.results["seeds"])
        shown = (
            f"{summary.nan}/{summary.seeds} diverged" if summary.nan or summary.mean is None else f"{summary.mean:.4f}"
        )
        head = (spec["model"], f"noise {spec['noise']:g}", f"{spec['recipes']} recipes")
        lines.setdefault(head, []).append(f"{spec['dataset']} {shown}")
    return [f"{', '.join(head)}: {', '.join(cells)}" for head, cells in lines.items()]
