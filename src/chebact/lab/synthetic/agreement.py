"""How well our cells agree with the published ones, counted and with every exception named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chebact.lab.functions import DATASETS
from chebact.lab.page.comparison import DEVIATIONS
from chebact.lab.synthetic.rows import Row, has_mean, marks, tables_of
from chebact.networks.residual_mlp import ARCHITECTURES

__all__ = ["Agreement", "agreement_of", "describe_cell", "describe_exception"]

EXPLODED = 8  # of ten published seeds
SUBJECT = "cl-extrapolate"


@dataclass(frozen=True)
class Agreement:
    """Rows of one form of the recipes, sorted by whether they agree.

    `near`: our mean, over the seeds that stayed finite, is at most two of the paper's deviations above the paper's
    mean; `far`: the other cells that the paper prints without NaN. `lost`: those of `near` in which some of our seeds
    turned NaN. `exploded`: at least 8 of the paper's ten turned NaN and most of ours did; `held`: most of
    ours did not. `best` and `paper_best`: columns in which CL-extrapolate is among the two best (see `marks`);
    `best_strict`: the same where a single lost seed takes a model out. `columns`: how many there are. `other`: rows of
    runs with other settings than the paper's, which are not compared.
    """

    near: list[Row]
    far: list[Row]
    lost: list[Row]
    exploded: list[Row]
    held: list[Row]
    best: int
    best_strict: int
    paper_best: int
    columns: int
    other: list[Row]


def agreement_of(rows: Sequence[Row]) -> Agreement:
    """Compare the rows that the paper has a cell for."""
    other = [row for row in rows if row.unlike]
    rows = [row for row in rows if not row.unlike]
    printed = [row for row in rows if row.paper_mean is not None]
    blown = [row for row in rows if row.paper_nan is not None and row.paper_nan >= EXPLODED]
    return Agreement(
        near=[row for row in printed if is_near(row)],
        far=[row for row in printed if not is_near(row)],
        lost=[row for row in printed if is_near(row) and row.nan],
        exploded=[row for row in blown if row.nan > row.seeds / 2],
        held=[row for row in blown if row.nan <= row.seeds / 2],
        best=count_best(rows, of_paper=False),
        best_strict=count_best(rows, of_paper=False, strict=True),
        paper_best=count_best(rows, of_paper=True),
        columns=len({(row.noise, row.dataset) for row in rows}),
        other=other,
    )


def is_near(row: Row) -> bool:
    if not has_mean(row) or row.mean is None or row.paper_mean is None or row.paper_std is None:
        return False
    return row.mean <= row.paper_mean + DEVIATIONS * row.paper_std


def count_best(rows: Sequence[Row], *, of_paper: bool, strict: bool = False) -> int:
    marked = [marks(table, of_paper=of_paper, strict=strict) for table in tables_of(rows).values()]
    return sum(mark == "best" for table in marked for (model, _), mark in table.items() if model == SUBJECT)


def describe_cell(row: Row) -> str:
    """The cell in words: model, data set, noise."""
    return f"{ARCHITECTURES[row.model].title} on {DATASETS[row.dataset].title}, noise {row.noise:g}"


def describe_exception(row: Row) -> str:
    """Our cell beside the published one, and how far apart they are."""
    published = f"published {row.paper_mean} ± {row.paper_std}"
    if row.mean is None or row.paper_mean is None or row.paper_std is None:
        return f"{row.nan}/{row.seeds} NaN, {published}"
    away = (row.mean - row.paper_mean) / row.paper_std
    side = f"{abs(away):.1f} published standard deviations {'above' if away > 0 else 'below'}"
    if row.nan:
        return f"{row.nan}/{row.seeds} NaN, the others {row.mean:.4f}, {published}, {side}"
    return f"{row.mean:.4f}, {published}, {side}"
