"""The command that trains the image experiment."""

from __future__ import annotations

from itertools import compress
from pathlib import Path
from typing import Annotated, Any

import torch
from cyclopts import Parameter
from rich.console import Console

from chebact.lab import LabError
from chebact.lab.images.ddp import join_team
from chebact.lab.images.progress import TrainingProgress, percent
from chebact.lab.images.record import ImageRecord
from chebact.lab.images.run import run_images
from chebact.lab.images.spec import NAME, ImageRequest
from chebact.lab.options import Flat, about
from chebact.lab.output import check_folder
from chebact.lab.progress import tell, tell_where
from chebact.lab.spec import as_plain
from chebact.lab.store import holds
from chebact.training.memory import keep_freed_memory

__all__ = ["run"]

USUAL, RESULTS = ImageRequest(), Path("results/images")
DEVICE = (
    "cpu or cuda; a GPU if torch finds one by default. A training uses all cores, so there is no --workers: start one "
    "command per activation (--models) to train side by side."
)
RESUME = "Continue from the checkpoints in the results folder; --no-resume removes them first. Records are kept."
DATA = "Folder of the image sets (see `chebact data`); $CHEBACT_DATA or the user's cache by default."


def run(
    *,
    request: Annotated[ImageRequest, Flat] = USUAL,
    device: Annotated[str | None, about(DEVICE)] = None,
    resume: Annotated[bool, about(RESUME)] = True,
    tensorboard: Annotated[bool, Parameter(negative=()), about("Write curves for TensorBoard too.")] = False,
    data: Annotated[Path | None, about(DATA)] = None,
    results: Annotated[Path, about("Folder of the records, and of checkpoints and logs beside them.")] = RESULTS,
) -> None:
    """Train the shake-shake network on images. Stop it at any moment; the same command continues from there."""
    keep_freed_memory()
    check_folder(results, "--results")
    device = choose_device(device)
    with join_team(device) as team:
        specs = request.specs(team.size)
        missing = team.broadcast_from_leader(lambda: [not holds(spec.path(results), as_plain(spec)) for spec in specs])
        console = Console(stderr=True, quiet=not team.leads)
        progress = TrainingProgress(list(compress(specs, missing)), console)
        options: dict[str, Any] = {"data": data, "resume": resume, "tensorboard": tensorboard, "device": device}
        for spec, is_missing in zip(specs, missing, strict=True):
            with progress.show(spec) as watch:
                record = run_images(spec, results, team=team, watch=watch, **options).typed
            tell(console, f"{describe_outcome(record)}; {spec.path(results)}{'' if is_missing else EXISTED}")
            for line in describe_divergence(record):
                tell(console, line)
        tell_where(console, NAME, results)


EXISTED = " (it existed; move it away to train again)"


def describe_outcome(record: ImageRecord) -> str:
    """The final test accuracies, in words."""
    accuracies = ", ".join(percent(seed.accuracy) for seed in record.results.seeds)
    return f"{record.spec.activation} on {record.spec.dataset}, test accuracy: {accuracies}"


def describe_divergence(record: ImageRecord) -> list[str]:
    """One line if trainings diverged: which, in which epoch, and what may help; else none."""
    seeds = [f"seed {seed.seed} in epoch {len(seed.curves.train_loss)}" for seed in record.results.seeds if seed.nan]
    if not seeds:
        return []
    return [
        f"{record.spec.activation} diverged ({', '.join(seeds)}): the loss is no longer finite, as the record says; a "
        "smaller --learning-rate may help, with another --results"
    ]


def choose_device(device: str | None) -> str:
    """The device that is asked for, or the best one; a LabError if it cannot be used."""
    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if chosen not in ("cpu", "cuda"):
        raise LabError(f"unknown device {chosen!r}: choose from cpu, cuda")
    if chosen == "cuda" and not torch.cuda.is_available():
        raise LabError("device must be cpu, got cuda, and this torch finds no GPU: leave --device out")
    return chosen
