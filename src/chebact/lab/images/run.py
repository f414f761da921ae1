"""The image experiment: one network on one image set, all its seeds, one record.

The trainings of a spec run one after the other on all cores (or on one GPU, or on the processes that
torch.distributed.run started). Each has its checkpoints and its log in a folder beside the record.
"""

from __future__ import annotations

import math
import platform
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

import torch

from chebact import bfloat16
from chebact.files import FolderInUseError, exclusive_lock
from chebact.lab import LabError
from chebact.lab.checkpoint import CheckpointError
from chebact.lab.engine import now
from chebact.lab.environment import environment, host
from chebact.lab.images.augment import as_input
from chebact.lab.images.capture import IMAGES, capture
from chebact.lab.images.ddp import SINGLE_PROCESS, Team
from chebact.lab.images.log import Log
from chebact.lab.images.sets import IMAGE_DATASETS, ImageSet, load_images
from chebact.lab.images.spec import NAME, ImageSpec
from chebact.lab.images.training import GENERATORS, Epoch, ImageTraining
from chebact.lab.output import make_folder
from chebact.lab.spec import as_plain
from chebact.lab.store import Record, holds, read_record, write_record

__all__ = ["ImageRun", "Watch", "run_images"]


@dataclass(frozen=True)
class Watch:
    """What a run calls while it makes progress, in the leading process only."""

    on_start: Callable[[int, int], None] = lambda seed, epochs_done: None
    on_step: Callable[[int, int, int, int], None] = lambda seed, epoch, step, steps: None
    on_epoch: Callable[[int, Epoch], None] = lambda seed, epoch: None


@dataclass(frozen=True)
class ImageRun:
    """The run of a spec: in which folder, on which device, by which processes."""

    spec: ImageSpec
    results: Path
    data: Path | None = None
    resume: bool = True
    tensorboard: bool = False
    device: str = "cpu"
    team: Team = SINGLE_PROCESS
    watch: Watch = field(default_factory=Watch)

    @property
    def folder(self) -> Path:
        """The folder of checkpoints and logs, beside the record."""
        return self.spec.path(self.results).with_suffix("")

    def train(self) -> Record:
        """Train all seeds, from their newest checkpoints with `resume`; the record is not written yet."""
        spec, created = self.spec, now()
        train = load_images(spec.dataset, "train", self.data).head(spec.subset)
        test = load_images(spec.dataset, "test", self.data)
        self.team.broadcast_from_leader(partial(make_folder, self.results))  # better now than after the first epoch
        with ExitStack() as stack:  # the leader holds the lock for all processes
            self.team.broadcast_from_leader(lambda: stack.enter_context(exclusive_lock(self.folder)))
            outcomes = [self.train_seed(seed, train, test) for seed in range(spec.seeds)]
        results = {
            "parameters": sum(parameter.numel() for parameter in spec.network(0).parameters()),
            "images": {"train": len(train), "test": len(test)},
            "seeds": [outcome["result"] for outcome in outcomes],
            "captures": outcomes[0]["captures"],
        }
        run = {"host": host(), "created": created, "seconds": [outcome["seconds"] for outcome in outcomes]}
        machine = {"device": device_name(self.device), "processes": self.team.size}
        return Record(NAME, as_plain(spec), results, {**environment(), **machine}, run)

    def make_training(self, seed: int, train: ImageSet, test: ImageSet) -> ImageTraining:
        """One training, ready to run; without `resume` its folder is removed first."""
        spec, team, folder = self.spec, self.team, self.folder / f"seed-{seed}"
        if not self.resume:
            team.broadcast_from_leader(lambda: shutil.rmtree(folder) if folder.exists() else None)
        return ImageTraining(
            spec.network(seed),
            train,
            test,
            IMAGE_DATASETS[spec.dataset],
            spec,
            {purpose: spec.generator(purpose, seed, team.rank) for purpose in GENERATORS},
            folder=folder,
            identity=spec.identity(seed),
            device=self.device,
            team=team,
        )

    def train_seed(self, seed: int, train: ImageSet, test: ImageSet) -> dict[str, Any]:
        """Run one training to its end: its part of the record, its times, its captures."""
        training = self.make_training(seed, train, test)
        before = captures_of(training, trained=False) if seed == 0 else []
        history = self.train_with_logs(seed, training)
        failed = training.failed or not math.isfinite(history[-1].test_loss)
        after = captures_of(training, trained=True) if seed == 0 and math.isfinite(history[-1].test_loss) else []
        return {
            "result": result_of(seed, history, failed),
            "seconds": [round(epoch.seconds, 2) for epoch in history],
            "captures": {"before": before, "after": after},
        }

    def train_with_logs(self, seed: int, training: ImageTraining) -> list[Epoch]:
        """Train, with a log after every epoch, curves for TensorBoard if asked for, and calls of `watch`."""
        folder = self.folder / f"seed-{seed}"
        training.resume_()
        log = Log(folder, len(training.history), self.tensorboard) if self.team.leads else None
        watch = self.watch if self.team.leads else Watch()
        watch.on_start(seed, len(training.history))

        def on_epoch(epoch: Epoch) -> None:
            if log is not None:
                log.add(training.history)
            watch.on_epoch(seed, epoch)

        history = training.run(on_epoch, partial(watch.on_step, seed))
        if log is not None:
            log.close(history)  # also if an earlier process was stopped just before it wrote the last line
        return history


