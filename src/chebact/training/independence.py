"""Replicas must not touch each other: what a network and an optimizer need for that, tried before the training."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from chebact.checks import check_integer

__all__ = ["check_network", "check_optimizer", "make_generators"]


def make_generators(order: Sequence[torch.Generator | int]) -> list[torch.Generator]:
    """One generator per replica, from generators or seeds.

    >>> [generator.initial_seed() for generator in make_generators([3, torch.Generator().manual_seed(5)])]
    [3, 5]
    """
    try:
        given = list(order)
    except TypeError:
        raise TypeError(
            f"order must be one seed or torch.Generator per replica, got {order!r} ({type(order).__name__}); "
            "for four replicas pass order=range(4)"
        ) from None
    if not given:
        raise ValueError("order must hold one seed or torch.Generator per replica, got none")
    return [
        each
        if isinstance(each, torch.Generator)
        else torch.Generator().manual_seed(check_integer("order", each, least=-(2**63), most=2**64 - 1))
        for each in given
    ]


def check_network(network: nn.Module, replicas: int) -> None:
    """A ValueError unless the first axis of every parameter is the replicas'."""
    if not isinstance(network, nn.Module):
        raise TypeError(f"network must be a torch.nn.Module, got {type(network).__name__}")
    for name, parameter in network.named_parameters():
        if is_lazy(parameter):
            raise ValueError(f"network must know its sizes, got the lazy parameter {name!r}; call it once before")
        if replicas > 1 and parameter.requires_grad and parameter.shape[:1] != (replicas,):
            raise ValueError(
                f"network must have a leading replica axis of {replicas} (the length of order) on every parameter, got "
                f"{tuple(parameter.shape)} for {name!r}; build it with replicas={replicas}, as ResidualMLP is"
            )


def check_optimizer(make: Callable[[list[nn.Parameter]], Optimizer], network: nn.Module, replicas: int) -> None:
    """A ValueError where a step of one replica depends on the gradients of another.

    An optimizer of its own takes two steps that differ in the other replicas' gradients alone; the network is then put
    back. So Adafactor, Muon, LBFGS, and clipping by a norm over all parameters, are found without knowing their names.
    """
    parameters = [p for p in network.parameters() if p.requires_grad]
    if replicas < 2 or not parameters:
        return
    before = [(p.detach().clone(), p.grad) for p in parameters]
    steps: list[list[Tensor]] = []
    try:
        for trial in (1, 2):
            _put_back(parameters, before)
            optimizer = make(list(network.parameters()))
            chance = torch.Generator().manual_seed(0), torch.Generator().manual_seed(trial)
            for p in parameters:
                first, others = torch.randn(p[:1].shape, generator=chance[0]), p[1:].shape
                p.grad = torch.cat([first, 10.0 ** (6 * trial) * torch.randn(others, generator=chance[1])]).to(p)
            optimizer.step()
            steps.append([p.detach()[0].clone() for p in parameters])
    except TypeError as error:  # LBFGS needs a closure
        raise ValueError(f"optimizer must take steps without arguments, like SGD or Adam, got {error}") from error
    finally:
        _put_back(parameters, before)
    if not all(torch.allclose(one, other, rtol=0, atol=0, equal_nan=True) for one, other in zip(*steps, strict=True)):
        raise ValueError(
            f"optimizer must work element by element (SGD, Adam, AdamW, RMSprop, Adagrad do), got "
            f"{type(optimizer).__name__}, whose step of one replica depends on the gradients of the others"
        )


def _put_back(parameters: list[nn.Parameter], before: list[tuple[Tensor, Tensor | None]]) -> None:
    with torch.no_grad():
        for p, (value, grad) in zip(parameters, before, strict=True):
            p.copy_(value)
            p.grad = grad
