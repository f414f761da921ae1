"""Train the stacks of a setting, and measure what came out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from settings import Setting
from stacks import SideBySide, Stack
from tasks import Task, number, regression
from torch import Tensor, nn

from chebact.lab.spec import stream
from chebact.training.replicas import paper_sgd, predict_replicas


def parameter_groups(network: nn.Module, setting: Setting) -> list[dict[str, Any]]:
    """The weights, and the heights of each kind of model with a step size and a decay of their own."""
    groups, heights = [], set()
    for part in network.modules():
        if isinstance(part, SideBySide):
            for kind, own in zip(part.kinds, part.parts, strict=True):
                if kind.learned:
                    decay = setting.decay if kind.heights_decay else 0.0
                    rate = {"lr": setting.step * kind.heights_step, "weight_decay": decay}
                    groups.append({"params": list(own.parameters()), **rate})
                    heights.update(map(id, own.parameters()))
    weights = [parameter for parameter in network.parameters() if id(parameter) not in heights]
    return [{"params": weights, "lr": setting.step, "weight_decay": setting.decay}, *groups]


def make_optimizer(network: nn.Module, setting: Setting) -> torch.optim.Optimizer:
    if setting.optimizer == "paper":
        return paper_sgd(list(network.parameters()), lr=setting.step)
    groups = parameter_groups(network, setting)
    if setting.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=setting.step, momentum=0.9, fused=True)
    return torch.optim.AdamW(groups, lr=setting.step, weight_decay=0.0, fused=True)


def train_(network: Stack, x: Tensor, y: Tensor, setting: Setting) -> None:
    """Train all replicas at once, each in an order of its own; the step size falls along a half cosine.

    The losses are added, so that each replica has the gradient of its own; Adam and SGD work elementwise.
    """
    order = [stream("guide", "order", seed) for _ in setting.models for seed in range(setting.seeds)]
    optimizer = make_optimizer(network, setting)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=setting.epochs)
    loss = torch.abs if setting.optimizer == "paper" else torch.square
    for _ in range(setting.epochs):
        shuffled = torch.stack([torch.randperm(len(x), generator=generator) for generator in order])
        for batch in shuffled.split(setting.batch, dim=1):
            optimizer.zero_grad()
            loss(network(x[batch]) - y[batch]).mean(dim=(1, 2)).sum().backward()
            optimizer.step()
        schedule.step()


def train_stack(setting: Setting) -> dict[str, Any]:
    """Train every model and seed; `models` has one entry for each model."""
    task = regression(setting)
    network = Stack(setting, task.train[0].shape[1])
    train_(network, *task.train, setting)
    replicas = len(setting.models) * setting.seeds
    with inputs_outside(network) as outside:
        errors = {part: error(network, getattr(task, part), replicas, task) for part in ("valid", "test")}
    found = []
    for index, model in enumerate(setting.models):
        own = slice(index * setting.seeds, (index + 1) * setting.seeds)
        entry: dict[str, Any] = {part: [number(value) for value in errors[part][own]] for part in errors}
        if model.learned:
            entry["outside"] = number(torch.stack([shares[own] for shares in outside]).nanmean())
        found.append(entry)
    if setting.study == "beside":
        keep_pictures(network, setting, found)
    return {"constant": task.constant, "models": found}


def error(network: nn.Module, data: tuple[Tensor, Tensor], replicas: int, task: Task) -> Tensor:
    """The RMSE of each replica as a share of the best constant's."""
    difference = predict_replicas(network, data[0], replicas).double() - data[1].double()
    return difference.square().mean(dim=(1, 2)).sqrt() / task.constant


@contextmanager
def inputs_outside(network: nn.Module) -> Iterator[list[Tensor]]:
    """The share of the inputs outside the interval, for each activation a tensor (replica,); the last batch counts."""
    layers = [part for part in network.modules() if isinstance(part, SideBySide)]
    shares = [torch.full((sum(layer.sizes),), torch.nan) for layer in layers]

    def look(layer: SideBySide, inputs: tuple[Tensor]) -> None:
        kinds = zip(layer.sizes, layer.kinds, strict=True)
        widths = torch.cat([torch.full((size, 1, 1), kind.half_width) for size, kind in kinds])
        shares[layers.index(layer)].copy_((inputs[0].abs() > widths).float().mean(dim=(1, 2)))

    hooks = [layer.register_forward_pre_hook(look) for layer in layers]
    try:
        yield shares
    finally:
        for hook in hooks:
            hook.remove()


def keep_pictures(network: Stack, setting: Setting, found: list[dict[str, Any]]) -> None:
    """Of every seed: the prediction on a grid, and the learned heights of every channel."""
    replicas = len(setting.models) * setting.seeds
    curves = predict_replicas(network, torch.linspace(-1.2, 1.2, 241).unsqueeze(1), replicas).squeeze(2)
    for index, model in enumerate(setting.models):
        own = slice(index * setting.seeds, (index + 1) * setting.seeds)
        found[index]["curve"] = [[number(value, 5) for value in row] for row in curves[own]]
        if model.learned:
            layers = [part for part in network.modules() if isinstance(part, SideBySide)]
            place = [kind.learned for kind in layers[0].kinds].index(True)
            heights = [next(layer.parts[place].parameters()) for layer in layers]
            found[index]["heights"] = [
                [[[number(v, 5) for v in row] for row in rows] for rows in layer.detach()] for layer in heights
            ]
