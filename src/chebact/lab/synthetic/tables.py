"""The synthetic tables for people: as text for the terminal and as Markdown for the documents."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from chebact.lab.synthetic.published import SEEDS
from chebact.lab.synthetic.recipes import DATASETS
from chebact.lab.synthetic.rows import Mark, Row, decimals, has_mean, marks
from chebact.networks.residual_mlp import ARCHITECTURES

__all__ = ["as_markdown", "as_tables", "caption"]

SIGNS: dict[Mark | None, str] = {"best": "*", "worst": "!", None: ""}
STYLES: dict[Mark | None, str] = {"best": "bold green", "worst": "red", None: ""}
MARKDOWN: dict[Mark | None, str] = {"best": "**{}**", "worst": "*{}*", None: "{}"}
LEGEND = "the two best of a column, {}; the four worst, {}; models that lose most of their seeds take no part"


def caption(recipes: str, noise: float, rows: Sequence[Row]) -> str:
    """What a table shows, in one line."""
    seeds = sorted({row.seeds for row in rows})
    count = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    return f"RMSE, noise {noise:g}, {recipes} recipes, {count} seeds: ours, and the published figure in brackets"


def ours(row: Row) -> str:
    """Our cell: mean and deviation of the seeds that stayed finite if they are most, and how many did not."""
    lost = f"{row.nan}/{row.seeds} NaN"
    if not has_mean(row) or row.mean is None:
        return lost
    return plus_minus(row.mean, row.std, decimals(row.dataset, row.noise)) + (f", {lost}" if row.nan else "")


def theirs(row: Row) -> str:
    """The paper's cell as printed, or an empty text."""
    if row.paper_nan is None:
        return ""
    if row.paper_mean is None:
        return f"({row.paper_nan}/{SEEDS} NaN)"
    return f"({plus_minus(row.paper_mean, row.paper_std, decimals(row.dataset, row.noise))})"


def plus_minus(mean: float, std: float | None, places: int) -> str:
    return f"{mean:.{places}f}" + ("" if std is None else f" ± {std:.{places}f}")


def halves(rows: Sequence[Row]) -> list[tuple[str, list[str]]]:
    """The columns of the paper's two halves, as far as there are rows for them."""
    there = {row.dataset for row in rows}
    names = {"Smooth functions": True, "Non-smooth functions": False}
    columns = {
        title: [name for name in DATASETS if name in there and DATASETS[name].smooth == smooth]
        for title, smooth in names.items()
    }
    return [(title, datasets) for title, datasets in columns.items() if datasets]


def as_tables(rows: Sequence[Row]) -> list[Table]:
    """One rich table for each half of one table's rows."""
    marked, cells = marks(rows), {(row.model, row.dataset): row for row in rows}
    models = [model for model in ARCHITECTURES if any(row.model == model for row in rows)]
    tables = []
    for title, datasets in halves(rows):
        table = Table("model", *(DATASETS[dataset].title for dataset in datasets), title=title, title_justify="left")
        for model in models:
            texts = (as_text(cells.get((model, dataset)), marked.get((model, dataset))) for dataset in datasets)
            table.add_row(ARCHITECTURES[model].title, *texts)
        tables.append(table)
    return tables


def as_text(row: Row | None, mark: Mark | None) -> Text:
    """Ours over the published one; the sign stays when the terminal has no colours."""
    if row is None:
        return Text("-")
    return Text.assemble((f"{ours(row)} {SIGNS[mark]}".rstrip(), STYLES[mark]), "\n", (theirs(row), "dim"))


def as_markdown(rows: Sequence[Row]) -> str:
    """Both halves of one table's rows as Markdown tables, with a caption."""
    marked, cells = marks(rows), {(row.model, row.dataset): row for row in rows}
    lines = [caption(rows[0].recipes, rows[0].noise, rows) + " (" + LEGEND.format("bold", "italic") + ").", ""]
    for _, datasets in halves(rows):
        lines.append("| model | " + " | ".join(DATASETS[dataset].title for dataset in datasets) + " |")
        lines.append("|---" * (len(datasets) + 1) + "|")
        for model in ARCHITECTURES:
            texts = [markdown_cell(cells.get((model, each)), marked.get((model, each))) for each in datasets]
            if any(row.model == model for row in rows):
                lines.append(f"| {ARCHITECTURES[model].title} | " + " | ".join(texts) + " |")
        lines.append("")
    return "\n".join(lines)


def markdown_cell(row: Row | None, mark: Mark | None) -> str:
    return "-" if row is None else f"{MARKDOWN[mark].format(ours(row))} {theirs(row)}".rstrip()
