"""One row of a benchmark: what one activation costs at one size, in multiples of ReLU."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import prod
from typing import Annotated, Any

from chebact.lab.forms import TEXT, Kind, between

__all__ = ["Row", "cases_and_layouts", "parse_sizes"]

SIZES = re.compile(r"[1-9]\d{0,9}(x[1-9]\d{0,9}|(x[1-9]\d{0,9}){3})")
CASE = Kind("sizes such as 256x256 or 128x64x16x16", lambda value: TEXT.fits(value) and bool(SIZES.fullmatch(value)))
BYTES = 4  # of an element: the benchmark is in float32
Time = Annotated[float, between(0, 1e12)]


@dataclass(frozen=True)
class Row:
    """One contender in one case; times are ratios to torch.relu in the same run, spreads their quartiles."""

    case: Annotated[str, CASE]
    layout: str
    name: str
    degree: int | None
    forward: Time
    training: Time
    kept_bytes: int
    forward_us: Time
    training_us: Time
    forward_spread: tuple[Time, Time]
    training_spread: tuple[Time, Time]
    rounds: int

    def as_json(self) -> dict[str, Any]:
        """The row as plain data."""
        return asdict(self)

    @property
    def label(self) -> str:
        """The activation, with its degree if it has one."""
        return self.name if self.degree is None else f"{self.name}, n = {self.degree}"

    @property
    def kept_ratio(self) -> float:
        """The bytes kept for backward, as a multiple of those of x."""
        return self.kept_bytes / (BYTES * prod(parse_sizes(self.case)))


def parse_sizes(case: str) -> tuple[int, ...]:
    """The axes of a case.

    >>> parse_sizes("128x64x16x16")
    (128, 64, 16, 16)
    """
    return tuple(int(size) for size in case.split("x"))


def cases_and_layouts(rows: Iterable[Row]) -> list[tuple[str, str]]:
    """The cases and layouts, in the order of the rows."""
    return list(dict.fromkeys((row.case, row.layout) for row in rows))
