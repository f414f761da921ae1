"""A network as a list of steps, read from the graph of torch.export."""

from __future__ import annotations

from torch import Tensor, nn

from chebact.export.program import Program

__all__ = ["read_program"]


def read_program(network: nn.Module, example: Tensor | None = None) -> Program:
    """The steps of a network: see `reader.read_program`, which is imported when it is first used.

    >>> [step.kind for step in read_program(nn.Sequential(nn.Linear(2, 3), nn.Tanh())).steps]
    ['linear', 'tanh']
    """
    from chebact.export.reading import reader

    return reader.read_program(network, example)
