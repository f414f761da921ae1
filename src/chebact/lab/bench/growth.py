"""How times grow with the degree: exponents fitted to the rows of `chebact bench degrees`, as tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chebact.lab.bench.degrees import OURS, PAPER
from chebact.lab.bench.machine import Machine
from chebact.lab.bench.page import format_ratio
from chebact.lab.bench.rows import Row
from chebact.lab.page.sheet import Cell, Head, Sheet, as_markdown

__all__ = ["Power", "describe_growth", "fit_power", "growth_markdown", "growth_sheets", "has_growth"]

HIGH = 10  # from here on, the constant cost of a call is small beside the work of the paper's algorithm
SHOWN = (1, 2, 3, 5, 10, 15, 20, 30)
Cost = Callable[[Row], float]
TIMES: dict[str, tuple[str, Cost]] = {
    "values, forward": ("values", lambda row: row.forward_us),
    "values, with backward": ("values", lambda row: row.training_us),
    "slopes, forward": ("slopes", lambda row: row.forward_us),
}
BYTES: dict[str, tuple[str, Cost]] = {
    "values, bytes kept": ("values", lambda row: row.kept_bytes),
    "slopes, bytes kept": ("slopes", lambda row: row.kept_bytes),
}
THEORY = {"values": "O(n²)", "slopes": "O(n³)"}
EXPONENTS = (
    "Exponent b of cost = a n^b, by least squares of the logarithms over all degrees and over those from 10 on, ± half "
    "of the 95 % interval"
)
MICROSECONDS = "Microseconds per call by degree"


@dataclass(frozen=True)
class Power:
    """A power law that was fitted: its exponent, and half of the 95 % interval of it."""

    exponent: float
    error: float

    def __str__(self) -> str:
        """Both in two decimals."""
        return f"{self.exponent:.2f} ± {self.error:.2f}"


def fit_power(degrees: Sequence[float], costs: Sequence[float]) -> Power:
    """The least-squares line through the logarithms; the interval is that of Student's t distribution.

    >>> str(fit_power([1, 2, 4, 8], [3, 12, 48, 192]))
    '2.00 ± 0.00'
    """
    from scipy import stats

    line = stats.linregress([math.log(n) for n in degrees], [math.log(cost) for cost in costs])
    return Power(float(line.slope), float(stats.t.ppf(0.975, len(degrees) - 2) * line.stderr))


def has_growth(rows: Sequence[Row]) -> bool:
    """Whether these are rows of `chebact bench degrees`."""
    return any(row.name in PAPER.values() and (row.degree or 0) != 3 for row in rows)


def rows_of(rows: Sequence[Row], name: str) -> dict[int, Row]:
    """The rows of one contender by degree."""
    return {row.degree: row for row in rows if row.name == name and row.degree is not None}


def growth_sheets(rows: Sequence[Row]) -> tuple[Sheet, Sheet]:
    """The exponents, and the times of some degrees."""
    exponents, times = [], []
    shown = [n for n in SHOWN if any(row.degree == n for row in rows)]
    for what, (kind, cost) in {**TIMES, **BYTES}.items():
        theirs, ours = ({n: cost(row) for n, row in rows_of(rows, name[kind]).items()} for name in (PAPER, OURS))
        fits = [power_cell(each, least) for each in (theirs, ours) for least in (1, HIGH)]
        exponents.append((Cell(what), Cell(THEORY[kind]), *fits))
        if what in TIMES:
            for whose, costs in (("paper's", theirs), ("ours", ours)):
                times.append((Cell(f"{what}: {whose}"), *(Cell(format_ratio(costs[n]), costs[n]) for n in shown)))
    names = (f"{whose}, n \u2265 {least}" for whose in ("paper's", "ours") for least in (1, HIGH))
    heads = tuple(Head(text, right=True) for text in ("in the paper", *names))
    degrees = tuple(Head(str(n), right=True) for n in shown)
    return (
        Sheet("degrees-exponents", EXPONENTS, (Head(""), *heads), tuple(exponents)),
        Sheet("degrees-times", MICROSECONDS, (Head(""), *degrees), tuple(times)),
    )


def power_cell(costs: dict[int, float], least: int) -> Cell:
    """The exponent over the degrees from `least` on; a dash for fewer than three."""
    used = [n for n in sorted(costs) if n >= least]
    if len(used) < 3:
        return Cell("-")
    power = fit_power(used, [costs[n] for n in used])
    return Cell(str(power), power.exponent)


def describe_growth(rows: Sequence[Row], machine: Machine) -> str:
    """On which machine and tensors it was measured, and how often."""
    sizes, rounds = list(dict.fromkeys(row.case for row in rows)), sorted({row.rounds for row in rows})
    count = " to ".join(dict.fromkeys(str(each) for each in (rounds[0], rounds[-1])))
    return (
        f"Measured on {machine}. Values of a tensor of {sizes[0]}, slopes of one of {sizes[-1]}, float32; each time is "
        f"the median of n = {count} rounds in which all degrees and both algorithms took turns."
    )


def growth_markdown(rows: Sequence[Row], machine: Machine) -> str:
    """The machine, then both tables."""
    parts = [f"**{sheet.caption}**\n\n{as_markdown(sheet)}" for sheet in growth_sheets(rows)]
    return "\n\n".join([describe_growth(rows, machine), *parts]) + "\n"
