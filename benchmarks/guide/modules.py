"""The small convolutional network and the transformer: plain torch modules, one training for each model and seed."""

from __future__ import annotations

from typing import Any

import torch
from settings import Model, Setting
from stacks import FUNCTIONS
from tasks import Task, digits, number, sorting
from torch import Tensor, nn

from chebact import ChebyshevLagrange
from chebact.lab.spec import stream


def make_activation(model: Model, channels: int, channel_dim: int = 1) -> nn.Module:
    if model.learned:
        return ChebyshevLagrange(channels, degree=model.degree, init=model.init, channel_dim=channel_dim)
    return FUNCTIONS[model.activation]()


def make_cnn(model: Model, setting: Setting) -> nn.Module:
    """Three 3x3 convolutions, the mean over the places, one linear layer."""
    layers: list[nn.Module] = []
    for inputs, outputs, stride in ((1, 16, 1), (16, 32, 2), (32, 32, 2)):
        layers.append(nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1))
        layers += [nn.BatchNorm2d(outputs)] if setting.norm == "batch" else []
        layers.append(make_activation(model, outputs))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))


class Sorter(nn.Module):
    """Two of torch's transformer layers, the norm first, with the activation in their MLP of 64 channels."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.tokens = nn.Embedding(16, 32)
        self.places = nn.Parameter(torch.randn(8, 32) * 0.1)
        options: dict[str, Any] = {"dropout": 0.0, "batch_first": True, "norm_first": True}
        self.layers = nn.Sequential(
            *(
                nn.TransformerEncoderLayer(32, 4, 64, activation=make_activation(model, 64, -1), **options)
                for _ in range(2)
            )
        )
        self.last = nn.Linear(32, 16)

    def forward(self, x: Tensor) -> Tensor:
        """x (batch, 8) -> (batch, 16 classes, 8)."""
        return self.last(self.layers(self.tokens(x) + self.places)).mT


def train_modules(setting: Setting) -> dict[str, Any]:
    """Train every model and seed; `models` has one entry for each model."""
    task = digits(setting) if setting.task == "digits" else sorting(setting)
    found = []
    for model in setting.models:
        runs = [train_one(model, setting, task, seed) for seed in range(setting.seeds)]
        found.append({name: [run[name] for run in runs] for name in runs[0]})
    return {"constant": task.constant, "models": found}


def train_one(model: Model, setting: Setting, task: Task, seed: int) -> dict[str, float | None]:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = make_cnn(model, setting) if setting.network == "cnn" else Sorter(model)
    if setting.optimizer == "sgd":
        optimizer: torch.optim.Optimizer = torch.optim.SGD(network.parameters(), lr=setting.step, momentum=0.9)
    else:
        optimizer = torch.optim.AdamW(network.parameters(), lr=setting.step, weight_decay=0.0, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=setting.epochs)
    order = stream("guide", "order", seed)
    x, y = task.train
    for _ in range(setting.epochs):
        for batch in torch.randperm(len(x), generator=order).split(setting.batch):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(x[batch]), y[batch]).backward()
            optimizer.step()
        schedule.step()
    return measures(network.eval(), task)


@torch.no_grad()
def measures(network: nn.Module, task: Task) -> dict[str, float | None]:
    """Cross entropy as a share of the constant's, of validation and test; the share of right labels of the test."""
    result = {}
    for part in ("valid", "test"):
        x, y = getattr(task, part)
        scores = network(x)
        result[part] = number(nn.functional.cross_entropy(scores.double(), y) / task.constant)
    result["right"] = number((scores.argmax(dim=1) == y).double().mean())
    return result
