"""The image experiment: one network on one image set, all its seeds, one record.

The trainings of a cohort run one after the other on all cores (or on one GPU, or on the processes that
torch.distributed.run started), each with its checkpoints and its log in a folder of its own beside the record.
"""

from __future__ import annotations

import math
import platform
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch

from chebact.files import FolderInUseError, alone_in
from chebact.lab import LabError
from chebact.lab.environment import environment, host
from chebact.lab.images import bfloat16
from chebact.lab.images.augment import as_input
from chebact.lab.images.capture import capture
from chebact.lab.images.checkpoint import CheckpointError
from chebact.lab.images.ddp import ALONE, Team
from chebact.lab.images.files import DataError
from chebact.lab.images.log import Curves, write_log
from chebact.lab.images.network import ShakeShakeResNet, numbers_of
from chebact.lab.images.sets import IMAGE_DATASETS, ImageSet, load_images
from chebact.lab.images.training import GENERATORS, BatchError, Epoch, ImageSettings, ImageTraining
from chebact.lab.output import make_folder
from chebact.lab.spec import as_plain, check_choice, check_count, stream
from chebact.lab.store import Record, holds, read_record, write_record
from chebact.table import ACTIVATIONS, paper_activation

__all__ = ["NAME", "ImageCohort", "Watch", "run_images"]

NAME = "images"
OPTION = "--output"  # of the command, by which the folder of the records is chosen


@dataclass(frozen=True)
class ImageCohort:
    """The spec of one record. `shake` is None for the paper's choice: shake-shake on CIFAR-10, the mean elsewhere.

    `form` settles which stages shake: all ("paper"), or the last two ("released"), as the published figures were made.
    """

    dataset: str
    activation: str
    seeds: int = 3
    epochs: int = 100
    batch_size: int = 128
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 1e-4
    cosine: Literal["epoch", "step"] = "epoch"
    degree: int = 3
    where: tuple[int, ...] = tuple(range(6, 14))
    shake: bool | None = None
    form: Literal["paper", "released"] = "paper"
    subset: int | None = None
    precision: Literal["float32", "bfloat16"] = "float32"
    channels_last: bool = True
    processes: int = 1

    def __post_init__(self) -> None:
        check_choice("image set", self.dataset, IMAGE_DATASETS)
        check_choice("activation", self.activation, tuple(ACTIVATIONS))
        check_choice("form of the network", self.form, ("paper", "released"))
        check_choice("precision", self.precision, ("float32", "bfloat16"))
        check_choice("cosine", self.cosine, ("epoch", "step"))
        for what in ("seeds", "epochs", "batch_size", "degree", "processes"):
            check_count(what, getattr(self, what))
        for what in ("learning_rate", "momentum", "weight_decay"):
            if not 0 <= getattr(self, what) < float("inf"):
                raise LabError(f"{what} must be a finite number of 0 or more, got {getattr(self, what)}")
        if self.subset is not None:
            check_count("subset", self.subset)
            most = IMAGE_DATASETS[self.dataset].train
            if self.subset > most:
                raise LabError(
                    f"subset must be at most {most}, the training images of {self.dataset}, got {self.subset}"
                )
        if not self.where:
            raise LabError("where must name one convolution at least, from 2 to 13")
        try:
            numbers_of(self.where, 2)
        except ValueError as error:
            raise LabError(str(error)) from None
        if self.shake is None:
            object.__setattr__(self, "shake", IMAGE_DATASETS[self.dataset].shake)

    def path(self, output: Path) -> Path:
        """Where its record lies below the output folder; its trainings lie in a folder of that name."""
        part = "" if self.subset is None else f"-of-{self.subset}"
        return output / self.dataset / f"{self.activation}-{self.epochs}-epochs{part}.json"

    def settings(self) -> ImageSettings:
        """How each of its trainings goes."""
        return ImageSettings(**{name: getattr(self, name) for name in ImageSettings.__dataclass_fields__})

    def network(self, seed: int) -> ShakeShakeResNet:
        """The network as it starts."""
        return ShakeShakeResNet(
            IMAGE_DATASETS[self.dataset].channels,
            IMAGE_DATASETS[self.dataset].classes,
            activation=paper_activation(self.activation),
            shake=bool(self.shake) if self.form == "paper" else (2, 3) if self.shake else False,
            where=self.where,
            degree=self.degree,
            generator=self.generator("start", seed),
        )

    def generator(self, purpose: str, seed: int, rank: int = 0) -> torch.Generator:
        """The stream of one kind of randomness; only shake-shake differs between the processes of a team."""
        words = (NAME, purpose, self.dataset, self.activation, seed)
        return stream(*words, rank) if purpose == "shake" else stream(*words)

    def identity(self, seed: int) -> dict[str, Any]:
        """What the checkpoints of one training belong to."""
        spec = as_plain(self)
        return {**{name: value for name, value in spec.items() if name != "seeds"}, "seed": seed}


