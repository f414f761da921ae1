"""The networks: two hidden layers, with the activation of a row of the table, for all splits side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy
import torch
from torch import nn

from chebact.activations import ChebyshevLagrange
from chebact.networks.linear import ReplicaLinear

__all__ = ["MODELS", "Model", "build", "take_replica"]

INTERVAL = (-4.0, 4.0)
"""Where learned polynomials have their nodes."""
PENALTY, MARGIN = 10.0, 0.2


@dataclass(frozen=True)
class Model:
    """A row. `make` gives an activation from channels, degree, reach and replicas. `learned` says whether its heights
    are learned; `penalty` is the weight of the range penalty; `served` says whether the result is a polynomial that is
    evaluated on ciphertexts.
    """

    name: str
    make: Callable[[int, int, float, int | None], nn.Module]
    learned: bool = False
    penalty: float = 0.0
    served: bool = False


def learned(channels: int, degree: int, reach: float, replicas: int | None) -> nn.Module:
    """CL-extrapolate that starts as the fixed fit of SiLU of degree 2 from -reach to reach, at every degree."""
    made = ChebyshevLagrange(channels, degree=degree, interval=INTERVAL, channel_dim=-1, replicas=replicas)
    ends = numpy.array([-reach, 0.0, reach])
    start = numpy.polynomial.Polynomial.fit(ends, silu_fit(ends, 2), 2)
    return made.fit_(lambda nodes: torch.as_tensor(start(nodes.double().numpy())))


def fixed(
    function: Callable[[Any, int], Any], channels: int, degree: int, reach: float, replicas: int | None
) -> nn.Module:
    """A polynomial that is not learned; `function` gives its values at the nodes."""
    interval = (-reach, reach)
    made = ChebyshevLagrange(
        channels, degree=degree, tails="none", interval=interval, channel_dim=-1, replicas=replicas
    )
    made.fit_(lambda nodes: torch.as_tensor(function(nodes.double().numpy(), degree)))
    made.heights.requires_grad_(False)
    return made


def square(nodes: Any, degree: int) -> Any:
    """x^2."""
    return nodes**2


def relu_fit(nodes: Any, degree: int) -> Any:
    """The polynomial nearest to ReLU by least squares on a fine grid of the interval, whose ends are nodes."""
    x = numpy.linspace(nodes.min(), nodes.max(), 4001)
    return numpy.polynomial.Chebyshev.fit(x, numpy.maximum(x, 0), degree)(nodes)


def silu_fit(nodes: Any, degree: int) -> Any:
    """SiLU at the nodes: its Chebyshev interpolation."""
    return nodes / (1 + numpy.exp(-nodes))


MODELS: dict[str, Model] = {
    row.name: row
    for row in (
        Model("relu", lambda channels, degree, reach, replicas: nn.ReLU()),
        Model("cl-tails", learned, learned=True),
        Model("square", partial(fixed, square), served=True),
        Model("relu-fit", partial(fixed, relu_fit), served=True),
        Model("silu-fit", partial(fixed, silu_fit), served=True),
        Model("cl", learned, learned=True, penalty=PENALTY, served=True),
    )
}
"""The table by name."""


def build(
    model: Model,
    degree: int,
    sizes: tuple[int, int, int],
    reach: float,
    replicas: int | None = None,
    generator: Sequence[torch.Generator] | None = None,
) -> nn.Sequential:
    """The network for `sizes`: features, hidden width, classes."""
    features, width, classes = sizes

    def linear(columns: int, rows: int) -> nn.Module:
        return ReplicaLinear(columns, rows, replicas=replicas, generator=generator)

    def hidden(columns: int) -> tuple[nn.Module, nn.Module]:
        return linear(columns, width), model.make(width, degree, reach, replicas)

    return nn.Sequential(*hidden(features), *hidden(width), linear(width, classes))


def take_replica(network: nn.Sequential, alone: nn.Sequential, replica: int) -> nn.Sequential:
    """One replica of a network in one of the same kind without replicas, in float64."""
    state = {
        name: value if name.endswith("_extra_state") else value[replica] for name, value in network.state_dict().items()
    }
    alone.load_state_dict(state)
    return alone.double()
