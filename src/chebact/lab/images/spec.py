"""The specs of the image experiment: what a command asks for, and what one record belongs to.

The fields of `ImageRequest` are the options of `chebact run images`: a field of `ImageSettings` is an option, part of
the record and of the report's comparison with the paper's settings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import torch

from chebact.lab import LabError
from chebact.lab.images.network import ShakeShakeResNet, numbers_of
from chebact.lab.images.sets import IMAGE_DATASETS
from chebact.lab.options import Integer, Several, about
from chebact.lab.spec import added, as_plain, check_choice, check_count, parts_of, stream
from chebact.lab.starts import (
    PAPER,
    RELEASED,
    Start,
    WeightStart,
    activation_factory,
    check_start,
    draw_he_uniform_,
    resolve_start,
)
from chebact.table import ACTIVATIONS

__all__ = ["CONTROL", "ImageRequest", "ImageSettings", "ImageSpec", "paper_spec"]

NAME = "images"
Cosine = Literal["epoch", "step"]
Form = Literal["paper", "released"]
Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True)
class Subject:
    """What is trained on what."""

    dataset: str
    activation: str


@dataclass(frozen=True)
class Subjects:
    """Every activation on every image set."""

    datasets: Annotated[tuple[str, ...], Several, about("digits, mnist, fashion-mnist, cifar10.")] = ("digits",)
    models: Annotated[tuple[str, ...], Several, about("Activations of the table.")] = ("relu", "cl-extrapolate")


@dataclass(frozen=True)
class ImageSettings:
    """How to train; the paper's choices by default. The step size falls along a cosine to zero over the epochs."""

    epochs: Annotated[Integer, about("Passes over the data.")] = 100
    seeds: Annotated[Integer, about("Trainings of each activation.")] = 3
    batch_size: Annotated[Integer, about("Images per step, of all processes together.")] = 128
    learning_rate: Annotated[float, about("The step size at the beginning.")] = 0.1
    momentum: Annotated[float, about("Nesterov's momentum.")] = 0.9
    weight_decay: Annotated[float, about("Of every parameter.")] = 1e-4
    cosine: Annotated[Cosine, about("When the step size falls; per step is for short trainings.")] = "epoch"
    subset: Annotated[Integer | None, about("Train on the first so many images only.")] = None
    form: Annotated[Form, about("Shake in all stages (paper) or in the last two (released).", "--recipe")] = "paper"
    where: Annotated[
        tuple[Integer, ...], Several, about("Convolutions with the activation before them; the others have ReLU.")
    ] = tuple(range(6, 14))
    degree: Annotated[Integer, about("Of the learned polynomials.")] = 3
    precision: Annotated[Precision, about("Of the forward pass; bfloat16 is torch's autocast.")] = "float32"
    channels_last: Annotated[bool, about("The channels of a pixel side by side in memory.")] = True
    shake: Annotated[bool | None, about("Shake-shake, or the mean of the branches; on cifar10 by default.")] = None
    init: Start = added(PAPER)
    start: WeightStart = added(RELEASED)


@dataclass(frozen=True)
class ImageSpec(ImageSettings, Subject):
    """One record: one activation on one image set, all seeds. `shake` is None for the paper's choice.

    `form` settles which stages shake: all ("paper"), or the last two ("released"), as the published figures were made.
    """

    processes: int = 1

    def __post_init__(self) -> None:
        check_choice("image set", self.dataset, IMAGE_DATASETS)
        check_choice("form of the network", self.form, ("paper", "released"))
        check_choice("precision", self.precision, ("float32", "bfloat16"))
        check_choice("cosine", self.cosine, ("epoch", "step"))
        check_choice("start", self.start, ("released", "he-uniform"))
        for what in ("seeds", "epochs", "batch_size", "degree", "processes"):
            check_count(what, getattr(self, what))
        for what in ("learning_rate", "momentum", "weight_decay"):
            if not 0 <= getattr(self, what) < float("inf"):
                raise LabError(f"{what} must be a finite number of 0 or more, got {getattr(self, what)}")
        self.check_images()
        if self.shake is None:
            object.__setattr__(self, "shake", IMAGE_DATASETS[self.dataset].shake)

    def check_activation(self) -> None:
        """A LabError for an activation that this process does not know; the report shows records of such, too."""
        check_choice("activation", self.activation, tuple(ACTIVATIONS))
        check_start(self.init, self.activation)

    def check_images(self) -> None:
        """A LabError if there are fewer images or convolutions than the spec asks for."""
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

    def path(self, results: Path) -> Path:
        """The path of its record below the results folder; its trainings are in a folder of that name."""
        return results / self.dataset / f"{self.name}.json"

    @property
    def name(self) -> str:
        """Activation, epochs, part of the images and starts other than the usual ones, as file names have them."""
        part = "" if self.subset is None else f"-of-{self.subset}"
        heights = "" if self.init == PAPER else f"-from-{self.init}"
        weights = "" if self.start == RELEASED else f"-start-{self.start}"
        return f"{self.activation}-{self.epochs}-epochs{part}{heights}{weights}"

    def for_control(self) -> ImageSpec:
        """The spec of ReLU that this one is compared with; equal for specs that differ in the activation only."""
        return replace(self, activation=CONTROL, **ONLY_LEARNED)

    def network(self, seed: int) -> ShakeShakeResNet:
        """The network before training."""
        generator = self.generator("start", seed)
        network = ShakeShakeResNet(
            IMAGE_DATASETS[self.dataset].channels,
            IMAGE_DATASETS[self.dataset].classes,
            activation=activation_factory(self.activation, self.init),
            shake=bool(self.shake) if self.form == "paper" else (2, 3) if self.shake else False,
            where=self.where,
            degree=self.degree,
            generator=generator,
        )
        if self.start != RELEASED:
            draw_he_uniform_(network, generator)
        return network

    def generator(self, purpose: str, seed: int, rank: int = 0) -> torch.Generator:
        """The generator for one purpose; only that of shake-shake differs between the processes of a team."""
        words = (NAME, purpose, self.dataset, self.activation, seed)
        return stream(*words, rank) if purpose == "shake" else stream(*words)

    def identity(self, seed: int) -> dict[str, Any]:
        """What identifies the checkpoints of one training."""
        return {**{name: value for name, value in as_plain(self).items() if name != "seeds"}, "seed": seed}


@dataclass(frozen=True)
class ImageRequest(ImageSettings, Subjects):
    """What one command asks for."""

    def specs(self, processes: int = 1) -> list[ImageSpec]:
        """One per image set and activation."""
        settings = parts_of(self, ImageSettings) | {"processes": processes}
        starts = {name: resolve_start(self.init, name, self.models) for name in self.models}
        specs = [
            ImageSpec(dataset, name, **settings | {"init": start})
            for dataset in dict.fromkeys(self.datasets)
            for name, start in starts.items()
        ]
        if not specs:
            raise LabError("models and datasets must name one each at least, got none")
        for spec in specs:
            spec.check_activation()
        return specs


CONTROL = "relu"  # the activation that the others are compared with
ONLY_LEARNED: dict[str, Any] = {"seeds": 1, "degree": ImageSettings.degree, "where": ImageSettings.where, "init": PAPER}
"""What ReLU does not have, and the number of seeds, which may differ between records that are compared."""


def paper_spec(dataset: str) -> ImageSpec:
    """What the paper does on an image set, with ReLU."""
    return ImageSpec(dataset, CONTROL)
