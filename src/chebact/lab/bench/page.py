"""The rows of `chebact bench ops` as tables: for the terminal, and in Markdown for the documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from chebact.lab.bench.machine import Machine
from chebact.lab.bench.rows import Row, cases_and_layouts
from chebact.lab.page.sheet import Cell, Head, Sheet, as_markdown, as_rich

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["as_table", "format_ratio", "lowest_degree", "markdown", "short_markdown"]

CURVE = "cl-extrapolate"
PLAIN = ("silu", "gelu", "tanh", "prelu")
LEARNED = (CURVE, "cl-regression", "paper-algorithm")
HEADS = ("activation", "degree", "forward", "training", "bytes kept", "of x", "n")


def format_ratio(ratio: float) -> str:
    """Three digits, and no exponent.

    >>> format_ratio(1.234), format_ratio(12.34), format_ratio(1234.5)
    ('1.23', '12.3', '1234')
    """
    return f"{ratio:.{2 if ratio < 9.995 else 1 if ratio < 99.95 else 0}f}"


def format_spread(ratio: float, quartiles: tuple[float, float]) -> str:
    return f"{format_ratio(ratio)} ({format_ratio(quartiles[0])} to {format_ratio(quartiles[1])})"


def lowest_degree(rows: Sequence[Row]) -> int | None:
    """The lowest degree of the learned polynomial."""
    return min((row.degree for row in rows if row.name == CURVE and row.degree), default=None)


def as_table(rows: Sequence[Row]) -> Table:
    """The rows of one case and layout; times are multiples of those of relu, with their quartiles."""
    from rich.box import SIMPLE

    body = tuple(
        (
            Cell(row.name),
            Cell("" if row.degree is None else str(row.degree), row.degree),
            Cell(format_spread(row.forward, row.forward_spread), row.forward),
            Cell(format_spread(row.training, row.training_spread), row.training),
            Cell(f"{row.kept_bytes:,}", row.kept_bytes),
            Cell(format_ratio(row.kept_ratio), row.kept_ratio),
            Cell(str(row.rounds), row.rounds),
        )
        for row in rows
    )
    title = f"{rows[0].case} {rows[0].layout}, times as multiples of relu"
    heads = tuple(Head(head, right=index > 0) for index, head in enumerate(HEADS))
    return as_rich(Sheet("bench", title, heads, body), title, wrap_names=True, box=SIMPLE, pad_edge=False)


def markdown(rows: Sequence[Row], machine: Machine) -> str:
    """The machine, then a table each for training, forward and the bytes kept."""
    tables: dict[str, Callable[[Row], str]] = {
        "Forward and backward, as a multiple of ReLU": lambda row: format_spread(row.training, row.training_spread),
        "Forward alone, as a multiple of ReLU": lambda row: format_spread(row.forward, row.forward_spread),
        "Bytes kept for backward, as a multiple of the bytes of x": lambda row: format_ratio(row.kept_ratio),
    }
    parts = [f"Measured on {machine}. {describe_rounds(rows)}"]
    parts += [f"**{title}**\n\n{as_markdown(grid_of(rows, cell))}" for title, cell in tables.items()]
    return "\n\n".join(parts) + "\n"


def short_markdown(rows: Sequence[Row], machine: Machine) -> str:
    """A few activations in one table, forward and backward, in the usual layout."""
    lowest, first = lowest_degree(rows), [row for row in rows if row.layout != "channels_last"]
    shown = [row for row in first if row.name in PLAIN or (row.name in LEARNED and row.degree == lowest)]
    sentence = "Time of forward and backward as a multiple of ReLU's on the same float32 tensor, measured on"
    table = as_markdown(grid_of(shown, lambda row: format_ratio(row.training)))
    return f"{sentence} {machine}.\n\n{table}\n"


def describe_rounds(rows: Sequence[Row]) -> str:
    """How often each case was timed."""
    ns = sorted({row.rounds for row in rows})
    count = f"{ns[0]}" if len(ns) == 1 else f"{ns[0]} to {ns[-1]}"
    return (
        f"Each time is the median of n = {count} rounds in which all activations took turns, divided by the median of "
        "ReLU in the same run; the quartiles stand in brackets. A dash: not measured at that size."
    )


def grid_of(rows: Sequence[Row], text: Callable[[Row], str]) -> Sheet:
    """A table with one row per activation and one column per case and layout."""
    columns = cases_and_layouts(rows)
    cells = {(row.label, row.case, row.layout): Cell(text(row)) for row in rows}
    names = dict.fromkeys(row.label for row in rows)
    body = tuple((Cell(name), *(cells.get((name, *column), Cell("-")) for column in columns)) for name in names)
    return Sheet("bench", "", (Head(""), *(Head(head, right=True) for head in column_heads(columns))), body)


def column_heads(columns: Sequence[tuple[str, str]]) -> list[str]:
    """The heads of the columns: the layout only if a case has more than one."""
    found = []
    for case, group in groupby(columns, key=lambda column: column[0]):
        layouts = [layout for _, layout in group]
        found += [case] if len(layouts) == 1 else [f"{case} {layout}" for layout in layouts]
    return found
