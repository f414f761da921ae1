"""What one small training of the guide is: a frozen setting, with every model that is trained under it."""

from __future__ import annotations

from dataclasses import dataclass

from chebact.lab.spec import key

CHEBACT = "chebact"
INITS = ("zeros", "identity", "relu", "leaky_relu", "gelu", "silu", "tanh", "sigmoid")
DEFAULT = "tanh"  # the start of the heights in the studies of other things
FIXED = ("relu", "gelu", "silu", "tanh")


@dataclass(frozen=True)
class Model:
    """An activation. The fields after `activation` are those of `ChebyshevLagrange`, for "chebact" alone.

    `half_width` is that of the interval of the nodes. `heights_step` multiplies the step size of the heights,
    `heights_decay` says whether the setting's weight decay reaches them.
    """

    activation: str = CHEBACT
    init: str = ""
    degree: int = 0
    half_width: float = 1.0
    heights_step: float = 1.0
    heights_decay: bool = False

    @property
    def learned(self) -> bool:
        return self.activation == CHEBACT


def chebact(init: str = DEFAULT, degree: int = 3, **more: float) -> Model:
    return Model(CHEBACT, init, degree, **more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Setting:
    """One network, task and optimizer, with the models that take its activations' place, `seeds` times each.

    network: "plain" or "residual" (`depth` activations, `width` channels), "cnn" or "transformer".
    optimizer: "adam" (AdamW with `decay`), "sgd" (momentum 0.9) or "paper" (momentum 0.99, decay 1e-6, L1 loss).
    """

    study: str
    network: str
    task: str
    optimizer: str
    step: float
    models: tuple[Model, ...]
    depth: int = 2
    width: int = 32
    norm: str = "none"
    decay: float = 0.0
    epochs: int = 64
    batch: int = 32
    noise: float = 0.0
    scale: float = 1.0
    seeds: int = 5

    @property
    def name(self) -> str:
        """The name of its record below the folder of its study."""
        depth = f"-{self.depth}" if self.network in ("plain", "residual") else ""
        return f"{self.network}{depth}-{self.task}-{self.optimizer}-{self.step:g}-{key(self)[:6]}.json"
