"""The data of the guide: training points, validation points for choosing a step size, and test points."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from settings import Setting
from torch import Tensor

from chebact.lab.functions import published_split
from chebact.lab.spec import stream

POINTS = {"waves": 1000, "ripple": 100}


@dataclass(frozen=True)
class Task:
    """x and y of three parts, and the error of the best constant, by which every error is divided."""

    train: tuple[Tensor, Tensor]
    valid: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]
    constant: float


def waves(x: Tensor) -> Tensor:
    """sin(pi x0) cos(pi x1), for x (points, 2) on [-1, 1]: (points, 1)."""
    return torch.sin(math.pi * x[:, :1]) * torch.cos(math.pi * x[:, 1:])


def ripple(x: Tensor) -> Tensor:
    """sin(2 pi x) exp(-x), for x (points, 1) on [-1, 1]: (points, 1)."""
    return torch.sin(2 * math.pi * x) * torch.exp(-x)


FUNCTIONS = {"waves": (waves, 2), "ripple": (ripple, 1)}


def regression(setting: Setting) -> Task:
    """Points of a function: with noise for training and validation, without for the test; x is multiplied last."""
    if setting.task in FUNCTIONS:
        function, features = FUNCTIONS[setting.task]

        def draw(part: str, points: int, noise: float) -> tuple[Tensor, Tensor]:
            x = torch.rand(points, features, generator=stream("guide", setting.task, part)) * 2 - 1
            disturbance = torch.randn(points, 1, generator=stream("guide", setting.task, part, "noise"))
            return x * setting.scale, function(x) + noise * disturbance

        points = POINTS[setting.task]
        train, valid = draw("train", points, setting.noise), draw("valid", points, setting.noise)
        test = draw("test", 2000, 0.0)
    else:
        train, test = published_split(setting.task, noise=setting.noise, recipes="released")
        valid = train
    return Task(train, valid, test, float((test[1] - train[1].mean()).square().mean().sqrt()))


def digits(setting: Setting) -> Task:
    """The 1,797 digits of scikit-learn, 8x8, in an order of ours: 1,000, 297 and 500."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    order = torch.randperm(len(labels), generator=stream("guide", "digits"))
    x = torch.tensor(images, dtype=torch.float32).view(-1, 1, 8, 8)[order] / 8 - 1
    y = torch.tensor(labels)[order]
    parts = [(x[start:end], y[start:end]) for start, end in ((0, 1000), (1000, 1297), (1297, 1797))]
    return Task(*parts, constant=math.log(10))


def sorting(setting: Setting) -> Task:
    """Sequences of 8 numbers from 0 to 15; the label of place i is the i-th smallest."""

    def draw(part: str, count: int) -> tuple[Tensor, Tensor]:
        x = torch.randint(16, (count, 8), generator=stream("guide", "sorting", part))
        return x, x.sort(dim=1).values

    return Task(draw("train", 3000), draw("valid", 500), draw("test", 1000), constant=math.log(16))


def number(value: Tensor, digits: int = 6) -> float | None:
    """A plain number, or None where it is not finite."""
    return float(f"{value.item():.{digits}g}") if bool(value.isfinite()) else None
