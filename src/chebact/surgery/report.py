"""What surgery did: one row per activation, as text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from chebact.checks import Interval
from chebact.text_table import text_table

__all__ = ["Left", "Replaced", "Report"]


class Replaced(NamedTuple):
    """An activation that was replaced.

    `evidence` says what told the channels; `calls` how often one pass calls it. The differences are the largest
    between the new and the old function, on [-1, 1] and on the inputs that the example gave; None is not known.
    """

    name: str
    kind: str
    channels: int
    channel_dim: int
    evidence: str
    interval: Interval | None = None
    calls: int = 1
    difference: float | None = None
    difference_on_example: float | None = None


class Left(NamedTuple):
    """An activation that was left as it is, and why."""

    name: str
    kind: str
    reason: str


HEADS = ("name", "was", "channels", "axis", "known by", "interval", "calls", "on [-1, 1]", "on example")


@dataclass(frozen=True)
class Report:
    """What was replaced, what was left, and the largest difference of the model's output on the example.

    `notes` are what to know of the rest of the model.

    >>> print(Report((Replaced("1", "ReLU", 8, 1, "after Linear", (-1.0, 1.0), 1, 0.1),), (), None))
    name  was   channels  axis      known by  interval  calls  on [-1, 1]  on example
    1     ReLU         8     1  after Linear   [-1, 1]      1         0.1           -
    1 replaced, 0 left; not compared on an example
    """

    replaced: tuple[Replaced, ...]
    left: tuple[Left, ...]
    output_difference: float | None = None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [text_table([HEADS, *map(_cells, self.replaced)], words=2)]
        lines += [f"left: {name} ({kind}): {reason}" for name, kind, reason in self.left]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join([*lines, self._sum()])

    def _sum(self) -> str:
        text = f"{len(self.replaced)} replaced, {len(self.left)} left"
        if self.output_difference is None:
            return f"{text}; not compared on an example"
        return f"{text}; the output on the example differs by up to {self.output_difference:.3g}"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(word)}</th>" for word in HEADS)
        rows = "".join(f"<tr>{_html(_cells(row))}</tr>" for row in self.replaced)
        left = "".join(f"<li>{escape(name)} ({escape(kind)}): {escape(why)}</li>" for name, kind, why in self.left)
        kept = f"<p>left as they are:</p><ul>{left}</ul>" if left else ""
        kept += "".join(f"<p>note: {escape(note)}</p>" for note in self.notes)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{kept}<p>{escape(self._sum())}</p>"


def _cells(row: Replaced) -> tuple[str, ...]:
    interval = "-" if row.interval is None else f"[{row.interval[0]:.3g}, {row.interval[1]:.3g}]"
    differences = ("-" if d is None else f"{d:.2g}" for d in (row.difference, row.difference_on_example))
    place = (row.name, row.kind, str(row.channels), str(row.channel_dim), row.evidence)
    return (*place, interval, str(row.calls), *differences)


def _html(cells: Sequence[str]) -> str:
    return "".join(f"<td>{escape(cell)}</td>" for cell in cells)
