"""Plain and residual stacks of linear layers: all models and seeds of a setting are replicas of one batched network."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import groupby

import torch
from settings import Model, Setting
from torch import Tensor, nn

from chebact import ChebyshevLagrange
from chebact.initial import find_function
from chebact.lab.spec import stream
from chebact.networks import ReplicaLinear

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
        rows = [find_function(model.init)(nodes).expand(seeds, width, -1) for model in group]
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
