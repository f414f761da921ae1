"""The command that trains the image experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import torch
from cyclopts import Parameter
from rich.console import Console

from chebact.lab import LabError
from chebact.lab.images.ddp import Team, TeamError, team
from chebact.lab.images.progress import TrainingProgress, percent
from chebact.lab.images.run import run_images
from chebact.lab.images.spec import NAME, ImageRequest, ImageSpec
from chebact.lab.options import Flat
from chebact.lab.output import check_folder
from chebact.lab.progress import tell, tell_where
from chebact.lab.spec import as_plain
from chebact.lab.store import Record, holds
from chebact.training.memory import keep_freed_memory

__all__ = ["run"]

USUAL = ImageRequest()


def run(
    *,
    request: Annotated[ImageRequest, Flat] = USUAL,
    device: str | None = None,
    resume: bool = True,
    tensorboard: Annotated[bool, Parameter(negative=())] = False,
    data: Path | None = None,
    results: Path = Path("results/images"),
) -> None:
    """Train the shake-shake network on images. Stop it at any moment; the same command goes on from there.

    Parameters
    ----------
    device
        cpu or cuda; a GPU where torch finds one by default.
    resume
        Go on from the checkpoints in the results folder; --no-resume removes them first. Records are kept.
    tensorboard
        Write curves for TensorBoard too.
    data
        Folder of the image sets (see `chebact data`); $CHEBACT_DATA or the user's cache by default.
    results
        Folder of the records, and of checkpoints and logs beside them.
    """
    keep_freed_memory()
    check_folder(results, "--results")
    place = device_named(device)
    with joined(place) as own:
        specs = request.specs(own.size)
        there = own.told(lambda: [holds(spec.path(results), as_plain(spec)) for spec in specs])
        console = Console(stderr=True, quiet=not own.leads)
        shown = TrainingProgress([spec for spec, held in zip(specs, there, strict=True) if not held], console)
        files: dict[str, Any] = {"data": data, "resume": resume, "tensorboard": tensorboard}
        for spec, held in zip(specs, there, strict=True):
            with shown.of(spec) as watch:
                record = run_images(spec, results, **files, device=place, team=own, watch=watch)
            tell(console, f"{outcome(spec, record)}; {spec.path(results)}{THERE if held else ''}")
            for line in diverged_in_words(spec.activation, record.results["seeds"]):
                tell(console, line)
        tell_where(console, NAME, results)


THERE = " (it was there; move it away to train anew)"


def outcome(spec: ImageSpec, record: Record) -> str:
    """What came out, in words."""
    accuracies = ", ".join(percent(seed["accuracy"]) for seed in record.results["seeds"])
    return f"{spec.activation} on {spec.dataset}, test accuracy: {accuracies}"


def diverged_in_words(activation: str, seeds: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line where trainings left the finite numbers: which, in which epoch, and what may help."""
    lost = [f"seed {seed['seed']} in epoch {len(seed['curves']['train_loss'])}" for seed in seeds if seed["nan"]]
    if not lost:
        return []
    return [
        f"{activation} diverged ({', '.join(lost)}): the loss left the finite numbers, as the record says; a smaller "
        "--learning-rate may help, with another --results"
    ]


@contextmanager
def joined(device: str) -> Iterator[Team]:
    """The team of this process; a LabError where the environment does not say how to meet it."""
    try:
        with team(device) as own:
            yield own
    except TeamError as error:
        raise LabError(str(error)) from error


def device_named(device: str | None) -> str:
    """The device asked for, or the best that there is; a LabError where it cannot be used."""
    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if chosen not in ("cpu", "cuda"):
        raise LabError(f"unknown device {chosen!r}: choose from cpu, cuda")
    if chosen == "cuda" and not torch.cuda.is_available():
        raise LabError("the device cuda was asked for, but this torch finds no GPU: leave --device out, or say cpu")
    return chosen
