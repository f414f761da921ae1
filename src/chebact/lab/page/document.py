"""What a page is made of: sections, and in them words, tables, pictures and commands. The template draws each kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from chebact.lab.page.sheet import Sheet

__all__ = [
    "Block",
    "Commands",
    "Finding",
    "Findings",
    "Fold",
    "Key",
    "Missing",
    "Panel",
    "Picture",
    "Section",
    "Words",
    "pictures_in",
]


@dataclass(frozen=True)
class Panel:
    """One drawing: an SVG text made by us, and what it shows in words."""

    svg: str
    alt: str
    width: int  # in pixels, as drawn; 0 for a drawing that keeps its size


@dataclass(frozen=True)
class Key:
    """An entry of a legend: how it looks (a class of the style sheet), in which colour of the theme, what it is."""

    look: Literal["line", "dash", "dot", "diamond", "bar", "area"]
    colour: str
    label: str


@dataclass(frozen=True)
class Picture:
    """Panels side by side, as many as the width allows, with one legend and one caption. No row has a single panel
    on a wide screen: see `columns`.
    """

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

    @property
    def columns(self) -> int:
        """The largest number of columns, of 4, 3, 5 or 2, with two panels or more in the last row.

        >>> [Picture("", "", (Panel("", "", 1),) * count).columns for count in (1, 4, 5, 7, 9, 13, 14)]
        [4, 4, 3, 4, 3, 5, 4]
        """
        count = len(self.panels)
        return next((columns for columns in (4, 3, 5) if count <= columns or count % columns != 1), 2)


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
class Finding:
    """The result of a section: one number and one sentence."""

    number: str
    sentence: str


@dataclass(frozen=True)
class Findings:
    """The findings of sections, each with the name and the title of its section."""

    kind: ClassVar = "findings"
    entries: tuple[tuple[str, str, Finding], ...]


@dataclass(frozen=True)
class Fold:
    """Blocks behind a line that opens them."""

    kind: ClassVar = "fold"
    summary: str
    blocks: tuple[Block, ...]


Block = Sheet | Picture | Words | Commands | Missing | Findings | Fold


@dataclass(frozen=True)
class Section:
    """A part of the page: its name is the anchor. `shows` is its conclusion, printed at its end. A section that stands
    `under` another one, by its name, has its link there and not in the navigation.
    """

    name: str
    title: str
    blocks: tuple[Block, ...]
    lead: str = ""
    finding: Finding | None = None
    shows: str = ""
    under: str = ""


def pictures_in(blocks: tuple[Block, ...]) -> Iterator[Picture]:
    """All pictures among blocks, those behind folds too."""
    for block in blocks:
        if isinstance(block, Picture):
            yield block
        elif isinstance(block, Fold):
            yield from pictures_in(block.blocks)
