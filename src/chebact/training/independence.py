"""Checks that the replicas of a network and its optimizer are independent of each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from chebact.checks import check_integer, check_module, must_be

__all__ = ["check_network", "check_optimizer", "make_generators"]

ORDER = "one seed or torch.Generator per replica"


def make_generators(order: Sequence[torch.Generator | int]) -> list[torch.Generator]:
    """One generator per replica, from generators or seeds.

    >>> [generator.initial_seed() for generator in make_generators([3, torch.Generator().manual_seed(5)])]
    [3, 5]
    """
    try:
        given = list(order)
    except TypeError:
        raise TypeError(must_be("order", ORDER, order, "for four replicas pass order=range(4)")) from None
    if not given:
        raise ValueError(must_be("order", ORDER, order))
    return [
        each
        if isinstance(each, torch.Generator)
        else torch.Generator().manual_seed(check_integer("order", each, least=-(2**63), most=2**64 - 1))
        for each in given
    ]


def check_network(network: nn.Module, replicas: int) -> None:
    """A ValueError unless the first axis of every parameter is the replica axis."""
    check_module("network", network)
    for name, parameter in network.named_parameters():
        if is_lazy(parameter):
            raise ValueError(f"network must not be lazy, got the lazy parameter {name!r}; call chebact.materialize")
        if replicas > 1 and parameter.requires_grad and parameter.shape[:1] != (replicas,):
            raise ValueError(
                f"network must have a leading replica axis of {replicas} (the length of order) on every parameter, got "
                f"shape {tuple(parameter.shape)} for {name!r}; build it with replicas={replicas}, as ResidualMLP"
            )


def check_optimizer(make: Callable[[list[nn.Parameter]], Optimizer], network: nn.Module, replicas: int) -> None:
    """A ValueError if the step of one replica depends on the gradients of another.

    A second optimizer takes two steps that differ only in the gradients of the other replicas; then the network is
    restored. This detects Adafactor, Muon, LBFGS and clipping by a norm over all parameters.
    """
    parameters = [p for p in network.parameters() if p.requires_grad]
    if replicas < 2 or not parameters:
        return
    before = [(p.detach().clone(), p.grad) for p in parameters]
    steps: list[list[Tensor]] = []
    try:
        for trial in (1, 2):
            _restore(parameters, before)
            optimizer = make(list(network.parameters()))
            random = torch.Generator().manual_seed(0), torch.Generator().manual_seed(trial)
            for p in parameters:
                first, others = torch.randn(p[:1].shape, generator=random[0]), p[1:].shape
                p.grad = torch.cat([first, 10.0 ** (6 * trial) * torch.randn(others, generator=random[1])]).to(p)
            optimizer.step()
            steps.append([p.detach()[0].clone() for p in parameters])
    except TypeError as error:  # LBFGS needs a closure
        raise ValueError(f"optimizer must have step() without arguments, like SGD or Adam, got {error}") from error
    finally:
        _restore(parameters, before)
    if not all(torch.allclose(one, other, rtol=0, atol=0, equal_nan=True) for one, other in zip(*steps, strict=True)):
        raise ValueError(
            f"optimizer must be elementwise, got {type(optimizer).__name__}, whose step of one replica depends on the "
            "gradients of the others; use SGD, Adam, AdamW, RMSprop or Adagrad"
        )


def _restore(parameters: list[nn.Parameter], before: list[tuple[Tensor, Tensor | None]]) -> None:
    with torch.no_grad():
        for p, (value, grad) in zip(parameters, before, strict=True):
            p.copy_(value)
            p.grad = grad
