"""The rows of `chebact bench ops` for people: tables for the terminal, Markdown for the documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from math import prod
from typing import TYPE_CHECKING, Any

from chebact.lab.bench.machine import told
from chebact.lab.bench.ops import Row
from chebact.lab.page.sheet import Cell, Head, Sheet, as_markdown, as_rich

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["as_table", "label", "markdown", "number", "places", "short_markdown", "sizes"]

PLAIN = ("silu", "gelu", "tanh", "prelu")
LEARNED = ("cl-extrapolate", "cl-regression", "paper-algorithm")
BYTES = 4  # of an element: the benchmark is in float32
HEADS = ("activation", "degree", "forward", "training", "bytes kept", "of x", "n")


def sizes(case: str) -> tuple[int, ...]:
    """The axes of a case.

    >>> sizes("128x64x16x16")
    (128, 64, 16, 16)
    """
    return tuple(int(size) for size in case.split("x"))


def label(row: Row) -> str:
    """The activation, with its degree where it has one."""
    return row.name if row.degree is None else f"{row.name}, n = {row.degree}"


def places(rows: Iterable[Row]) -> list[tuple[str, str]]:
    """The cases and layouts, in the order of the rows."""
    return list(dict.fromkeys((row.case, row.layout) for row in rows))


def number(ratio: float) -> str:
    """Three digits, and no exponent.

    >>> number(1.234), number(12.34), number(1234.5)
    ('1.23', '12.3', '1234')
    """
    return f"{ratio:.{2 if ratio < 9.995 else 1 if ratio < 99.95 else 0}f}"


def spread(ratio: float, quartiles: tuple[float, float]) -> str:
    return f"{number(ratio)} ({number(quartiles[0])} to {number(quartiles[1])})"


def kept_of_x(row: Row) -> float:
    """The bytes kept, as a multiple of those of x."""
    return row.kept_bytes / (BYTES * prod(sizes(row.case)))


def as_table(rows: Sequence[Row]) -> Table:
    """The rows of one case and layout; times are multiples of those of relu, with their quartiles."""
    from rich.box import SIMPLE

    body = tuple(
        (
            Cell(row.name),
            Cell("" if row.degree is None else str(row.degree), row.degree),
            Cell(spread(row.forward, row.forward_spread), row.forward),
            Cell(spread(row.training, row.training_spread), row.training),
            Cell(f"{row.kept_bytes:,}", row.kept_bytes),
            Cell(number(kept_of_x(row)), kept_of_x(row)),
            Cell(str(row.rounds), row.rounds),
        )
        for row in rows
    )
    title = f"{rows[0].case} {rows[0].layout}, times as multiples of relu"
    heads = tuple(Head(head, right=index > 0) for index, head in enumerate(HEADS))
    return as_rich(Sheet("bench", title, heads, body), title, wrap_names=True, box=SIMPLE, pad_edge=False)


def markdown(rows: Sequence[Row], machine: Mapping[str, Any]) -> str:
    """Where it was measured, then a table each for training, forward and the bytes kept."""
    tables: dict[str, Callable[[Row], str]] = {
        "Forward and backward, as a multiple of ReLU": lambda row: spread(row.training, row.training_spread),
        "Forward alone, as a multiple of ReLU": lambda row: spread(row.forward, row.forward_spread),
        "Bytes kept for backward, as a multiple of the bytes of x": lambda row: number(kept_of_x(row)),
    }
    parts = [f"Measured on {told(machine)}. {rounds(rows)}"]
    parts += [f"**{title}**\n\n{as_markdown(grid_of(rows, cell))}" for title, cell in tables.items()]
    return "\n\n".join(parts) + "\n"


def short_markdown(rows: Sequence[Row], machine: Mapping[str, Any]) -> str:
    """A few activations in one table, forward and backward, in the usual layout."""
    lowest = min((row.degree for row in rows if row.name == "cl-extrapolate" and row.degree), default=None)
    shown = [
        row
        for row in rows
        if row.layout != "channels_last" and (row.name in PLAIN or (row.name in LEARNED and row.degree == lowest))
    ]
    sentence = "Time of forward and backward as a multiple of ReLU's on the same float32 tensor, measured on"
    table = as_markdown(grid_of(shown, lambda row: number(row.training)))
    return f"{sentence} {told(machine)}.\n\n{table}\n"


def rounds(rows: Sequence[Row]) -> str:
    """How often each case was timed, in a sentence."""
    ns = sorted({row.rounds for row in rows})
    count = f"{ns[0]}" if len(ns) == 1 else f"{ns[0]} to {ns[-1]}"
    return (
        f"Each time is the median of n = {count} rounds in which all activations took turns, divided by the median of "
        "ReLU in the same run; the quartiles stand in brackets. A dash: not measured at that size."
    )


def grid_of(rows: Sequence[Row], text: Callable[[Row], str]) -> Sheet:
    """Activations down, cases and layouts across."""
    columns = places(rows)
    cells = {(label(row), row.case, row.layout): Cell(text(row)) for row in rows}
    names = dict.fromkeys(label(row) for row in rows)
    body = tuple((Cell(name), *(cells.get((name, *column), Cell("-")) for column in columns)) for name in names)
    return Sheet("bench", "", (Head(""), *(Head(head, right=True) for head in heads(columns))), body)


def heads(columns: Sequence[tuple[str, str]]) -> list[str]:
    """The heads of the columns: the layout only where a case has more than one."""
    found = []
    for case, group in groupby(columns, key=lambda column: column[0]):
        layouts = [layout for _, layout in group]
        found += [case] if len(layouts) == 1 else [f"{case} {layout}" for layout in layouts]
    return found
