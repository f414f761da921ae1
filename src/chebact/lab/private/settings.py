"""What every split chooses from: six settings of the training for every model."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

__all__ = ["SETTINGS", "Setting"]

DECAYS = (1.0, 0.3, 0.1)
RATE = 0.003


@dataclass(frozen=True)
class Setting:
    """Step size and weight decay of AdamW, and `reach`: fixed polynomials are fitted from -reach to reach, and learned
    ones start as such a fit.
    """

    rate: float
    decay: float
    reach: float

    @property
    def text(self) -> str:
        """In words, for a record."""
        return f"rate {self.rate:g}, decay {self.decay:g}, reach {self.reach:g}"


BY_REACH = tuple(Setting(RATE, decay, reach) for decay, reach in product(DECAYS, (2.0, 4.0)))
BY_RATE = tuple(Setting(rate, decay, 4.0) for decay, rate in product(DECAYS, (RATE, 0.01)))
SETTINGS: dict[str, tuple[Setting, ...]] = {
    "relu": BY_RATE,
    "cl-tails": BY_REACH,
    "square": BY_RATE,
    "relu-fit": BY_REACH,
    "silu-fit": BY_REACH,
    "cl": BY_REACH,
}
"""The settings of a model; of equally good ones the first is taken, the strongest decay."""
