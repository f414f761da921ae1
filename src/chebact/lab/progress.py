"""What a run prints: runs done, time left, the scores of new records, and where those are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from chebact.lab.engine import Step
from chebact.lab.store import Record

__all__ = ["progress_bar", "show_progress", "tell", "tell_where", "time_left"]


def progress_bar(console: Console) -> Progress:
    """A bar with what is done before it, and the time left and the time spent after it."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"), TimeElapsedColumn())
    return Progress(*columns, console=console)


def show_progress(steps: Iterable[Step], console: Console, describe: Callable[[Sequence[Record]], list[str]]) -> None:
    """Go through the steps of an engine; `describe` gives the lines that say what new records hold."""
    start, steps = time.monotonic(), iter(steps)
    first = next(steps)  # a spec that cannot run is refused here, before the bar appears
    with progress_bar(console) as progress:
        task = progress.add_task("", total=1.0, left="")
        for step in chain([first], steps):
            for line in describe(step.records):
                tell(progress.console, line)
            left = time_left(time.monotonic() - start, step.fraction - first.fraction, 1 - step.fraction)
            progress.update(task, completed=step.fraction, description=f"{step.done} of {step.total} runs", left=left)


def time_left(spent: float, gained: float, open_part: float) -> str:
    """The estimated time of the rest, in words; empty before there is an estimate.

    >>> time_left(60, 0.25, 0.75), time_left(2, 0.5, 0.5), time_left(10, 0, 1)
    ('about 3 min left', 'about 2 s left', '')
    """
    if gained <= 0 or open_part <= 0:
        return ""
    seconds = round(spent * open_part / gained)
    hours, minutes = divmod(round(seconds / 60), 60)
    if seconds < 90:
        return f"about {seconds} s left"
    return f"about {hours} h {minutes} min left" if hours else f"about {minutes} min left"


def tell_where(console: Console, experiment: str, results: Path) -> None:
    """The end of a run: where the records are, and the command that shows them."""
    tell(console, f"The records are in {results}; to see them: chebact report {experiment} --results {results}")


def tell(console: Console, line: str) -> None:
    """Print a line without interpreting markup in it."""
    console.print(line, highlight=False, markup=False, emoji=False, soft_wrap=True)
