"""The table of the image results, one row per record, for every medium."""

from __future__ import annotations

from collections.abc import Sequence

from chebact.lab.images.published import EPOCHS
from chebact.lab.images.rows import ImageRow
from chebact.lab.images.sets import IMAGE_DATASETS
from chebact.lab.page.comparison import tone_of
from chebact.lab.page.sheet import Cell, Head, Sheet, as_markdown, plus_minus
from chebact.lab.starts import PAPER, start_words, weight_words
from chebact.table import ACTIVATIONS

__all__ = ["CAPTION", "activation_title", "count_epochs", "is_comparable", "markdown", "set_title", "sheet_of"]

HEADS = (
    Head("set"),
    Head("activation"),
    Head("epochs", right=True),
    Head("seeds", right=True),
    Head("test accuracy, %", right=True),
    Head("H", right=True, tip="statistic of the Kruskal-Wallis test"),
    Head("p", right=True, tip="p-value of the Kruskal-Wallis test"),
    Head("s/epoch", right=True, tip="median seconds of a training epoch"),
    Head("paper, %", right=True),
    Head("differs from the paper in"),
)
CAPTION = (
    "Final test accuracy, mean ± standard deviation over the seeds. H and p: Kruskal-Wallis test against ReLU with the "
    "same settings. s/epoch: median time of a training epoch on the machine of the record. The paper's figures are of "
    f"{EPOCHS} epochs and 3 seeds; a run with other settings is not compared with them"
)


def activation_title(activation: str, init: str = PAPER) -> str:
    """The name of an activation as the paper writes it, and what its heights start from if not from zeros.

    >>> activation_title("cl-extrapolate"), activation_title("cl-extrapolate", "relu")
    ('CL-extrapolate', 'CL-extrapolate from relu')
    """
    return (ACTIVATIONS[activation].label if activation in ACTIVATIONS else activation) + start_words(init)


def count_epochs(count: int) -> str:
    """How many epochs, in words."""
    return "1 epoch" if count == 1 else f"{count} epochs"


def set_title(row: ImageRow) -> str:
    """The set of a row, which part of it, and what else all its activations share."""
    part = "" if row.subset is None else f", first {row.subset:,}"
    team = "" if row.processes == 1 else f", {row.processes} processes"
    return f"{IMAGE_DATASETS[row.dataset].title}{part}{team}{weight_words(row.start)}"


def row_cells(row: ImageRow) -> tuple[Cell, ...]:
    """The cells of a row, one under each head."""
    return (
        Cell(set_title(row), row.dataset),
        Cell(title := activation_title(row.activation, row.init), title),
        Cell(str(row.epochs), row.epochs),
        Cell(str(row.seeds), row.seeds),
        accuracy_cell(row),
        Cell("-" if row.h is None else f"{row.h:.2f}", row.h),
        Cell("-" if row.p is None else f"{row.p:.2f}", row.p),
        Cell(f"{row.seconds:.1f}", row.seconds),
        paper_cell(row),
        Cell(row.unlike or "-", row.unlike or None),
    )


def is_comparable(row: ImageRow) -> bool:
    """Whether a row has the settings of a published one, so that the two can be compared."""
    return row.paper_mean is not None and not row.unlike


def accuracy_cell(row: ImageRow) -> Cell:
    """The accuracy, coloured by its distance from the published one if the two can be compared."""
    failed = f" ({row.nan}/{row.seeds} NaN)" if row.nan else ""
    text = ("-" if row.mean is None else plus_minus(row.mean, row.std, 2)) + failed
    if not is_comparable(row) or row.paper_mean is None or not row.paper_std:
        return Cell(text, row.mean)
    if row.mean is None or row.nan > row.seeds / 2:
        return Cell(text, row.mean, tone="far")
    away, tone = tone_of(row.mean, row.paper_mean, row.paper_std, higher_is_better=True)
    if row.nan:
        tone = "far" if tone == "far" else "worse"
    return Cell(text, row.mean, tone=tone, away=away)


def paper_cell(row: ImageRow) -> Cell:
    if row.paper_mean is None:
        return Cell("-")
    return Cell(f"{plus_minus(row.paper_mean, row.paper_std, 2)}, p {row.paper_p:.2f}", row.paper_mean)


def sheet_of(rows: Sequence[ImageRow]) -> Sheet:
    """All rows as one table."""
    toned = any(is_comparable(row) for row in rows)
    return Sheet("accuracies", f"{CAPTION}.", HEADS, tuple(map(row_cells, rows)), toned)


def markdown(rows: Sequence[ImageRow]) -> str:
    """A Markdown table of all rows, with a caption."""
    return f"{CAPTION}.\n\n{as_markdown(sheet_of(rows))}\n"
