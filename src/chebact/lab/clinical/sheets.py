"""The clinical tables for people: scores with their stars, beside other systems, and the tests behind the stars."""

from __future__ import annotations

from collections.abc import Sequence

from chebact.lab.clinical.baselines import BASELINES
from chebact.lab.clinical.classification import METRICS, metrics_in
from chebact.lab.clinical.published import SYSTEMS
from chebact.lab.clinical.rows import Row, is_dementiabank
from chebact.lab.page.comparison import tone_of
from chebact.lab.page.sheet import Cell, Head, Sheet, Tone, as_markdown, plain, plus_minus
from chebact.lab.stats import stars
from chebact.table import ACTIVATIONS

__all__ = ["caption", "document_blocks", "markdown", "sheets_of", "title_of"]

BEST = "best_macro_f1"
NOTE = (
    "mean ± deviation over the seeds, in percent; a difference in either direction by Welch's t test, from {}: "
    "** p < 0.01, *** p < 0.001"
)


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


def sheets_of(rows: Sequence[Row], published: str = "in brackets", name: str = "clinical") -> list[Sheet]:
    """The paper's two tables, and that of the tests behind the stars; `published` says where those figures stand."""
    against = reference_in_words(rows)
    sheets = [scores(rows, against, published, f"{name}-sheet-0"), systems(rows, f"{name}-sheet-1")]
    return sheets if against is None else [*sheets, tests(rows, against, f"{name}-sheet-2")]


def scores(rows: Sequence[Row], against: str | None, published: str, name: str) -> Sheet:
    """The table of the activations."""
    paper = is_dementiabank(rows[0].spec)
    note = NOTE.format(against) if against else "mean ± deviation over the seeds, in percent"
    heads = ("model", "width", "parameters", *(METRICS[metric].title for metric in metrics_in("scores")))
    body = tuple(
        (*named(row), count_cell(row.parameters), *(score_cell(row, metric) for metric in metrics_in("scores")))
        for row in rows
    )
    title = f"Scores ({note}{f'; the published figure {published}' if paper else ''})"
    return Sheet(name, title, tuple(map(Head, heads)), body, toned=paper)


def reference_in_words(rows: Sequence[Row]) -> str | None:
    """The model that the rows are tested against, with the width that stands for it where a row has none."""
    model = next((row.against for row in rows if row.against), None)
    if model is None:
        return None
    chosen = {row.against_width for row in rows if row.width is None and row.against_width is not None}
    held = f", models without a width from that of width {chosen.pop()}" if chosen else ""
    width = " of its width" if any(row.width is not None and row.against_width is not None for row in rows) else ""
    return f"{title_of(model)}{width}{held}"


def systems(rows: Sequence[Row], name: str) -> Sheet:
    """The comparison with other systems: ours, and the published rows where they have something to do with ours."""
    shown = (*metrics_in("systems"), BEST)
    heads = ("model", "width", *(METRICS[metric].title for metric in shown[:-1]), "Best macro-F1")
    body = [(*named(row), *(plain_cell(row, metric) for metric in shown)) for row in rows]
    title = "Comparison (macro-F1: mean of the folds' F1; best macro-F1: of the best seed, ± over its folds)"
    if is_dementiabank(rows[0].spec) or rows[0].generated:
        title += "; rows marked published are printed in the paper"
        title += ", of DementiaBank, and not to be compared with generated data" if rows[0].generated else ""
        for each in SYSTEMS:
            printed = (Cell(getattr(each, metric) or "-") for metric in shown)
            body.append((Cell(f"{each.model} (published, DementiaBank)"), Cell(""), *printed))
    return Sheet(name, title, tuple(map(Head, heads)), tuple(body))


def tests(rows: Sequence[Row], against: str, name: str) -> Sheet:
    """p-values: Lilliefors' of each model, Welch's and the paired t test against the reference."""
    kinds = {"lilliefors": "Lilliefors", "p_welch": "Welch", "p_paired": "paired"}
    columns = [(metric, kind) for metric in metrics_in("tests") for kind in kinds]
    heads = ("model", "width", *(f"{METRICS[metric].title}: {kinds[kind]}" for metric, kind in columns))
    body = tuple((*named(row), *(p_cell(row.values[f"{kind}_{metric}"]) for metric, kind in columns)) for row in rows)
    title = f"p-values (Welch's and the paired t test of a difference from {against})"
    return Sheet(name, title, tuple(map(Head, heads)), body)


def title_of(model: str) -> str:
    """The name of a model as the tables write it."""
    return BASELINES.get(model) or (ACTIVATIONS[model].label if model in ACTIVATIONS else model)


def named(row: Row) -> tuple[Cell, Cell]:
    """Model and width."""
    return Cell(title_of(row.model)), count_cell(row.width)


def count_cell(count: int | None) -> Cell:
    return Cell("-" if count is None else f"{count:,}", count)


def plain_cell(row: Row, metric: str) -> Cell:
    """A score."""
    mean, std = row.values[metric], row.values[f"{metric}_std"]
    if row.nan:
        return Cell(f"{row.nan}/{row.seeds} NaN", row.nan)
    return Cell("-" if mean is None else plus_minus(mean, std, 1), mean)


def score_cell(row: Row, metric: str) -> Cell:
    """A score with its stars, over the published one, coloured by the distance."""
    own = plain_cell(row, metric)
    mean, paper, spread = (row.values.get(each) for each in (metric, f"paper_{metric}", f"paper_{metric}_std"))
    printed = "" if paper is None or spread is None else plus_minus(paper, spread, 1)
    away = ""
    tone: Tone = ""
    if not row.nan and mean is not None and paper is not None and spread:
        away, tone = tone_of(mean, paper, spread, higher_is_better=True)
    return Cell(own.text + stars(row.values[f"p_welch_{metric}"]), own.number, printed, tone, away=away)


def p_cell(p: float | None) -> Cell:
    return Cell("-" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}", p)


def markdown(rows: Sequence[Row]) -> str:
    """All sheets of one table's rows as Markdown."""
    parts = [f"**{caption(rows)}.**", ""]
    for sheet in sheets_of(rows):
        parts += [f"{plain(sheet.caption)}.", "", as_markdown(sheet), ""]
    return "\n".join(parts)


def document_blocks(tables: Sequence[Sequence[Row]]) -> dict[str, str]:
    """The generated blocks of a document by name: `clinical-<data>`, with `-add` and `-shuffled` where it is so. Tables
    of one name that differ in something else stand one below the other.
    """
    found: dict[str, list[str]] = {}
    for rows in tables:
        added, shuffled = any(row.shortcut == "add" for row in rows), rows[0].labels == "shuffled"
        name = "-".join(["clinical", rows[0].data, *["add"] * added, *["shuffled"] * shuffled])
        found.setdefault(name, []).append(markdown(rows))
    return {name: "\n".join(texts) for name, texts in found.items()}
