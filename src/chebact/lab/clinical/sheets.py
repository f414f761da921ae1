"""The clinical tables for people: as text for the terminal and as Markdown for the documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.markup import escape
from rich.table import Table

from chebact.lab.clinical.baselines import BASELINES
from chebact.lab.clinical.classification import METRICS
from chebact.lab.clinical.published import SYSTEMS
from chebact.lab.clinical.rows import Row, is_dementiabank
from chebact.lab.stats import stars
from chebact.table import ACTIVATIONS

__all__ = ["Sheet", "caption", "markdown", "rich_table", "sections", "sheets_of"]

FIRST = ("accuracy", "sensitivity", "specificity", "micro_f1")
SECOND = ("accuracy", "micro_f1", "macro_f1", "best_macro_f1")
TESTED = ("accuracy", "micro_f1")
NOTE = (
    "mean ± deviation over the seeds, in percent; a difference in either direction by Welch's t test, from {}: "
    "** p < 0.01, *** p < 0.001"
)


@dataclass(frozen=True)
class Sheet:
    """A table of texts."""

    title: str
    head: tuple[str, ...]
    lines: list[tuple[str, ...]]


def caption(rows: Sequence[Row]) -> str:
    """What the data are, in one line; generated data are called so first of all."""
    row = rows[0]
    kind = "Generated data (nobody was recorded)" if row.generated else f"Data: {row.data}"
    labels = ", labels shuffled by subject (there is nothing to learn)" if row.labels == "shuffled" else ""
    joins = {each.shortcut for each in rows} - {None}
    join = f", shortcut and residual: {joins.pop()}" if joins else ""
    size = f"{row.recordings} recordings of {row.subjects} subjects"
    features = f"{row.features} features" + ("" if row.choice == "all" else f" ({row.choice})")
    epochs = next((f", epochs: {each.epochs}" for each in rows if each.epochs is not None), "")
    return (
        f"{kind}{labels}: {size}, {features}; {row.seeds} seeds of {row.folds} folds{epochs}{join}; "
        f"digest of the table {row.spec['digest']}"
    )


def sheets_of(rows: Sequence[Row]) -> list[Sheet]:
    """The paper's two tables, and that of the tests behind the stars."""
    against = reference_in_words(rows)
    note = NOTE.format(against) if against else "mean ± deviation over the seeds, in percent"
    brackets = "; the published figure in brackets" if is_dementiabank(rows[0].spec) else ""
    first = [(title_of(row.model), width(row), size(row), *(cell(row, metric) for metric in FIRST)) for row in rows]
    head = ("model", "width", "parameters", *(METRICS[metric] for metric in FIRST))
    sheets = [Sheet(f"Scores ({note}{brackets})", head, first), systems(rows)]
    if against:
        sheets.append(tests(rows, against))
    return sheets


def reference_in_words(rows: Sequence[Row]) -> str | None:
    """The model that the rows are tested against, with the width that stands for it where a row has none."""
    model = next((row.against for row in rows if row.against), None)
    if model is None:
        return None
    chosen = {row.against_width for row in rows if row.width is None and row.against_width is not None}
    held = f", models without a width from that of width {chosen.pop()}" if chosen else ""
    width = " of its width" if any(row.width is not None and row.against_width is not None for row in rows) else ""
    return f"{title_of(model)}{width}{held}"


def systems(rows: Sequence[Row]) -> Sheet:
    """The comparison with other systems: ours, and the published rows where they have something to do with ours."""
    head = ("model", "width", *(METRICS.get(metric, "Best macro-F1") for metric in SECOND))
    lines = [(title_of(row.model), width(row), *(plain(row, metric) for metric in SECOND)) for row in rows]
    title = "Comparison (macro-F1: mean of the folds' F1; best macro-F1: of the best seed, ± over its folds)"
    if is_dementiabank(rows[0].spec) or rows[0].generated:
        title += "; rows marked published are printed in the paper"
        title += ", of DementiaBank, and not to be compared with generated data" if rows[0].generated else ""
        lines += [
            (f"{each.model} (published, DementiaBank)", "", *(getattr(each, metric) or "-" for metric in SECOND))
            for each in SYSTEMS
        ]
    return Sheet(title, head, lines)


def tests(rows: Sequence[Row], against: str) -> Sheet:
    """p-values: Lilliefors' of each model, Welch's and the paired t test against the reference."""
    kinds = {"lilliefors": "Lilliefors", "p_welch": "Welch", "p_paired": "paired"}
    head = ("model", "width", *(f"{METRICS[metric]}: {kind}" for metric in TESTED for kind in kinds.values()))
    lines = [
        (title_of(row.model), width(row), *(p_text(row.values[f"{k}_{metric}"]) for metric in TESTED for k in kinds))
        for row in rows
    ]
    return Sheet(f"p-values (Welch's and the paired t test of a difference from {against})", head, lines)


def title_of(model: str) -> str:
    return BASELINES.get(model) or (ACTIVATIONS[model].label if model in ACTIVATIONS else model)


def width(row: Row) -> str:
    return "-" if row.width is None else str(row.width)


def size(row: Row) -> str:
    return "-" if row.parameters is None else f"{row.parameters:,}"


def cell(row: Row, metric: str) -> str:
    """A score with its stars, and on a line of its own the published one in brackets."""
    theirs = row.values.get(f"paper_{metric}")
    printed = "" if theirs is None else f"\n({theirs:.1f} ± {row.values[f'paper_{metric}_std']:.1f})"
    return plain(row, metric) + stars(row.values[f"p_welch_{metric}"]) + printed


def plain(row: Row, metric: str) -> str:
    mean, std = row.values[metric], row.values[f"{metric}_std"]
    if row.nan:
        return f"{row.nan}/{row.seeds} NaN"
    return "-" if mean is None else f"{mean:.1f}" + ("" if std is None else f" ± {std:.1f}")


def p_text(p: float | None) -> str:
    return "-" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def rich_table(sheet: Sheet) -> Table:
    """The sheet for a terminal."""
    table = Table(title=escape(sheet.title), title_justify="left")
    for place, name in enumerate(sheet.head):
        table.add_column(escape(name), no_wrap=place == 0)
    for line in sheet.lines:
        table.add_row(*map(escape, line))
    return table


def markdown(rows: Sequence[Row]) -> str:
    """All sheets of one table's rows as Markdown."""
    parts = [f"**{caption(rows)}.**", ""]
    for sheet in sheets_of(rows):
        parts += [
            sheet.title.replace("*", "\\*") + ".",
            "",
            "| " + " | ".join(sheet.head) + " |",
            "|---" * len(sheet.head) + "|",
        ]
        parts += [
            "| " + " | ".join(text.replace("*", "\\*").replace("\n", " ") for text in line) + " |"
            for line in sheet.lines
        ] + [""]
    return "\n".join(parts)


def sections(tables: Sequence[Sequence[Row]]) -> dict[str, str]:
    """The generated blocks of a document by name: `clinical-<data>`, with `-add` and `-shuffled` where it is so. Tables
    of one name that differ in something else stand one below the other.
    """
    found: dict[str, list[str]] = {}
    for rows in tables:
        added, shuffled = any(row.shortcut == "add" for row in rows), rows[0].labels == "shuffled"
        name = "-".join(["clinical", rows[0].data, *["add"] * added, *["shuffled"] * shuffled])
        found.setdefault(name, []).append(markdown(rows))
    return {name: "\n".join(texts) for name, texts in found.items()}
