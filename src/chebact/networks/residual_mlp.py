"""The residual network of the synthetic experiments, and the eleven rows of the paper's architecture table."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor, nn

from chebact.checks import check_choice, check_count
from chebact.networks.linear import Generators, ReplicaLinear
from chebact.table import Factory, build_activation, paper_activation

__all__ = ["ARCHITECTURES", "Architecture", "ResidualMLP", "architecture"]


@dataclass(frozen=True)
class Architecture:
    """A row of the table. `released_last` is False if the released network has no activation before the last layer."""

    title: str
    activation: str
    blocks: int = 3
    layers: int = 1
    released_last: bool = True


ARCHITECTURES: dict[str, Architecture] = {
    "relu": Architecture("ReLU", "relu"),
    "relu-2x-depth": Architecture("ReLU (2x depth)", "relu", blocks=6),
    "relu-2x-layers": Architecture("ReLU (2x layers)", "relu", layers=2),
    "tanh": Architecture("tanh", "tanh"),
    "cubic": Architecture("Cubic", "cubic"),
    "cl": Architecture("CL", "cl", released_last=False),
    "wcp": Architecture("WCP", "wcp", released_last=False),
    "pcs-cl": Architecture("PCS-CL", "pcs-cl", released_last=False),
    "tanh-cl": Architecture("tanh-CL", "tanh-cl", released_last=False),
    "cl-regression": Architecture("CL-regression", "cl-regression"),
    "cl-extrapolate": Architecture("CL-extrapolate", "cl-extrapolate"),
}


def architecture(name: str) -> Architecture:
    """The row of `ARCHITECTURES`, or a ValueError that lists the names.

    >>> architecture("relu-2x-depth").blocks
    6
    """
    return ARCHITECTURES[check_choice("model", name, ARCHITECTURES)]


class ResidualMLP(nn.Module):
    """Linear(features, width), residual blocks, an activation, Linear(width, outputs).

    A block is `layers` times [activation, Linear(width, width)]. `shortcut="add"` adds the block to its input and
    `"mean"` averages the two. `last_activation=False` omits the activation before the last layer. `activation` is
    a name of the table or a factory: `functools.partial(ChebyshevLagrange, init="relu")`, `torch.nn.GELU`.

    Shapes: x (batch, features) -> (batch, outputs); with `replicas=R`, x (R, batch, features) -> (R, batch, outputs),
    and every parameter has a leading replica axis. Replica i drawn from a generator is the network without replicas
    drawn from the same generator. `used_features` is the number of columns that each replica uses, for replicas
    with different data (see `ReplicaLinear`).

    >>> import torch
    >>> ResidualMLP(3, activation="tanh")(torch.zeros(8, 3)).shape
    torch.Size([8, 1])
    """

    def __init__(
        self,
        features: int,
        outputs: int = 1,
        *,
        activation: str | Factory = "cl-extrapolate",
        width: int = 32,
        blocks: int = 3,
        layers: int = 1,
        degree: int | None = None,
        last_activation: bool = True,
        shortcut: Literal["add", "mean"] = "add",
        replicas: int | None = None,
        used_features: Sequence[int] | None = None,
        generator: Generators = None,
    ) -> None:
        super().__init__()
        self.shortcut = check_choice("shortcut", shortcut, ("add", "mean"))
        sizes = {"features": features, "outputs": outputs, "width": width, "blocks": blocks, "layers": layers}
        for name, size in sizes.items():
            check_count(name, size)

        def sigma() -> nn.Module:
            return draw_(build_activation(activation, width, degree=degree, replicas=replicas), generator)

        def linear(columns: int, rows: int, used: Sequence[int] | None = None) -> ReplicaLinear:
            return ReplicaLinear(columns, rows, replicas=replicas, used_features=used, generator=generator)

        def block() -> nn.Sequential:
            return nn.Sequential(*(part for _ in range(layers) for part in (sigma(), linear(width, width))))

        self.first = linear(features, width, used_features)
        self.blocks = nn.ModuleList(block() for _ in range(blocks))
        self.last_activation = sigma() if last_activation else nn.Identity()
        self.last = linear(width, outputs)

    @classmethod
    def from_table(
        cls,
        name: str,
        features: int,
        replicas: int | None = None,
        *,
        form: Literal["paper", "released"] = "released",
        **options: Any,
    ) -> ResidualMLP:
        """The network of a row of the paper's table, with heights that start at zero.

        `options` are those of the constructor.

        `form` decides about the last activation of cl, wcp, pcs-cl and tanh-cl: the published numbers were computed
        without it (`"released"`), the text and the parameter counts of the paper include it (`"paper"`).

        >>> sum(p.numel() for p in ResidualMLP.from_table("relu", 3).parameters())
        3329
        """
        row = architecture(name)
        check_choice("form", form, ("paper", "released"))
        shape = {"activation": paper_activation(row.activation), "blocks": row.blocks, "layers": row.layers}
        last = form == "paper" or row.released_last
        return cls(features, replicas=replicas, **{**shape, "last_activation": last, **options})

    def reset_parameters(self, generator: Generators = None) -> None:
        """Draw all parameters again, layer by layer, from one generator per replica."""
        for child in self.children():
            draw_(child, generator)

    def forward(self, x: Tensor) -> Tensor:
        """x (batch, features) or (replica, batch, features) -> the same shape with `outputs` in the last axis."""
        hidden = self.first(x)
        for block in self.blocks:
            hidden = self.join(hidden, block(hidden))
        return self.last(self.last_activation(hidden))  # type: ignore[no-any-return]

    def join(self, hidden: Tensor, residual: Tensor) -> Tensor:
        """Combine a block with its input."""
        joined = hidden + residual
        return joined if self.shortcut == "add" else joined / 2


def draw_(module: nn.Module, generator: Generators) -> nn.Module:
    """Reset a module and all its submodules, in order, with the generator where they accept one."""
    for part in module.modules():
        reset = getattr(part, "reset_parameters", None)
        if callable(reset):
            takes_generator = "generator" in inspect.signature(reset).parameters
            reset(**({"generator": generator} if takes_generator else {}))
    return module
