"""The estimators with their defaults, and the same with another activation in place of the learned one."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from chebact.estimators import CLClassifier, CLRegressor
from chebact.lab.arena.entrants import Task
from chebact.lab.peers import PEERS
from chebact.table import ACTIVATIONS, Factory

__all__ = ["OneReplica", "ReplicaPReLU", "make_estimator"]


class ReplicaPReLU(nn.Module):
    """PReLU with a slope per replica and channel, from torch's start: x (replica, batch, channel), any shape if one."""

    def __init__(self, channels: int, *, replicas: int) -> None:
        super().__init__()
        self.slopes = nn.Parameter(torch.full((replicas, 1, channels), 0.25))

    def forward(self, x: Tensor) -> Tensor:
        """x where it is positive, and a multiple of it elsewhere."""
        return torch.where(x > 0, x, self.slopes * x)


class OneReplica(nn.Module):
    """An activation of another library in a network of one replica: x (1, batch, channel) -> the same shape.

    Its parameters get the leading axis that all parameters of such a network have.
    """

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = (inner,)  # no submodule: its parameters and buffers are kept here
        self.names = {name: name.replace(".", "-") for name, _ in (*inner.named_parameters(), *inner.named_buffers())}
        for name, parameter in inner.named_parameters():
            self.register_parameter(self.names[name], nn.Parameter(parameter.detach()[None].clone()))
        for name, buffer in inner.named_buffers():
            self.register_buffer(self.names[name], buffer.clone())

    def forward(self, x: Tensor) -> Tensor:
        """The activation of x."""
        kept: dict[str, Any] = {name: getattr(self, own) for name, own in self.names.items()}
        state = {name: each[0] if isinstance(each, nn.Parameter) else each for name, each in kept.items()}
        out: Tensor = functional_call(self.inner[0], state, (x[0],))
        return out[None]


def peer_activation(name: str, seed: int, channels: int) -> nn.Module:
    """The activation of a library of `PEERS`; whatever it draws depends on the seed."""
    build = {peer.name: peer.build for peer in PEERS}[name]
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)
        return OneReplica(build(channels))


def activation_of(name: str, seed: int) -> str | Factory:
    """What the estimators take as activation: a name of chebact's table, or a function of the channels."""
    if name == "prelu":
        return ReplicaPReLU
    return name if name in ACTIVATIONS else partial(peer_activation, name, seed)


def make_estimator(
    task: Task, columns: int, seed: int, *, activation: str | None = None, replicas: int | None = None
) -> Any:
    """The estimator with its defaults but for the activation and the number of networks."""
    changes: dict[str, Any] = {} if activation is None else {"activation": activation_of(activation, seed)}
    changes |= {} if replicas is None else {"n_replicas": replicas}
    kind = CLRegressor if task == "regression" else CLClassifier
    return kind(random_state=seed, **changes)
