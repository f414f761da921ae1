"""What a page is made of: sections, and in them words, tables, pictures and commands. The template draws each kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

__all__ = [
    "Block",
    "Cell",
    "Commands",
    "Fold",
    "Key",
    "Missing",
    "Panel",
    "Picture",
    "Section",
    "Table",
    "Tile",
    "Tone",
    "Words",
    "pictures_in",
]

Tone = Literal["", "better", "near", "worse", "far", "nan", "plain"]


@dataclass(frozen=True)
class Cell:
    """A cell: what stands in it, a smaller line below, what to sort by, and how it compares with the paper."""

    text: str
    below: str = ""
    sort: float | str | None = None
    tone: Tone = ""
    strong: bool = False
    away: str = ""  # how far from the published number, in its deviations


@dataclass(frozen=True)
class Table:
    """A table that can be sorted by any column; the first cell of a row names it."""

    kind: ClassVar = "table"
    name: str
    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    toned: bool = False  # whether its colours are those of the comparison with the paper, which the page explains


@dataclass(frozen=True)
class Panel:
    """One drawing: an SVG text made by us, and what it shows in words."""

    svg: str
    alt: str
    width: int  # in pixels, as drawn


@dataclass(frozen=True)
class Key:
    """An entry of a legend: how it looks (a class of the style sheet), in which colour of the theme, what it is."""

    look: Literal["line", "dash", "dot", "diamond", "bar", "area"]
    colour: str
    label: str


@dataclass(frozen=True)
class Picture:
    """Panels side by side, as many as the width allows, with one legend and one caption."""

    kind: ClassVar = "picture"
    name: str
    caption: str
    panels: tuple[Panel, ...]
    keys: tuple[Key, ...] = ()

    @property
    def column(self) -> int:
        """The least width of a column where all panels are of one width, in pixels; 0 where they are not."""
        widths = {panel.width for panel in self.panels}
        return round(0.93 * widths.pop()) if len(widths) == 1 else 0


@dataclass(frozen=True)
class Words:
    """Paragraphs, then a list."""

    kind: ClassVar = "words"
    paragraphs: tuple[str, ...] = ()
    items: tuple[str, ...] = ()


@dataclass(frozen=True)
class Commands:
    """Lines to type."""

    kind: ClassVar = "commands"
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Missing:
    """What is not there, why, and the command that makes it."""

    kind: ClassVar = "missing"
    sentence: str
    command: str = ""


@dataclass(frozen=True)
class Tile:
    """A number and what it counts."""

    number: str
    label: str


@dataclass(frozen=True)
class Fold:
    """Blocks behind a line that opens them."""

    kind: ClassVar = "fold"
    summary: str
    blocks: tuple[Block, ...]


Block = Table | Picture | Words | Commands | Missing | Fold


@dataclass(frozen=True)
class Section:
    """A part of the page: its name is the anchor."""

    name: str
    title: str
    blocks: tuple[Block, ...]
    lead: str = ""
    tiles: tuple[Tile, ...] = field(default=())


def pictures_in(blocks: tuple[Block, ...]) -> Iterator[Picture]:
    """All pictures among blocks, those behind folds too."""
    for block in blocks:
        if isinstance(block, Picture):
            yield block
        elif isinstance(block, Fold):
            yield from pictures_in(block.blocks)
