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
INTERVAL, CALLS, NUMBERS = 5, 6, (2, 3, 6, 7, 8)  # columns: the first two may go, the last are set to the right


@dataclass(frozen=True)
class Report:
    """What was replaced, what was left, and the largest difference of the model's output on the example.

    `notes` are what to know of the rest of the model. A column that says the same of all rows is a line below.

    >>> print(Report((Replaced("1", "ReLU", 8, 1, "after Linear", (-1.0, 1.0), 1, 0.1),), (), None))
    name  was   channels  axis      known by  on [-1, 1]  on example
    1     ReLU         8     1  after Linear         0.1           -
    interval [-1, 1]; the last columns are the largest difference between the new and the old function
    1 replaced, 0 left; not compared on an example
    """

    replaced: tuple[Replaced, ...]
    left: tuple[Left, ...]
    output_difference: float | None = None
    notes: tuple[str, ...] = ()
    dry_run: bool = False

    def __str__(self) -> str:
        columns = self._columns()
        rows = [HEADS, *map(_cells, self.replaced)]
        lines = [text_table([[row[k] for k in columns] for row in rows], words=2)]
        lines += [self._legend()] if self.replaced else []
        lines += [f"left: {name} ({kind}): {reason}" for name, kind, reason in self.left]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join([*lines, self._sum()])

    def _columns(self) -> list[int]:
        """Those whose rows differ, or that always stand there."""
        hidden = {CALLS} if all(row.calls == 1 for row in self.replaced) else set[int]()
        hidden |= {INTERVAL} if len({row.interval for row in self.replaced}) == 1 else set()
        return [k for k in range(len(HEADS)) if k not in hidden]

    def _legend(self) -> str:
        one = INTERVAL not in self._columns() and self.replaced[0].interval is not None
        interval = f"interval {_cells(self.replaced[0])[INTERVAL]}; " if one else ""
        return f"{interval}the last columns are the largest difference between the new and the old function"

    def _sum(self) -> str:
        text = f"{len(self.replaced)} replaced, {len(self.left)} left"
        if self.dry_run:
            return f"dry run, the model is as it was: {text.replace('replaced', 'would be replaced')}"
        if self.output_difference is None:
            return f"{text}; not compared on an example"
        return f"{text}; the output on the example differs by up to {self.output_difference:.3g}"

    def _repr_html_(self) -> str:
        columns = self._columns()
        head = _html([HEADS[k] for k in columns], columns, "th")
        rows = "".join(f"<tr>{_html([_cells(row)[k] for k in columns], columns, 'td')}</tr>" for row in self.replaced)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        left = "".join(f"<li>{escape(name)} ({escape(kind)}): {escape(why)}</li>" for name, kind, why in self.left)
        kept = f"<p>left as they are:</p><ul>{left}</ul>" if left else ""
        last = [self._legend()] if self.replaced else []
        last += [*(f"note: {note}" for note in self.notes), self._sum()]
        below = "".join(f"<p>{escape(line)}</p>" for line in last)
        return f'<div style="overflow-x:auto">{table}</div>{kept}{below}'


def _cells(row: Replaced) -> tuple[str, ...]:
    interval = "-" if row.interval is None else f"[{row.interval[0]:.3g}, {row.interval[1]:.3g}]"
    differences = ("-" if d is None else f"{d:.2g}" for d in (row.difference, row.difference_on_example))
    place = (row.name, row.kind, str(row.channels), str(row.channel_dim), row.evidence)
    return (*place, interval, str(row.calls), *differences)


def _html(cells: Sequence[str], columns: Sequence[int], tag: str) -> str:
    sides = ["right" if k in NUMBERS else "left" for k in columns]
    return "".join(
        f'<{tag} style="text-align:{side};white-space:nowrap">{escape(cell)}</{tag}>'
        for side, cell in zip(sides, cells, strict=True)
    )
