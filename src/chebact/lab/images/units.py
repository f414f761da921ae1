"""What captured units see and learn, in numbers: from the histogram of their inputs and their shape as recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from chebact.lab.dip import dip_of_histogram
from chebact.lab.images.record import Unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.floating[Any]]

__all__ = ["BIMODAL", "FLAT", "SKEWED", "STRAIGHT", "UnitMeasures", "count_shapes"]

BIMODAL = 0.0237  # the 5 % point of the dip of 500 uniform numbers: pixels of one image are not independent, images are
SKEWED = 1.0
FLAT = 0.1  # the gentler of two slopes, as a share of the steeper, below which it counts as flat
STRAIGHT = 0.95  # the share of the variance of the outputs that two lines explain, from which a shape counts as such


@dataclass(frozen=True)
class UnitMeasures:
    """One captured unit. Inputs count as being in the middle of their bin; a point of the shape has the weight of
    the bins, linear between their middles.
    """

    unit: Unit

    @cached_property
    def centres(self) -> Numbers:
        """The middle of every bin."""
        import numpy as np

        bins = len(self.unit.counts)
        width = (self.unit.high - self.unit.low) / bins
        return self.unit.low + width * (np.arange(bins) + 0.5)

    @cached_property
    def shares(self) -> Numbers:
        """The share of the inputs in every bin."""
        import numpy as np

        shares: Numbers = np.asarray(self.unit.counts, dtype=np.float64) / sum(self.unit.counts)
        return shares

    @property
    def reach(self) -> float:
        """How far the inputs go from zero, on the farther side."""
        return max(-self.unit.low, self.unit.high)

    @property
    def mean(self) -> float:
        """The mean of the inputs."""
        return float(self.shares @ self.centres)

    @property
    def skewness(self) -> float:
        """The skewness of the inputs: 0 for a bell and where all are equal, 2 for an exponential distribution."""
        far = self.centres - self.mean
        variance = float(self.shares @ far**2)
        return float(self.shares @ far**3) / variance**1.5 if variance else 0.0

    @property
    def dip(self) -> float:
        """Hartigan's dip of the inputs; two modes that are one bin apart cannot be seen."""
        return dip_of_histogram(self.unit.low, self.unit.high, self.unit.counts)

    @property
    def is_bell(self) -> bool:
        """Whether the inputs differ, and have one mode and little skewness."""
        return max(self.unit.counts) < sum(self.unit.counts) and self.dip < BIMODAL and abs(self.skewness) < SKEWED

    @property
    def has_mode_inside(self) -> bool:
        """Whether the fullest bin lies in [-1, 1]."""
        return bool(abs(self.centres[self.shares.argmax()]) <= 1)

    @cached_property
    def points(self) -> tuple[Numbers, Numbers, Numbers]:
        """x, y and weight of the points of the shape."""
        import numpy as np

        y = np.asarray(self.unit.shape, dtype=np.float64)
        x = np.linspace(self.unit.low, self.unit.high, len(y))
        weight = np.interp(x, self.centres, self.shares)
        return x, y, weight / weight.sum()

    @cached_property
    def two_lines(self) -> tuple[float, float, float]:
        """The two straight lines that meet anywhere between the ends and fit the shape best: the share of the variance
        of the outputs that they explain, and their slopes.
        """
        import numpy as np

        x, y, weight = self.points
        root = np.sqrt(weight)
        best, slopes = np.inf, (0.0, 0.0)
        for knee in x[1:-1]:
            columns = np.stack([np.ones_like(x), np.minimum(x - knee, 0), np.maximum(x - knee, 0)], axis=1)
            found = np.linalg.lstsq(columns * root[:, None], y * root, rcond=None)[0]
            left = float(weight @ (y - columns @ found) ** 2)
            if left < best:
                best, slopes = left, (float(found[1]), float(found[2]))
        variance = float(weight @ (y - weight @ y) ** 2)
        return 1 - best / variance if variance else 1.0, *slopes

    @property
    def shape(self) -> str:
        """V: two lines of opposite slopes. PReLU: two lines, both up or both down. ReLU: one line is flat. Curved: two
        lines do not explain the outputs.
        """
        explained, left, right = self.two_lines
        gentle, steep = sorted((abs(left), abs(right)))
        if explained < STRAIGHT:
            return "curved"
        if gentle <= FLAT * steep:
            return "ReLU"
        return "V" if left * right < 0 else "PReLU"

    @property
    def weaker_side(self) -> float:
        """Of the mean square of the outputs about the one at zero, the share that comes from the side of zero with
        less of it: 0 where only one side is reported, a half where both are alike.
        """
        import numpy as np

        x, y, weight = self.points
        parts = weight * (y - np.interp(0, x, y)) ** 2
        left, right = float(parts[x < 0].sum()), float(parts[x > 0].sum())
        return min(left, right) / (left + right) if left + right else 0.0


def count_shapes(measures: Sequence[UnitMeasures]) -> str:
    """How many units have which shape.

    >>> count_shapes([UnitMeasures(Unit(6, 0, -2, 2, (1, 2, 2, 1), (2.0, 0.0, 1.0), None))])
    '1 V'
    """
    return ", ".join(f"{count} {name}" for name, count in Counter(each.shape for each in measures).most_common())
