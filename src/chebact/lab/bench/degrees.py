"""The paper's two algorithms beside ours, at every degree from 1 to 30.

Algorithm 1 gives values: (n+1) n differences per element, the paper's O(n^2). Algorithm 2 gives slopes: (n+1) n (n-1)
differences, the paper's O(n^3); the paper computes it once, at the two ends. Here it is timed at every element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor, nn

from chebact.interpolation import polynomial
from chebact.lab import LabError
from chebact.lab.bench.ops import Contender, lagrange, measure_group, paper_modules
from chebact.lab.bench.rows import Row, parse_sizes

__all__ = ["DEGREES", "OURS", "PAPER", "measure_degrees"]

DEGREES = range(1, 31)
VALUES, SLOPES = "128x32", "256x1"  # at degree 30 the differences fill 15 and 28 MB
OURS = {"values": "cl-extrapolate", "slopes": "cl-slope"}
PAPER = {"values": "paper-algorithm", "slopes": "paper-slope"}


class Slope(nn.Module):
    """The derivative of one learned polynomial, at every element of x (N, 1)."""

    def __init__(self, channels: int, degree: int) -> None:
        super().__init__()
        self.heights = nn.Parameter(torch.zeros(channels, degree + 1))

    def forward(self, x: Tensor) -> Tensor:
        """Evaluate it, by the library's public function."""
        return polynomial(x, self.heights[0], derivative=1)


def with_heights(kind: Callable[[int, int], nn.Module], degree: int, channels: int) -> nn.Module:
    """A module with the heights that `lagrange` draws, so that both ways compute the same."""
    module = kind(channels, degree)
    with torch.no_grad():
        drawn = torch.randn(channels, degree + 1, generator=torch.Generator().manual_seed(1))
        module.get_parameter("heights").copy_(drawn)
    return module


def contenders_by_degree(degrees: range = DEGREES) -> dict[str, list[Contender]]:
    """The case of values and that of slopes: relu, which rows are relative to, then ours and the paper's."""
    released = paper_modules()
    if released is None:
        raise LabError("the paper's algorithm is in `benchmarks/` of the source tree, and there is none: clone it")
    relu = Contender("relu", None, lambda channels: nn.ReLU())
    values, slopes = [relu], [relu]
    for n in degrees:
        values.append(Contender(OURS["values"], n, lagrange(n, "extrapolate")))
        values.append(Contender(PAPER["values"], n, partial(with_heights, released.ReleasedActivation, n)))
        slopes.append(Contender(OURS["slopes"], n, partial(with_heights, Slope, n)))
        slopes.append(Contender(PAPER["slopes"], n, partial(with_heights, released.ReleasedSlope, n)))
    return {VALUES: values, SLOPES: slopes}


def measure_degrees(
    degrees: range = DEGREES, *, budget: float = 20.0, tell: Callable[[str], None] = lambda _: None
) -> Iterator[Row]:
    """The rows of both cases, all contenders of a case in turns, after ours and the paper's were compared."""
    for case, rows in contenders_by_degree(degrees).items():
        tell(case)
        x = torch.rand(parse_sizes(case), generator=torch.Generator().manual_seed(0)) * 2 - 1
        check_each_degree(x, rows)
        yield from measure_group(case, "nchw", x, rows, budget)


def check_each_degree(x: Tensor, rows: list[Contender]) -> None:
    """Raise RuntimeError if ours and the paper's differ at a degree: a wrong result is not timed."""
    found: dict[int | None, list[Tensor]] = {}
    for row in rows:
        found.setdefault(row.degree, []).append(row.build(x.shape[1])(x).detach())
    for degree, (ours, *theirs) in found.items():
        if theirs and not torch.allclose(ours, theirs[0], rtol=1e-3, atol=1e-4 * float(ours.abs().max())):
            raise RuntimeError(f"ours and the paper's algorithm differ at degree {degree}; nothing was timed")
