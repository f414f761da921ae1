"""Tables: a cell is made once, as a number, its text and its tone; here it becomes text, Markdown, CSV or JSON.

The template of the page renders the same sheets as HTML. Nothing is ever read back from a text.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

__all__ = ["Cell", "Head", "Mark", "Sheet", "Tone", "as_csv", "as_json", "as_markdown", "as_rich", "plus_minus"]

Tone = Literal["", "better", "near", "worse", "far", "nan"]
Mark = Literal["", "best", "worst"]

SIGNS: dict[Mark, str] = {"best": " *", "worst": " !", "": ""}  # they stay when the terminal has no colours
STYLES: dict[Mark, str] = {"best": "bold green", "worst": "red", "": ""}
MARKDOWN: dict[Mark, str] = {"best": "**{}**", "worst": "*{}*", "": "{}"}


@dataclass(frozen=True)
class Cell:
    """A cell: its text, the number that it sorts by (None sorts last), a smaller text below, the published one.

    `tone` is how it compares with the paper, `away` by how many published deviations; `mark` singles it out in its
    column; `tip` explains the text.
    """

    text: str
    number: float | str | None = None
    below: str = ""
    tone: Tone = ""
    mark: Mark = ""
    away: str = ""
    tip: str = ""


@dataclass(frozen=True)
class Head:
    """The head of a column; numbers are aligned to the right."""

    text: str
    right: bool = False
    tip: str = ""


@dataclass(frozen=True)
class Sheet:
    """A table that can be sorted by any column; the first cell of a row names it."""

    kind: ClassVar = "table"
    name: str
    caption: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]
    toned: bool = False  # whether its colours are those of the comparison with the paper, which the page explains
    notes: tuple[str, ...] = ()  # what words in it mean, one line each


def plus_minus(mean: float, std: float | None, decimals: int) -> str:
    """Mean and deviation.

    >>> plus_minus(84.71, 0.84, 1), plus_minus(0.5, None, 2)
    ('84.7 ± 0.8', '0.50')
    """
    return f"{mean:.{decimals}f}" + ("" if std is None else f" ± {std:.{decimals}f}")


def as_rich(sheet: Sheet, title: str | None = None, *, wrap_names: bool = False, **style: Any) -> Table:
    """The sheet for a terminal; `style` is passed on to rich's table. The first column stays on one line by default."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=None if title is None else escape(title), title_justify="left", **style)
    for index, head in enumerate(sheet.heads):
        table.add_column(
            escape(head.text), justify="right" if head.right else "left", no_wrap=not (index or wrap_names)
        )
    for row in sheet.rows:
        table.add_row(*map(rich_cell, row))
    return table


def rich_cell(cell: Cell) -> Text:
    """The text with its mark, and on a second line the published one."""
    from rich.text import Text

    text = Text(cell.text + SIGNS[cell.mark], STYLES[cell.mark])
    return text if not cell.below else Text.assemble(text, "\n", (f"({cell.below})", "dim"))


def as_markdown(sheet: Sheet) -> str:
    """The sheet as a Markdown table, without its caption."""
    heads = "".join(f" {plain(head.text)} |" if head.text else " |" for head in sheet.heads)
    rule = "".join("--:|" if head.right else "---|" for head in sheet.heads)
    body = ["| " + " | ".join(map(markdown_cell, row)) + " |" for row in sheet.rows]
    return "\n".join([f"|{heads}", f"|{rule}", *body])


def markdown_cell(cell: Cell) -> str:
    text = MARKDOWN[cell.mark].format(plain(cell.text))
    return f"{text} ({plain(cell.below)})" if cell.below else text


def plain(text: str) -> str:
    r"""The text with the signs of Markdown escaped.

    >>> plain("0.8*** | 1")
    '0.8\\*\\*\\* \\| 1'
    """
    return text.replace("*", r"\*").replace("|", r"\|")


def as_json(rows: Sequence[Mapping[str, Any]]) -> str:
    """A JSON list, one object per row, null where there is nothing."""
    return json.dumps([dict(row) for row in rows], indent=1, allow_nan=False) + "\n"


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Comma-separated rows under a line of names, empty where there is nothing."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
