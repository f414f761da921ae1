"""Train a network on images: SGD with Nesterov's momentum, a cosine over the epochs, a checkpoint after each of them.

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

from chebact.lab.checkpoint import (
    CheckpointError,
    checkpoints,
    load_checkpoint,
    position_of,
    save_checkpoint,
)
from chebact.lab.images.augment import as_input, draw_moves, moved, with_border
from chebact.lab.images.checkpoint_state import why_not_of
from chebact.lab.images.ddp import ALONE, Team
from chebact.lab.images.network import ShakeShakeResNet
from chebact.lab.images.sets import ImageDataset, ImageSet
from chebact.lab.images.spec import ImageSettings
from chebact.training.memory import frozen_garbage
from chebact.training.replicas import cosine_by_epoch

__all__ = ["BatchError", "Epoch", "ImageTraining", "evaluate_images"]

GENERATORS = ("order", "moves", "shake")


class BatchError(ValueError):
    """Sizes of data, batches and team that do not go together."""


@dataclass(frozen=True)
class Epoch:
    """What an epoch gave: mean losses an image, accuracies between 0 and 1, and the `seconds` of the training alone."""

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
    on the CPU; in a team each process has its own "shake" and all have the same of the others. The images of a batch
    are dealt out among the team, so that an epoch has the same images, moved alike, whatever the number of processes.
    With a `folder`, checkpoints are kept there and `run` goes on from the newest; `identity` says in plain values
    which training they are of.

    >>> from chebact.lab.images.sets import IMAGE_DATASETS, load_images
    >>> from chebact.lab.images.network import ShakeShakeResNet
    >>> from chebact.lab.images.spec import ImageSettings
    >>> network = ShakeShakeResNet(1, widths=(4, 4, 8, 8), blocks=1)
    >>> drawn = {name: torch.Generator().manual_seed(0) for name in GENERATORS}
    >>> data = [load_images("digits", part).head(64) for part in ("train", "test")]
    >>> training = ImageTraining(network, *data, IMAGE_DATASETS["digits"], ImageSettings(epochs=2), drawn)
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
        team: Team = ALONE,
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
        idle = False
        if isinstance(network, ShakeShakeResNet):
            network.shake_with_(self.generators["shake"])
            idle = bool(network.idle_parameters())
        self.train, self.test = (self.placed(each) for each in (train, test))
        self.together = team.together(self.network, idle)
        self.optimizer = SGD(
            self.network.parameters(),
            settings.learning_rate,
            momentum=settings.momentum,
            weight_decay=settings.weight_decay,
            nesterov=settings.momentum > 0,
        )
        falls = settings.epochs * (self.steps if settings.cosine == "step" else 1)
        self.schedule: LRScheduler = cosine_by_epoch(self.optimizer, falls)
        self.history: list[Epoch] = []

    @property
    def steps(self) -> int:
        """The steps of an epoch."""
        return -(-len(self.train) // self.settings.batch_size)

    def placed(self, images: ImageSet) -> ImageSet:
        """The images with their border, on the device."""
        bordered = with_border(images.images, self.dataset.border)
        return ImageSet(bordered.to(self.device), images.labels.to(self.device))

    def run(
        self,
        on_epoch: Callable[[Epoch], None] | None = None,
        on_step: Callable[[int, int, int], None] | None = None,
    ) -> list[Epoch]:
        """Train what is left of the epochs; all of them, those before a restart included, are returned.

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

    @property
    def failed(self) -> bool:
        """Whether the loss left the finite numbers."""
        return bool(self.history) and not abs(self.history[-1].train_loss) < float("inf")

    def train_epoch_(self, on_step: Callable[[int, int, int], None] | None = None) -> Epoch:
        """One pass over the training images, then one over the test images."""
        rate, epoch = self.optimizer.param_groups[0]["lr"], len(self.history) + 1
        start = time.perf_counter()
        totals = torch.zeros(2, dtype=torch.float64, device=self.device)
        self.together.train()
        for step, (x, labels, count) in enumerate(self.batches(), start=1):
            totals += self.step_(x, labels, count)
            if self.settings.cosine == "step":
                self.schedule.step()
            if on_step is not None:
                on_step(epoch, step, self.steps)
        if self.settings.cosine == "epoch":
            self.schedule.step()
        loss, right = (self.team.add_(totals) / len(self.train)).tolist()
        seconds = time.perf_counter() - start
        self.team.same_buffers_(self.network)
        tested = evaluate_images(
            self.network, self.test, self.dataset, form=self.form, team=self.team, autocast=self.autocast()
        )
        return Epoch(epoch, rate, loss, right, *tested, seconds)

    def batches(self) -> Iterator[tuple[Tensor, Tensor, int]]:
        """This process's part of each batch of an epoch, and how many images the whole batch has."""
        size, row = self.settings.batch_size, self.dataset
        order = torch.randperm(len(self.train), generator=self.generators["order"])
        for start in range(0, len(order), size):
            index = order[start : start + size]
            moves = draw_moves(len(index), row.shift, row.flip, self.generators["moves"])
            own = index[self.team.share].to(self.device)
            images = moved(self.train.images[own], moves.take(self.team.share))
            x = as_input(images, row.mean, row.deviation).contiguous(memory_format=self.form)
            yield x, self.train.labels[own], len(index)

    def step_(self, x: Tensor, labels: Tensor, count: int) -> Tensor:
        """One step; the sum of this process's losses, and how many images it got right."""
        self.optimizer.zero_grad()
        with self.autocast():
            scores = self.together(x)
        loss = cross_entropy(scores.float(), labels, reduction="sum")
        torch.autograd.backward(loss * (self.team.size / count))  # the team's mean of these is the mean of the batch
        self.optimizer.step()
        with torch.no_grad():
            right = (scores.argmax(1) == labels).sum()
            return torch.stack([loss.detach().double(), right.double()])

    def autocast(self) -> AbstractContextManager[Any]:
        """The precision of the forward passes."""
        if self.settings.precision == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def save(self) -> None:
        """Write a checkpoint, where there is a folder for it."""
        if self.folder is None:
            return
        states = self.team.gathered({name: each.get_state() for name, each in self.generators.items()})
        self.team.told(lambda: self.write(states))

    def write(self, states: list[Any]) -> None:
        """Write a checkpoint with the states of all processes' generators."""
        assert self.folder is not None
        save_checkpoint(self.folder, len(self.history), self.state(states), self.identity)

    def state(self, generators: list[Any]) -> dict[str, Any]:
        """All that a checkpoint holds of this training as it stands."""
        return {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "generators": generators,
            "history": [asdict(epoch) for epoch in self.history],
        }

    def resume_(self) -> None:
        """Take up the newest checkpoint, where there is one."""
        if self.history or self.folder is None:
            return
        own = self.state(self.team.gathered({name: each.get_state() for name, each in self.generators.items()}))
        state = self.team.told(lambda: self.newest(own))
        if state is None:
            return
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        for name, each in self.generators.items():
            each.set_state(state["generators"][self.team.rank][name])
        self.history = [Epoch(**epoch) for epoch in state["history"]]

    def newest(self, own: Mapping[str, Any]) -> dict[str, Any] | None:
        """The state in the newest checkpoint, held against that of this training; None where there is none."""
        there = checkpoints(self.folder) if self.folder is not None else []
        if not there:
            return None
        state = load_checkpoint(there[-1], self.identity)
        names, weights = [field.name for field in fields(Epoch)], list(self.network.parameters())
        reason = why_not_of(state, own, weights, names, position_of(there[-1]))
        if reason is not None:
            raise CheckpointError(
                f"{there[-1]} does not fit this training ({reason}): remove it to go on from the one before, or choose "
                "another folder with --output"
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
    team: Team = ALONE,
    autocast: AbstractContextManager[Any] | None = None,
) -> tuple[float, float]:
    """Mean loss and accuracy (0 to 1) of a network on images that already have their border; no image is moved."""
    was_training = network.training
    network.eval()
    totals = torch.zeros(2, dtype=torch.float64, device=images.labels.device)
    try:
        for start in range(0, len(images), batch_size):
            own = slice(start + team.rank, min(start + batch_size, len(images)), team.size)
            x = as_input(images.images[own], dataset.mean, dataset.deviation).contiguous(memory_format=form)
            labels = images.labels[own]
            with autocast or nullcontext():
                scores = network(x).float()
            loss = cross_entropy(scores, labels, reduction="sum").double()
            totals += torch.stack([loss, (scores.argmax(1) == labels).sum().double()])
    finally:
        network.train(was_training)
    loss_sum, right = (team.add_(totals) / len(images)).tolist()
    return loss_sum, right


def check_batches(images: int, batch_size: int, epochs: int, processes: int) -> None:
    """A BatchError unless every process gets an image of every batch."""
    if images < 1 or batch_size < 1 or epochs < 1:
        raise BatchError(f"images, batch_size and epochs must be 1 or more; got {images}, {batch_size} and {epochs}")
    last = images % batch_size or batch_size
    if min(batch_size, last) < processes:
        raise BatchError(
            f"batches of {batch_size} leave {last} of {images} images for the last batch, too few for {processes} "
            "processes: choose another batch size"
        )
