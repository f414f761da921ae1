"""Plain and residual stacks of linear layers: all models and seeds of a setting are replicas of one batched network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

import torch
from settings import Model, Setting
from tasks import Task, regression
from torch import Tensor, nn

from chebact import ChebyshevLagrange
from chebact.initial import shape_named
from chebact.lab.spec import stream
from chebact.networks import ReplicaLinear
from chebact.training import predict_replicas, train_replicas_
from chebact.training.replicas import absolute_error, paper_sgd, squared_error

FUNCTIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU, "tanh": nn.Tanh}


class SideBySide(nn.Module):
    """The activations of all models: x (replica, batch, channel), the replicas of a model next to each other.

    Learned activations that differ in their start alone are one module.
    """

    def __init__(self, models: tuple[Model, ...], seeds: int, width: int) -> None:
        super().__init__()
        groups = [list(group) for _, group in groupby(models, key=lambda model: replace(model, init=""))]
        self.sizes = [len(group) * seeds for group in groups]
        self.kinds = [group[0] for group in groups]
        self.parts = nn.ModuleList(part_of(group, seeds, width) for group in groups)

    def forward(self, x: Tensor) -> Tensor:
        """Each model's activation of its replicas."""
        return torch.cat([part(own) for part, own in zip(self.parts, x.split(self.sizes), strict=True)])


def part_of(group: list[Model], seeds: int, width: int) -> nn.Module:
    first = group[0]
    if not first.learned:
        return FUNCTIONS[first.activation]()

    def heights(nodes: Tensor) -> Tensor:
        rows = [shape_named(model.init)(nodes).expand(seeds, width, -1) for model in group]
        return torch.cat(rows)

    ends = (-first.half_width, first.half_width)
    return ChebyshevLagrange(
        width, degree=first.degree, init=heights, interval=ends, replicas=seeds * len(group), channel_dim=-1
    )


class Norm(nn.Module):
    """Layer norm or batch norm of x (replica, batch, channel), each replica its own, as torch's modules do it."""

    def __init__(self, kind: str, replicas: int, width: int) -> None:
        super().__init__()
        self.axis = {"layer": -1, "batch": 1}[kind]
        self.weight = nn.Parameter(torch.ones(replicas, 1, width))
        self.bias = nn.Parameter(torch.zeros(replicas, 1, width))
        self.register_buffer("mean", torch.zeros(replicas, 1, width))
        self.register_buffer("variance", torch.ones(replicas, 1, width))

    def forward(self, x: Tensor) -> Tensor:
        """Centre, scale, weight and bias; a batch norm uses its running figures in evaluation."""
        if self.axis == -1 or self.training:
            variance, mean = torch.var_mean(x, dim=self.axis, keepdim=True, correction=0)
            if self.axis == 1:
                self.mean.lerp_(mean.detach(), 0.1)
                self.variance.lerp_(variance.detach() * x.shape[1] / (x.shape[1] - 1), 0.1)
        else:
            mean, variance = self.mean, self.variance
        return (x - mean) * (variance + 1e-5).rsqrt() * self.weight + self.bias


class Stack(nn.Module):
    """Linear, then `depth` times [norm, activation, Linear]; all but the last are added to their input if residual."""

    def __init__(self, setting: Setting, features: int) -> None:
        super().__init__()
        self.residual = setting.network == "residual"
        replicas = len(setting.models) * setting.seeds
        generators = [stream("guide", "weights", seed) for _ in setting.models for seed in range(setting.seeds)]
        linear = partial(ReplicaLinear, replicas=replicas, generator=generators)

        def active() -> list[nn.Module]:
            norms = [] if setting.norm == "none" else [Norm(setting.norm, replicas, setting.width)]
            return [*norms, SideBySide(setting.models, setting.seeds, setting.width)]

        width = setting.width
        self.first = linear(features, width)
        self.blocks = nn.ModuleList(nn.Sequential(*active(), linear(width, width)) for _ in range(setting.depth - 1))
        self.last = nn.Sequential(*active(), linear(width, 1))

    def forward(self, x: Tensor) -> Tensor:
        """x (replica, batch, features) -> (replica, batch, 1)."""
        hidden = self.first(x)
        for block in self.blocks:
            hidden = hidden + block(hidden) if self.residual else block(hidden)
        return self.last(hidden)


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


def train_stack(setting: Setting) -> dict[str, Any]:
    """Train every model and seed; `models` has one entry for each model."""
    task = regression(setting)
    network = Stack(setting, task.train[0].shape[1])
    train_replicas_(
        network,
        *task.train,
        order=[stream("guide", "order", seed) for _ in setting.models for seed in range(setting.seeds)],
        epochs=setting.epochs,
        batch_size=setting.batch,
        loss=absolute_error if setting.optimizer == "paper" else squared_error,
        optimizer=lambda _: make_optimizer(network, setting),
    )
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


def number(value: Tensor, digits: int = 6) -> float | None:
    """A plain number, or None where it is not finite."""
    return float(f"{value.item():.{digits}g}") if bool(value.isfinite()) else None
