"""The image results for people: as text for the terminal and as Markdown for the documents."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from chebact.lab.images.rows import ImageRow
from chebact.lab.images.sets import IMAGE_DATASETS
from chebact.table import ACTIVATIONS

__all__ = ["CAPTION", "as_markdown", "as_table"]

HEADS = ("set", "activation", "epochs", "seeds", "test accuracy, %", "H", "p", "s an epoch", "paper, 100 epochs, %")
CAPTION = (
    "Final test accuracy, mean ± deviation over the seeds; H and p of the Kruskal-Wallis test against ReLU with the "
    "same settings; median time of a training epoch where the record was made"
)


def cells(row: ImageRow) -> list[str]:
    """What a row says under each head."""
    title = IMAGE_DATASETS[row.dataset].title
    part = "" if row.subset is None else f", first {row.subset:,}"
    team = "" if row.processes == 1 else f", {row.processes} processes"
    known = ACTIVATIONS.get(row.activation)
    label = known.label if known is not None else row.activation
    return [
        f"{title}{part}{team}" + (f", {row.training}" if row.training else ""),
        label + (f", {row.shapes}" if row.shapes else ""),
        str(row.epochs),
        str(row.seeds),
        ours(row),
        "-" if row.h is None else f"{row.h:.2f}",
        "-" if row.p is None else f"{row.p:.2f}",
        f"{row.seconds:.1f}",
        theirs(row),
    ]


def ours(row: ImageRow) -> str:
    failed = f" ({row.nan}/{row.seeds} NaN)" if row.nan else ""
    return ("-" if row.mean is None else plus_minus(row.mean, row.std)) + failed


def theirs(row: ImageRow) -> str:
    if row.paper_mean is None:
        return "-"
    return f"{plus_minus(row.paper_mean, row.paper_std)}, p {row.paper_p:.2f}"


def plus_minus(mean: float, std: float | None) -> str:
    return f"{mean:.2f}" + ("" if std is None else f" ± {std:.2f}")


def as_table(rows: Sequence[ImageRow]) -> Table:
    """A rich table of all rows."""
    table = Table(*HEADS)
    for row in rows:
        table.add_row(*cells(row))
    return table


def as_markdown(rows: Sequence[ImageRow]) -> str:
    """A Markdown table of all rows, with a caption."""
    lines = [f"{CAPTION}.", "", "| " + " | ".join(HEADS) + " |", "|---" * len(HEADS) + "|"]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"
