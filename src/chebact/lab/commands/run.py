"""What the commands that run experiments share: the number of processes, the progress bar, the last line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console

from chebact.lab.engine import Step
from chebact.lab.options import Integer, about
from chebact.lab.output import check_folder
from chebact.lab.progress import show_progress, tell_where
from chebact.lab.store import Record
from chebact.lab.workers import check_workers

__all__ = ["Workers", "train"]


@dataclass(frozen=True)
class Workers:
    """Where the work is done."""

    workers: Annotated[Integer | None, about("Processes of one thread each; one per core by default.")] = None
    dask: Annotated[str | None, about("Address of a Dask scheduler whose workers train, in place of this machine.")] = (
        None
    )

    def arguments(self, results: Path) -> dict[str, Any]:
        """The options as arguments; a LabError where they exclude each other, or the folder cannot be written into."""
        check_workers(self.workers, self.dask)
        check_folder(results, "--results")
        return {"workers": self.workers, "dask": self.dask}


def train(
    experiment: str, steps: Iterable[Step], results: Path, describe: Callable[[Sequence[Record]], list[str]]
) -> None:
    """Run an experiment with a progress bar on the error stream; then print where the records are."""
    console = Console(stderr=True)
    show_progress(steps, console, describe)
    tell_where(console, experiment, results)
