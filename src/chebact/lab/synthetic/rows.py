"""The synthetic tables as data: one row per cell, ours and the published one, and which cells are marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from chebact.lab import LabError
from chebact.lab.functions import DATASETS
from chebact.lab.page.comparison import unlike
from chebact.lab.page.sheet import Mark
from chebact.lab.stats import fisher, summarize
from chebact.lab.synthetic.published import SEEDS, SYNTHETIC, published_cell
from chebact.lab.synthetic.record import SyntheticRecord
from chebact.lab.synthetic.spec import SyntheticSpec
from chebact.networks.residual_mlp import ARCHITECTURES

__all__ = ["BEST", "Row", "base_rows", "decimals", "has_mean", "marks", "rows_of", "tables_of"]

SETTINGS = (
    "epochs",
    "points",
    "batch_size",
    "learning_rate",
    "momentum",
    "weight_decay",
    "nesterov",
    "loss",
    "degree",
)
BEST, WORST = 2, 4  # how many of a column the paper marks at either end
FEWEST = 3  # seeds that can be compared with the paper's ten
PAPER = {field.name: field.default for field in fields(SyntheticSpec) if field.name in SETTINGS}


@dataclass(frozen=True)
class Row:
    """One cell. `mean` and `std` are over the seeds that stayed finite; `paper_*` is None where the paper has no cell.

    `changes` is which of the choices that the paper leaves open differ from the usual ones of the recipes, in words.
    `values` are the RMSE of the seeds, None for NaN; `unlike` is where the run differs from the paper's settings, in
    words. Neither is part of the exported rows.
    """

    model: str
    dataset: str
    noise: float
    recipes: str
    seeds: int
    mean: float | None
    std: float | None
    nan: int
    paper_mean: float | None
    paper_std: float | None
    paper_nan: int | None
    changes: str = ""
    values: tuple[float | None, ...] = ()
    unlike: str = ""

    def exported(self) -> dict[str, Any]:
        """The cell as plain data."""
        return {name: value for name, value in asdict(self).items() if name not in ("values", "unlike")}

    @property
    def is_counted(self) -> bool:
        """Whether the paper prints how many seeds diverged in place of a mean."""
        return self.paper_mean is None and self.paper_nan is not None

    @property
    def chance(self) -> float:
        """The p-value of Fisher's exact test that our seeds and the published ones diverge at one rate."""
        return fisher(self.nan, self.seeds, self.paper_nan or 0, SEEDS)


def rows_of(records: Iterable[SyntheticRecord]) -> list[Row]:
    """The rows of synthetic records, in the paper's order of noise, models and data sets; a LabError where two records
    are of one cell, as in a folder that contains two runs.
    """
    rows = [row_of(record) for record in records]
    cells = Counter((row.model, row.dataset, row.noise, row.recipes, row.changes) for row in rows)
    for (model, dataset, noise, recipes, changes), count in cells.items():
        if count > 1:
            cell = f"{model} on {dataset} at noise {noise:g}, {recipes} recipes{changes and ', '}{changes}"
            raise LabError(f"{count} records are of one cell, {cell}: name the folder of one run with --results")
    models, datasets = list(ARCHITECTURES), list(DATASETS)
    return sorted(
        rows,
        key=lambda row: (
            *(row.recipes, row.changes, row.noise),
            *(models.index(row.model), datasets.index(row.dataset)),
        ),
    )


def row_of(record: SyntheticRecord) -> Row:
    spec, values = record.spec, record.results.rmse
    ours, cell = summarize(values), published_cell(spec.model, spec.dataset, spec.noise)
    mean, std, nan = (None, None, None) if cell is None else (cell.mean, cell.std, cell.nan)
    where, choices = (spec.model, spec.dataset, spec.noise, spec.recipes), ", ".join(spec.changes)
    known = (ours.seeds, ours.mean, ours.std, ours.nan)
    return Row(*where, *known, mean, std, nan, choices, values, unlike_paper(spec))


def unlike_paper(spec: SyntheticSpec) -> str:
    """Where a run differs from the paper's, in words. Fewer seeds than ten are compared too, down to three."""
    few = f"seeds: {spec.seeds} instead of {SEEDS}" if spec.seeds < FEWEST else ""
    return ", ".join(words for words in (unlike(vars(spec), PAPER), few) if words)


def base_rows(rows: Iterable[Row]) -> list[Row]:
    """The rows of the paper's tables, without those of runs that chose otherwise where the paper leaves it open."""
    return [row for row in rows if not row.changes]


def tables_of(rows: Iterable[Row]) -> dict[tuple[str, float], list[Row]]:
    """The rows of each of the paper's tables: one table per form of the recipes and noise level."""
    tables: dict[tuple[str, float], list[Row]] = {}
    for row in base_rows(rows):
        tables.setdefault((row.recipes, row.noise), []).append(row)
    return tables


def decimals(dataset: str, noise: float) -> int:
    """How many decimals the paper prints in this column; 4 where it has none."""
    printed = [
        cell.decimals
        for (_, name, level), cell in SYNTHETIC.items()
        if (name, level) == (dataset, noise) and not cell.nan
    ]
    return max(printed, default=4)


def has_mean(row: Row) -> bool:
    """Whether most of our seeds stayed finite, so that their mean says something."""
    return row.nan <= row.seeds / 2


def marks(
    rows: Sequence[Row], *, of_paper: bool = False, strict: bool = False, best: int = BEST
) -> dict[tuple[str, str], Mark]:
    """The marked cells (model, dataset) of one table: in each column the `best` best means and the four worst.

    The paper prints smooth and other functions apart. A model that loses most of its seeds on a function of one kind
    takes no part in the columns of that kind; `strict` drops it for a single lost seed, which is the rule of the
    paper (the marks of its table are the same either way). Equal printed numbers share a mark. `of_paper` marks the
    published numbers of these rows in place of ours.
    """

    def is_lost(row: Row) -> bool:
        nan, seeds = (row.paper_nan or 0, SEEDS) if of_paper else (row.nan, row.seeds)
        return nan > (0 if strict else seeds / 2)

    exploded = {(row.model, DATASETS[row.dataset].smooth) for row in rows if is_lost(row)}
    found: dict[tuple[str, str], Mark] = {}
    for dataset in {row.dataset for row in rows}:
        column = {}
        for row in rows:
            mean = row.paper_mean if of_paper else row.mean
            apart = (row.model, DATASETS[dataset].smooth) in exploded
            if row.dataset == dataset and not apart and mean is not None:
                column[row.model] = round(mean, decimals(dataset, row.noise))
        for model, mean in column.items():
            if sum(other < mean for other in column.values()) < best:
                found[model, dataset] = "best"
            elif sum(other > mean for other in column.values()) < WORST:
                found[model, dataset] = "worst"
    return found
