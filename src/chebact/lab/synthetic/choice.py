"""What the paper chooses its variant by: in how many columns a model is the best, among the best two, or diverges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from chebact.lab.page.sheet import Cell, Head, Sheet
from chebact.lab.synthetic.published import SEEDS, SYNTHETIC
from chebact.lab.synthetic.rows import BEST, Row, has_mean, marks, tables_of
from chebact.networks.residual_mlp import ARCHITECTURES

__all__ = ["choice_sheets"]

Count = Callable[[Sequence[Row], str, bool], int]


def choice_sheets(rows: Iterable[Row]) -> dict[str, Sheet]:
    """One table per form of the recipes whose rows are all of the paper's cells, by its name."""
    tables: dict[str, dict[float, Sequence[Row]]] = {}
    for (form, noise), table in tables_of(row for row in rows if not row.unlike).items():
        tables.setdefault(form, {})[noise] = table
    return {
        name: choice_sheet(own, form, name)
        for form, own in tables.items()
        if SYNTHETIC.keys() <= {(row.model, row.dataset, noise) for noise, table in own.items() for row in table}
        for name in (f"synthetic-{form}-choice",)
    }


def choice_sheet(tables: dict[float, Sequence[Row]], form: str, name: str) -> Sheet:
    """Models down; across what is counted, at each level of noise: ours, below it the paper's."""
    counts: dict[str, Count] = {
        "lowest": count_lowest,
        f"best {BEST}": count_best,
        "most seeds diverge": count_diverged,
    }
    heads = [Head(f"{what}, noise {noise:g}", right=True) for what in counts for noise in tables]
    body = [
        (
            Cell(row.title, float(index)),
            *(
                Cell(str(ours := count(table, model, False)), float(ours), str(count(table, model, True)))
                for count in counts.values()
                for table in tables.values()
            ),
        )
        for index, (model, row) in enumerate(ARCHITECTURES.items())
    ]
    columns = len({row.dataset for table in tables.values() for row in table})
    caption = (
        f"In how many of the {columns} columns a model has the lowest mean error, is among the best {BEST}, and has "
        f"more than half of its seeds diverge, {form} recipes; in brackets or smaller by the published numbers. Equal "
        "printed numbers share a place; models whose seeds mostly diverge are not ranked."
    )
    return Sheet(name, caption, (Head("model"), *heads), tuple(body))


def count_lowest(table: Sequence[Row], model: str, of_paper: bool) -> int:
    return count_marked(table, model, of_paper, best=1)


def count_best(table: Sequence[Row], model: str, of_paper: bool) -> int:
    return count_marked(table, model, of_paper, best=BEST)


def count_marked(table: Sequence[Row], model: str, of_paper: bool, best: int) -> int:
    marked = marks(table, of_paper=of_paper, best=best)
    return sum(mark == "best" for (name, _), mark in marked.items() if name == model)


def count_diverged(table: Sequence[Row], model: str, of_paper: bool) -> int:
    own = [row for row in table if row.model == model]
    return sum((row.paper_nan or 0) > SEEDS / 2 if of_paper else not has_mean(row) for row in own)