def run_images(spec: ImageSpec, results: Path, *, team: Team = SINGLE_PROCESS, **options: Any) -> Record:
    """Train what is missing of a spec, write its record and return it; a record that exists is returned as it is.

    `options` are fields of `ImageRun`.
    """
    path = spec.path(results)
    run = ImageRun(spec, results, team=team, **options)
    spec.check_activation()
    found = team.broadcast_from_leader(lambda: read_record(path) if holds(path, as_plain(spec)) else None)
    if found is not None:
        return found  # type: ignore[no-any-return]
    reason = bfloat16.why_not if spec.precision == "bfloat16" and run.device == "cpu" else lambda: None
    if (words := team.broadcast_from_leader(reason)) is not None:
        raise LabError(f"{words} with `precision`")
    try:
        record = run.train()
    except FolderInUseError as error:
        raise LabError(
            f"another process trains the same in {run.folder}: wait for it, or choose another folder with `results`"
        ) from error
    except (CheckpointError, ModuleNotFoundError) as error:
        raise LabError(str(error)) from error
    except OSError as error:
        raise LabError(f"cannot write below {run.folder}: {error.strerror}; checkpoints are complete") from error
    team.broadcast_from_leader(lambda: write_record(path, record))
    return record


def captures_of(training: ImageTraining, *, trained: bool) -> list[dict[str, Any]]:
    """The captured units of the network on the first test images."""
    row = training.dataset
    x = as_input(training.test.images[:IMAGES], row.mean, row.deviation)
    return capture(training.network, x.contiguous(memory_format=training.form), trained=trained)


def result_of(seed: int, history: list[Epoch], failed: bool) -> dict[str, Any]:
    """A seed's part of the record: the last test accuracy and loss, and the curves."""
    names = [each.name for each in fields(Epoch) if each.name not in ("epoch", "seconds")]
    last = {"accuracy": history[-1].test_accuracy, "loss": history[-1].test_loss}
    return {
        "seed": seed,
        **{name: None if failed else plain_number(value) for name, value in last.items()},
        "nan": failed,
        "curves": {name: [plain_number(getattr(epoch, name)) for epoch in history] for name in names},
    }


def plain_number(value: float) -> float | None:
    """A number of nine digits, or None for one that is not finite."""
    return float(f"{value:.9g}") if abs(value) < float("inf") else None


def device_name(device: str) -> str:
    return torch.cuda.get_device_name() if device.startswith("cuda") else platform.machine()
