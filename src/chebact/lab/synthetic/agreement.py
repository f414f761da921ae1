"""How well our cells agree with the published ones, counted and with every exception named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chebact.lab.functions import DATASETS
from chebact.lab.page.comparison import DEVIATIONS
from chebact.lab.synthetic.rows import Row, has_mean, marks, tables_of
from chebact.networks.residual_mlp import ARCHITECTURES

__all__ = ["EXPLODED", "LEVEL", "Agreement", "agreement_of", "describe_cell", "describe_exception"]

EXPLODED = 8  # of ten published seeds
LEVEL = 0.05  # of Fisher's test: below, chance is not taken for the reason why two counts differ
SUBJECT = "cl-extrapolate"


@dataclass(frozen=True)
class Agreement:
    """Rows of one form of the recipes, sorted by whether they agree.

    `near`: our mean, over the seeds that stayed finite, is at most two of the paper's deviations above the paper's
    mean; `far`: the other cells that the paper prints without NaN. `within`: those of `near` that are not more than
    two deviations below either. `lost`: those of `near` in which some of our seeds turned NaN. `counted`: the cells
    that the paper prints as a count of diverged seeds. `best` and `paper_best`: columns in which CL-extrapolate is
    among the two best (see `marks`); `best_strict`: the same where a single lost seed takes a model out. `columns`: how
    many there are. `other`: rows of runs with other settings than the paper's, which are not compared.
    """

    near: list[Row]
    within: list[Row]
    far: list[Row]
    lost: list[Row]
    counted: list[Row]
    best: int
    best_strict: int
    paper_best: int
    columns: int
    other: list[Row]

    @property
    def counts_agree(self) -> list[Row]:
        """Of the counted cells those in which chance can explain how the counts differ."""
        return [row for row in self.counted if row.chance >= LEVEL]

    @property
    def exploded(self) -> list[Row]:
        """The cells in which at least 8 of the paper's ten seeds diverged."""
        return [row for row in self.counted if (row.paper_nan or 0) >= EXPLODED]

    @property
    def exploded_here(self) -> list[Row]:
        """Those in which most of our seeds diverged too."""
        return [row for row in self.exploded if not has_mean(row)]


def agreement_of(rows: Sequence[Row]) -> Agreement:
    """Compare the rows that the paper has a cell for."""
    other = [row for row in rows if row.unlike]
    rows = [row for row in rows if not row.unlike]
    printed = [row for row in rows if row.paper_mean is not None]
    return Agreement(
        near=[row for row in printed if is_near(row)],
        within=[row for row in printed if is_near(row) and not is_below(row)],
        far=[row for row in printed if not is_near(row)],
        lost=[row for row in printed if is_near(row) and row.nan],
        counted=[row for row in rows if row.is_counted],
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


def is_below(row: Row) -> bool:
    assert row.mean is not None
    assert row.paper_mean is not None
    assert row.paper_std is not None
    return row.mean < row.paper_mean - DEVIATIONS * row.paper_std


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
