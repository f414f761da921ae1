"""The image experiment: one network on one image set, all its seeds, one record.

The trainings of a spec run one after the other on all cores (or on one GPU, or on the processes that
torch.distributed.run started), each with its checkpoints and its log in a folder of its own beside the record.
"""

from __future__ import annotations

import math
import platform
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from chebact.files import FolderInUseError, exclusive_lock
from chebact.lab import LabError
from chebact.lab.checkpoint import CheckpointError
from chebact.lab.engine import now
from chebact.lab.environment import environment, host
from chebact.lab.images import bfloat16
from chebact.lab.images.augment import as_input
from chebact.lab.images.capture import capture
from chebact.lab.images.ddp import ALONE, Team
from chebact.lab.images.files import DataError
from chebact.lab.images.log import Curves, write_log
from chebact.lab.images.sets import IMAGE_DATASETS, ImageSet, load_images
from chebact.lab.images.spec import NAME, ImageSpec
from chebact.lab.images.training import GENERATORS, BatchError, Epoch, ImageTraining
from chebact.lab.output import make_folder
from chebact.lab.spec import as_plain
from chebact.lab.store import Record, holds, read_record, write_record

__all__ = ["Watch", "run_images"]


@dataclass(frozen=True)
class Watch:
    """What a run tells while it goes on; each is called in the first process alone."""

    on_start: Callable[[int, int], None] = lambda seed, epochs_done: None
    on_step: Callable[[int, int, int, int], None] = lambda seed, epoch, step, steps: None
    on_epoch: Callable[[int, Epoch], None] = lambda seed, epoch: None


def run_images(
    spec: ImageSpec,
    results: Path,
    *,
    data: Path | None = None,
    resume: bool = True,
    tensorboard: bool = False,
    device: str = "cpu",
    team: Team = ALONE,
    watch: Watch | None = None,
) -> Record:
    """Train what is missing of a spec and write its record, which is returned; what is there is not run again.

    With `resume` every training goes on from its newest checkpoint; without, its folder is removed first.
    """
    path = spec.path(results)
    there = team.told(lambda: read_record(path) if holds(path, as_plain(spec)) else None)
    if there is not None:
        return there  # type: ignore[no-any-return]
    if spec.precision == "bfloat16" and device == "cpu" and (reason := team.told(bfloat16.why_not)) is not None:
        raise LabError(reason)
    watch = watch if watch is not None and team.leads else Watch()
    created = now()
    try:
        train = load_images(spec.dataset, "train", data).head(spec.subset)
        test = load_images(spec.dataset, "test", data)
        team.told(partial(make_folder, results))  # better now than after the first epoch
        outcomes = []
        with ExitStack() as held:  # by the first process for all
            team.told(lambda: held.enter_context(exclusive_lock(path.with_suffix(""))))
            for seed in range(spec.seeds):
                folder = path.with_suffix("") / f"seed-{seed}"
                if not resume:
                    team.told(partial(remove_, folder))
                training = training_of(spec, seed, train, test, folder, device, team)
                outcomes.append(run_seed(spec, seed, training, folder, tensorboard, watch))
    except FolderInUseError as error:
        raise LabError(
            f"another process trains the same in {path.with_suffix('')}: wait for it, or choose another folder "
            "with `results`"
        ) from error
    except (DataError, CheckpointError, BatchError, ModuleNotFoundError) as error:
        raise LabError(str(error)) from error
    except OSError as error:
        raise LabError(f"cannot write below {path.with_suffix('')}: {error.strerror}; checkpoints are whole") from error
    found = {
        "parameters": sum(parameter.numel() for parameter in spec.network(0).parameters()),
        "images": {"train": len(train), "test": len(test)},
        "seeds": [outcome["result"] for outcome in outcomes],
        "captures": outcomes[0]["captures"],
    }
    run = {"host": host(), "created": created, "seconds": [outcome["seconds"] for outcome in outcomes]}
    place = {"device": device_name(device), "processes": team.size}
    record = Record(NAME, as_plain(spec), found, {**environment(), **place}, run)
    team.told(lambda: write_record(path, record))
    return record


def training_of(
    spec: ImageSpec, seed: int, train: ImageSet, test: ImageSet, folder: Path, device: str, team: Team
) -> ImageTraining:
    """One training of a spec, ready to run."""
    return ImageTraining(
        spec.network(seed),
        train,
        test,
        IMAGE_DATASETS[spec.dataset],
        spec,
        {purpose: spec.generator(purpose, seed, team.rank) for purpose in GENERATORS},
        folder=folder,
        identity=spec.identity(seed),
        device=device,
        team=team,
    )


def run_seed(
    spec: ImageSpec, seed: int, training: ImageTraining, folder: Path, tensorboard: bool, watch: Watch
) -> dict[str, Any]:
    """Run one training to its end: its part of the record, its times, its captures."""
    row = IMAGE_DATASETS[spec.dataset]
    shown = as_input(training.test.images[:500], row.mean, row.deviation).contiguous(memory_format=training.form)
    before = capture(training.network, shown, trained=False) if seed == 0 else []
    training.resume_()
    curves = Curves(folder / "tensorboard", len(training.history)) if tensorboard and training.team.leads else None
    watch.on_start(seed, len(training.history))

    def on_epoch(epoch: Epoch) -> None:
        if training.team.leads:
            write_log(folder / "log.csv", training.history)
            if curves is not None:
                curves.add(epoch)
        watch.on_epoch(seed, epoch)

    history = training.run(on_epoch, lambda epoch, step, steps: watch.on_step(seed, epoch, step, steps))
    if training.team.leads:
        write_log(folder / "log.csv", history)  # also where the training was stopped just before this
    if curves is not None:
        curves.close()
    after = capture(training.network, shown, trained=True) if seed == 0 and math.isfinite(history[-1].test_loss) else []
    return {
        "result": result_of(seed, history, training.failed or not math.isfinite(history[-1].test_loss)),
        "seconds": [round(epoch.seconds, 2) for epoch in history],
        "captures": {"before": before, "after": after},
    }


def remove_(folder: Path) -> None:
    """Remove a folder where there is one."""
    if folder.exists():
        shutil.rmtree(folder)


def result_of(seed: int, history: list[Epoch], failed: bool) -> dict[str, Any]:
    """A seed's part of the record: the last test accuracy and loss, and the curves."""
    names = [name for name in Epoch.__dataclass_fields__ if name not in ("epoch", "seconds")]
    curves: Mapping[str, list[float | None]] = {
        name: [number(asdict(epoch)[name]) for epoch in history] for name in names
    }
    last = {"accuracy": history[-1].test_accuracy, "loss": history[-1].test_loss}
    return {
        "seed": seed,
        **{name: None if failed else number(value) for name, value in last.items()},
        "nan": failed,
        "curves": curves,
    }


def number(value: float) -> float | None:
    """A plain number of nine digits, or None for one that is not finite."""
    return float(f"{value:.9g}") if abs(value) < float("inf") else None


def device_name(device: str) -> str:
    return torch.cuda.get_device_name() if device.startswith("cuda") else platform.machine()
