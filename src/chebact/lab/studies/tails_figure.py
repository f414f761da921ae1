"""The picture of the tails: errors in the range of the data and beyond it, and how many inputs lie outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from chebact.lab.page.axes import limit_log, name_rows
from chebact.lab.page.document import Key
from chebact.lab.page.theme import LIGHT
from chebact.lab.studies.rows import Reading, Row
from chebact.lab.studies.sheets import format_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TAILS_KEYS", "mean_outside", "tails_parts"]

TAILS_KEYS = (
    Key("dot", "learned", "test RMSE in the range of the data"),
    Key("diamond", "other", "beyond it, up to 1.25"),
    Key("dot", "faint", "before training"),
    Key("dot", "second", "after training"),
    Key("dash", "faint", "published recipe"),
    Key("line", "faint", "recommended recipe"),
)
RECIPES = {"published": -0.17, "recommended": 0.17}  # above and below the middle of a row


def tails_parts(reading: Reading) -> list[Callable[[Axes], str]]:
    """Two drawings: the errors, and the share of inputs outside the interval."""
    return [lambda axes: draw_errors(axes, reading), lambda axes: draw_outside(axes, reading)]


def named_rows(reading: Reading) -> dict[str, dict[str, Row]]:
    """The rows by name of the tails or of the reference, then by recipe."""
    found: dict[str, dict[str, Row]] = {}
    for row in reading.rows:
        network, _, recipe = row.line.partition("-")
        name = row.value or {"relu": "ReLU", "tanh": "tanh"}.get(network, network)
        found.setdefault(name, {})[recipe] = row
    return found


def draw_errors(axes: Axes, reading: Reading) -> str:
    """A row per kind of tails: in range a dot, beyond it a diamond, joined by a line."""
    named = named_rows(reading)
    errors = [e for own in named.values() for row in own.values() for e in (row.error, row.beyond) if e is not None]
    axes.set_xscale("log")
    limit_log(axes, errors)
    words = []
    for index, (name, own) in enumerate(named.items()):
        for recipe, row in own.items():
            words.append(f"{name}, {recipe} recipe: {draw_pair(axes, row, index + RECIPES[recipe], recipe)}")
    name_rows(axes, list(named))
    axes.set_title("error")
    axes.set_xlabel("RMSE")
    return "Errors in the range of the data and beyond it. " + "; ".join(words)


def draw_pair(axes: Axes, row: Row, y: float, recipe: str) -> str:
    """One network; in words, its two errors."""
    if row.error is None or row.beyond is None:
        words = f"{row.diverged} of {row.trainings} diverged"
        axes.text(0.02, y, words, transform=axes.get_yaxis_transform(), va="center", fontsize=9, color=LIGHT["muted"])
        return words
    dash = "-" if recipe == "recommended" else (0, (3, 2))
    axes.plot([row.error, row.beyond], [y, y], color=LIGHT["faint"], ls=dash, lw=1.4, zorder=1)
    axes.plot([row.error], [y], "o", ms=5.5, color=LIGHT["learned"], zorder=3)
    axes.plot([row.beyond], [y], "D", ms=4.4, color=LIGHT["other"], zorder=3)
    lost = f", {row.diverged} of {row.trainings} diverged" if row.diverged else ""
    if row.diverged:
        axes.text(row.beyond, y, f"  ×{row.diverged}", va="center", fontsize=8, color=LIGHT["muted"])
    return f"{format_error(row.error)} in range, {format_error(row.beyond)} beyond{lost}"


def mean_outside(reading: Reading, line: str, value: str) -> list[tuple[float, float]]:
    """For every layer the share of inputs outside the interval before and after training, the mean of the functions."""
    layers = [each.outside or () for each in reading.functions(line, value).values()]
    found = []
    for pairs in zip(*layers, strict=True):
        known = [(before, after) for before, after in pairs if before is not None and after is not None]
        count = max(1, len(known))
        found.append((sum(before for before, _ in known) / count, sum(after for _, after in known) / count))
    return found


def draw_outside(axes: Axes, reading: Reading) -> str:
    """Before and after training, layer by layer, with extrapolated tails."""
    words = []
    for line, dash in (("cl-published", (0, (3, 2))), ("cl-recommended", "-")):
        shares = mean_outside(reading, line, "extrapolate")
        layers = list(range(1, len(shares) + 1))
        before, after = ([100 * pair[index] for pair in shares] for index in (0, 1))
        axes.plot(layers, before, "o", ls=dash, color=LIGHT["faint"], ms=4, lw=1.4)
        axes.plot(layers, after, "o", ls=dash, color=LIGHT["second"], ms=4, lw=1.8)
        words.append(
            f"{line}: before {', '.join(f'{x:.0f}' for x in before)}, after {', '.join(f'{x:.0f}' for x in after)} %"
        )
        axes.set_xticks(layers, [f"σ {layer}" for layer in layers[:-1]] + ["last σ"])
    axes.set_ylim(bottom=0)
    axes.margins(y=0.1)
    axes.set_title("inputs outside the interval")
    axes.set_ylabel("of the inputs, %")
    axes.grid(axis="y")
    return "Share of inputs outside the interval, layer by layer. " + "; ".join(words)