@dataclass(frozen=True)
class Watch:
    """What a run tells while it goes on; each is called in the first process alone."""

    on_start: Callable[[int, int], None] = lambda seed, epochs_done: None
    on_step: Callable[[int, int, int, int], None] = lambda seed, epoch, step, steps: None
    on_epoch: Callable[[int, Epoch], None] = lambda seed, epoch: None


def run_images(
    cohort: ImageCohort,
    output: Path,
    *,
    data: Path | None = None,
    resume: bool = True,
    tensorboard: bool = False,
    device: str = "cpu",
    team: Team = ALONE,
    watch: Watch | None = None,
) -> Record:
    """Train what is missing of a cohort and write its record, which is returned; what is there is not run again.

    With `resume` every training goes on from its newest checkpoint; without, its folder is removed first.
    """
    path = cohort.path(output)
    there = team.told(lambda: read_record(path) if holds(path, as_plain(cohort), OPTION) else None)
    if there is not None:
        return there  # type: ignore[no-any-return]
    if cohort.precision == "bfloat16" and device == "cpu" and (reason := team.told(bfloat16.why_not)) is not None:
        raise LabError(reason)
    watch = watch if watch is not None and team.leads else Watch()
    created = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        train = load_images(cohort.dataset, "train", data).head(cohort.subset)
        test = load_images(cohort.dataset, "test", data)
        team.told(partial(make_folder, output, OPTION))  # better now than after the first epoch
        outcomes = []
        with ExitStack() as held:  # by the first process for all
            team.told(lambda: held.enter_context(alone_in(path.with_suffix(""))))
            for seed in range(cohort.seeds):
                folder = path.with_suffix("") / f"seed-{seed}"
                if not resume:
                    team.told(partial(remove_, folder))
                training = training_of(cohort, seed, train, test, folder, device, team)
                outcomes.append(run_seed(cohort, seed, training, folder, tensorboard, watch))
    except FolderInUseError as error:
        raise LabError(
            f"another process trains the same in {path.with_suffix('')}: wait for it, or choose another folder "
            f"with {OPTION}"
        ) from error
    except (DataError, CheckpointError, BatchError, ModuleNotFoundError) as error:
        raise LabError(str(error)) from error
    except OSError as error:
        raise LabError(f"cannot write below {path.with_suffix('')}: {error.strerror}; checkpoints are whole") from error
    results = {
        "parameters": sum(parameter.numel() for parameter in cohort.network(0).parameters()),
        "images": {"train": len(train), "test": len(test)},
        "seeds": [outcome["result"] for outcome in outcomes],
        "captures": outcomes[0]["captures"],
    }
    run = {"host": host(), "created": created, "seconds": [outcome["seconds"] for outcome in outcomes]}
    place = {"device": device_name(device), "processes": team.size}
    record = Record(NAME, as_plain(cohort), results, {**environment(), **place}, run)
    team.told(lambda: write_record(path, record))
    return record


def training_of(
    cohort: ImageCohort, seed: int, train: ImageSet, test: ImageSet, folder: Path, device: str, team: Team
) -> ImageTraining:
    """One training of a cohort, ready to run."""
    return ImageTraining(
        cohort.network(seed),
        train,
        test,
        IMAGE_DATASETS[cohort.dataset],
        cohort.settings(),
        {purpose: cohort.generator(purpose, seed, team.rank) for purpose in GENERATORS},
        folder=folder,
        identity=cohort.identity(seed),
        device=device,
        team=team,
    )


def run_seed(
    cohort: ImageCohort, seed: int, training: ImageTraining, folder: Path, tensorboard: bool, watch: Watch
) -> dict[str, Any]:
    """Run one training to its end: its part of the record, its times, its captures."""
    row = IMAGE_DATASETS[cohort.dataset]
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
