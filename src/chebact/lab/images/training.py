"""Train a network on images: SGD with Nesterov's momentum, a cosine schedule, a checkpoint after every epoch.

All randomness comes from generators that are arguments and part of the checkpoint, so a training that was stopped at
any moment and started again ends with the weights of one that was not: bit for bit on one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.optim import SGD
from torch.optim.lr_scheduler import LRScheduler

from chebact.lab import LabError
from chebact.lab.checkpoint import CheckpointError, checkpoints, load_checkpoint, position_of, save_checkpoint
from chebact.lab.images.augment import as_input, draw_moves, move_images, with_border
from chebact.lab.images.checkpoint_state import why_not_of
from chebact.lab.images.ddp import SINGLE_PROCESS, Team
from chebact.lab.images.network import ShakeShakeResNet
from chebact.lab.images.sets import ImageDataset, ImageSet
from chebact.lab.images.spec import ImageSettings
from chebact.training.memory import frozen_garbage
from chebact.training.replicas import cosine_by_epoch

__all__ = ["BatchError", "Epoch", "ImageTraining", "evaluate_images"]

GENERATORS = ("order", "moves", "shake")
OnStep = Callable[[int, int, int], None]  # epoch, step, steps of an epoch


class BatchError(LabError):
    """Sizes of data, batches and team that do not fit together."""


@dataclass(frozen=True)
class Epoch:
    """The results of an epoch: mean losses per image, accuracies from 0 to 1, and the `seconds` of training."""

    epoch: int
    learning_rate: float
    train_loss: float
    train_accuracy: float
    test_loss: float
    test_accuracy: float
    seconds: float


class ImageTraining:
    """One training: `network` learns `train` and is tested on `test` after every epoch of `run`.

    `generators` are those of the order of the images ("order"), of their moves ("moves") and of shake-shake ("shake"),
    on the CPU; in a team each process has a "shake" of its own, and the others are equal. The images of a batch are
    divided among the team, so an epoch has the same images, with the same moves, for any number of processes. With a
    `folder`, checkpoints are kept there and `run` continues from the newest; `identity` says in plain values which
    training they belong to.

    >>> from chebact.lab.images.sets import IMAGE_DATASETS, load_images
    >>> network = ShakeShakeResNet(1, widths=(4, 4, 8, 8), blocks=1)
    >>> generators = {name: torch.Generator().manual_seed(0) for name in GENERATORS}
    >>> data = [load_images("digits", part).head(64) for part in ("train", "test")]
    >>> training = ImageTraining(network, *data, IMAGE_DATASETS["digits"], ImageSettings(epochs=2), generators)
    >>> [epoch.epoch for epoch in training.run()]
    [1, 2]
    """

    def __init__(
        self,
        network: nn.Module,
        train: ImageSet,
        test: ImageSet,
        dataset: ImageDataset,
        settings: ImageSettings,
        generators: Mapping[str, torch.Generator],
        *,
        folder: Path | None = None,
        identity: Mapping[str, Any] | None = None,
        device: str = "cpu",
        team: Team = SINGLE_PROCESS,
    ) -> None:
        missing = sorted(set(GENERATORS) - set(generators))
        if missing:
            raise ValueError(f"generators must have {', '.join(GENERATORS)}; {', '.join(missing)} is missing")
        check_batches(len(train), settings.batch_size, settings.epochs, team.size)
        self.settings, self.dataset, self.generators = settings, dataset, dict(generators)
        self.folder, self.identity, self.team = folder, dict(identity or {}), team
        self.device = torch.device(device)
        form = torch.channels_last if settings.channels_last else torch.contiguous_format
        self.form, self.network = form, network.to(self.device, memory_format=form)  # type: ignore[call-overload]
        idle = isinstance(network, ShakeShakeResNet) and bool(network.idle_parameters())
        if isinstance(network, ShakeShakeResNet):
            network.shake_with_(self.generators["shake"])
        self.train, self.test = (self.prepare(images) for images in (train, test))
        self.parallel = team.parallelize(self.network, idle)
        self.optimizer = SGD(
            self.network.parameters(),
            settings.learning_rate,
            momentum=settings.momentum,
            weight_decay=settings.weight_decay,
            nesterov=settings.momentum > 0,
        )
        schedule_steps = settings.epochs * (self.steps if settings.cosine == "step" else 1)
        self.schedule: LRScheduler = cosine_by_epoch(self.optimizer, schedule_steps)
        self.history: list[Epoch] = []

    @property
    def steps(self) -> int:
        """The steps of an epoch."""
        return -(-len(self.train) // self.settings.batch_size)

    @property
    def failed(self) -> bool:
        """Whether the training loss is no longer finite."""
        return bool(self.history) and not abs(self.history[-1].train_loss) < float("inf")

    def prepare(self, images: ImageSet) -> ImageSet:
        """The images with their border, on the device."""
        bordered = with_border(images.images, self.dataset.border)
        return ImageSet(bordered.to(self.device), images.labels.to(self.device))

    def run(self, on_epoch: Callable[[Epoch], None] | None = None, on_step: OnStep | None = None) -> list[Epoch]:
        """Train the remaining epochs; returns all of them, including those before a restart.

        `on_epoch(result)` is called after every epoch, its checkpoint written; `on_step(epoch, step, steps)` after
        every step. A loss that is not finite ends the training; its epoch is the last one.
        """
        self.resume_()
        with frozen_garbage():
            while len(self.history) < self.settings.epochs and not self.failed:
                result = self.train_epoch_(on_step)
                self.history.append(result)
                self.save()
                if on_epoch is not None:
                    on_epoch(result)
        return self.history

    def train_epoch_(self, on_step: OnStep | None = None) -> Epoch:
        """One pass over the training images, then one over the test images."""
        rate, epoch = self.optimizer.param_groups[0]["lr"], len(self.history) + 1
        start = time.perf_counter()
        totals = torch.zeros(2, dtype=torch.float64, device=self.device)
        self.parallel.train()
        for step, (x, labels, count) in enumerate(self.batches(), start=1):
            totals += self.step_(x, labels, count)
            if self.settings.cosine == "step":
                self.schedule.step()
            if on_step is not None:
                on_step(epoch, step, self.steps)
        if self.settings.cosine == "epoch":
            self.schedule.step()
        loss, accuracy = (self.team.add_(totals) / len(self.train)).tolist()
        seconds = time.perf_counter() - start
        self.team.broadcast_buffers_(self.network)
        tested = evaluate_images(
            self.network, self.test, self.dataset, form=self.form, team=self.team, autocast=self.autocast()
        )
        return Epoch(epoch, rate, loss, accuracy, *tested, seconds)

    def batches(self) -> Iterator[tuple[Tensor, Tensor, int]]:
        """The part of this process in each batch of an epoch, and how many images the batch has in all."""
        size, row = self.settings.batch_size, self.dataset
        order = torch.randperm(len(self.train), generator=self.generators["order"])
        for start in range(0, len(order), size):
            batch = order[start : start + size]
            moves = draw_moves(len(batch), row.shift, row.flip, self.generators["moves"])
            index = batch[self.team.share].to(self.device)
            images = move_images(self.train.images[index], moves.take(self.team.share))
            x = as_input(images, row.mean, row.deviation).contiguous(memory_format=self.form)
            yield x, self.train.labels[index], len(batch)

    def step_(self, x: Tensor, labels: Tensor, count: int) -> Tensor:
        """One step; returns the sum of the losses in this process, and how many images it classified correctly."""
        self.optimizer.zero_grad()
        with self.autocast():
            scores = self.parallel(x)
        loss = cross_entropy(scores.float(), labels, reduction="sum")
        torch.autograd.backward(loss * (self.team.size / count))  # the team's mean of these is the mean of the batch
        self.optimizer.step()
        return sum_up(loss.detach(), scores.detach(), labels)

    def autocast(self) -> AbstractContextManager[Any]:
        """The precision of the forward passes."""
        if self.settings.precision == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def state(self) -> dict[str, Any]:
        """The content of a checkpoint of this training as it is now, with the generators of all processes."""
        return {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "generators": self.team.gather({name: each.get_state() for name, each in self.generators.items()}),
            "history": [asdict(epoch) for epoch in self.history],
        }

    def save(self) -> None:
        """Write a checkpoint, if there is a folder for it."""
        if (folder := self.folder) is not None:
            state = self.state()
            self.team.broadcast_from_leader(lambda: save_checkpoint(folder, len(self.history), state, self.identity))

    def resume_(self) -> None:
        """Load the newest checkpoint, if there is one."""
        if self.history or (folder := self.folder) is None:
            return
        current = self.state()
        state = self.team.broadcast_from_leader(lambda: self.read_newest(folder, current))
        if state is None:
            return
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        for name, generator in self.generators.items():
            generator.set_state(state["generators"][self.team.rank][name])
        self.history = [Epoch(**epoch) for epoch in state["history"]]

    def read_newest(self, folder: Path, current: Mapping[str, Any]) -> dict[str, Any] | None:
        """The state in the newest checkpoint, compared with the current one; None if there is none."""
        paths = checkpoints(folder)
        if not paths:
            return None
        state = load_checkpoint(paths[-1], self.identity)
        names, weights = [field.name for field in fields(Epoch)], list(self.network.parameters())
        reason = why_not_of(state, current, weights, names, position_of(paths[-1]))
        if reason is not None:
            raise CheckpointError(
                f"{paths[-1]} does not fit this training ({reason}): remove it to go on from the one before, or choose "
                "another folder with `results`"
            )
        return state


@torch.no_grad()
def evaluate_images(
    network: nn.Module,
    images: ImageSet,
    dataset: ImageDataset,
    *,
    form: torch.memory_format = torch.channels_last,
    batch_size: int = 500,
    team: Team = SINGLE_PROCESS,
    autocast: AbstractContextManager[Any] | None = None,
) -> tuple[float, float]:
    """Mean loss and accuracy (0 to 1) of a network on images that already have their border; no image is moved."""
    was_training = network.training
    network.eval()
    totals = torch.zeros(2, dtype=torch.float64, device=images.labels.device)
    try:
        for start in range(0, len(images), batch_size):
            share = slice(start + team.rank, min(start + batch_size, len(images)), team.size)
            x = as_input(images.images[share], dataset.mean, dataset.deviation).contiguous(memory_format=form)
            labels = images.labels[share]
            with autocast or nullcontext():
                scores = network(x).float()
            totals += sum_up(cross_entropy(scores, labels, reduction="sum"), scores, labels)
    finally:
        network.train(was_training)
    loss, accuracy = (team.add_(totals) / len(images)).tolist()
    return loss, accuracy


def sum_up(loss: Tensor, scores: Tensor, labels: Tensor) -> Tensor:
    """The sum of losses, and how many of the images were classified correctly: float64 (2,)."""
    return torch.stack([loss.double(), (scores.argmax(1) == labels).sum().double()])


def check_batches(images: int, batch_size: int, epochs: int, processes: int) -> None:
    """A BatchError unless every process gets an image of every batch."""
    if images < 1 or batch_size < 1 or epochs < 1:
        raise BatchError(f"images, batch_size and epochs must be 1 or more, got {images}, {batch_size} and {epochs}")
    last = images % batch_size or batch_size
    if min(batch_size, last) < processes:
        raise BatchError(
            f"the last batch must have an image for each of {processes} processes, got {last} of {images} images in "
            f"batches of {batch_size}; choose another batch size"
        )
