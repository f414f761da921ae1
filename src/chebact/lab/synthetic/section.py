"""The synthetic experiment on the page: its tables beside the paper's, the exceptions, and all its figures."""

from __future__ import annotations

from collections.abc import Sequence

from chebact.lab.page.comparison import tone_of
from chebact.lab.page.document import Block, Cell, Commands, Fold, Missing, Section, Table, Tile, Tone, Words
from chebact.lab.page.rerun import synthetic_commands
from chebact.lab.page.results import Results
from chebact.lab.store import Record
from chebact.lab.synthetic import section_pictures as pictures
from chebact.lab.synthetic.agreement import Agreement, agreement_of, where
from chebact.lab.synthetic.explanations import explain, explain_held
from chebact.lab.synthetic.recipes import DATASETS
from chebact.lab.synthetic.rows import Row, has_mean, marks, rows_of, tables_of
from chebact.lab.synthetic.tables import ours, theirs
from chebact.networks.residual_mlp import ARCHITECTURES

__all__ = ["synthetic_section"]

NOISE = (0.01, 0.04)
FORMS = {
    "released": "the recipes that the published figures were made with",
    "paper": "the recipes as the paper prints",
}


def synthetic_section(results: Results) -> Section:
    """Everything that the synthetic records show; what is missing is said."""
    records = [record for record in results.of("synthetic") if record.spec["model"] in ARCHITECTURES]
    title = "Synthetic functions"
    if not records:
        return Section("synthetic", title, (Missing("Not run yet.", "chebact run synthetic --recipes released"),))
    forms = [form for form in FORMS if any(record.spec["recipes"] == form for record in records)]
    blocks: list[Block] = []
    for form in forms:
        own = [record for record in records if record.spec["recipes"] == form]
        parts = form_blocks(own, form)
        blocks += parts if form == forms[0] else [Fold(f"The same with {FORMS[form]}", tuple(parts))]
    blocks.append(Words(("To run it again, from nothing or from wherever it was stopped:",)))
    blocks.append(Commands((*synthetic_commands(records), "chebact report synthetic")))
    first = agreement_of([row for row in rows_of(records) if row.recipes == forms[0]])
    lead = (
        "Eleven networks learn seven functions from a thousand noisy points each. The error is taken on a thousand "
        "other "
        f"points without noise. First with {FORMS[forms[0]]}."
    )
    return Section("synthetic", title, tuple(blocks), lead, tiles(first, records))


def tiles(agreement: Agreement, records: Sequence[Record]) -> tuple[Tile, ...]:
    near, printed = len(agreement.near), len(agreement.near) + len(agreement.far)
    blown = len(agreement.exploded) + len(agreement.held)
    trainings = sum(len(record.results["seeds"]) for record in records)
    return (
        Tile(
            f"{near} of {printed}",
            "published cells met within two deviations, or bettered, by the mean of the finite seeds",
        ),
        Tile(f"{len(agreement.exploded)} of {blown}", "published explosions that explode here too"),
        Tile(f"{trainings:,}", "trainings of 300 epochs" if standard(records) else "trainings"),
    )


def standard(records: Sequence[Record]) -> bool:
    return all(record.spec["epochs"] == 300 for record in records)


def form_blocks(records: Sequence[Record], form: str) -> list[Block]:
    """The blocks of one form of the recipes."""
    rows = rows_of(records)
    blocks: list[Block] = [*missing(records, form), *pictures.shapes_blocks(records, form)]
    for (_, noise), table in tables_of(rows).items():
        blocks.append(rmse_table(table, form, noise))
    blocks.append(exceptions(rows, form))
    blocks += pictures.all_pictures(records, form)
    return blocks


def missing(records: Sequence[Record], form: str) -> list[Missing]:
    """What the paper has and the records do not, a sentence a noise level."""
    found = []
    for noise in NOISE:
        there = {(r.spec["model"], r.spec["dataset"]) for r in records if r.spec["noise"] == noise}
        wanted = {(model, dataset) for model in ARCHITECTURES for dataset in DATASETS}
        lost = wanted - there
        if lost:
            sentence = f"Noise {noise:g}, {form} recipes: {len(lost)} of the paper's {len(wanted)} cells are missing"
            models = [row.title for model, row in ARCHITECTURES.items() if all((model, d) in lost for d in DATASETS)]
            sentence += f", {', '.join(models)} altogether." if models and there else "."
            found.append(Missing(sentence, f"chebact run synthetic --recipes {form} --noise {noise:g}"))
    return found


def rmse_table(rows: Sequence[Row], form: str, noise: float) -> Table:
    """One of the paper's tables: ours, below it the published cell and how far apart they are."""
    marked, cells = marks(rows), {(row.model, row.dataset): row for row in rows}
    datasets = [name for name in DATASETS if any(row.dataset == name for row in rows)]
    models = [name for name in ARCHITECTURES if any(row.model == name for row in rows)]
    body = tuple(
        (
            Cell(ARCHITECTURES[model].title, sort=float(index)),
            *(cell_of(cells.get((model, name)), best=marked.get((model, name)) == "best") for name in datasets),
        )
        for index, model in enumerate(models)
    )
    seeds = sorted({row.seeds for row in rows})
    caption = (
        f"RMSE at noise {noise:g}, {form} recipes, "
        f"{' to '.join(str(n) for n in dict.fromkeys((seeds[0], seeds[-1])))} seeds: "
        "ours, below it the published cell and the distance in its deviations. Bold: the two best of a column, "
        "models that lose most of their seeds aside."
    )
    heads = ("model", *(DATASETS[name].title for name in datasets))
    return Table(f"synthetic-{form}-{noise:g}".replace(".", "-"), caption, heads, body, toned=True)


def cell_of(row: Row | None, *, best: bool) -> Cell:
    if row is None:
        return Cell("not run")
    said = theirs(row).strip("()")
    away, tone = comparison(row)
    sort = row.mean if has_mean(row) else None
    return Cell(ours(row), said, sort, tone, best, away)


def comparison(row: Row) -> tuple[str, Tone]:
    """How far a cell is from the published one, in words and as a colour."""
    if row.paper_mean is None or not row.paper_std:
        return "", "nan" if row.nan or row.paper_nan else ""
    if row.mean is None or not has_mean(row):
        return "", "far"
    away, tone = tone_of(row.mean, row.paper_mean, row.paper_std)
    if row.nan:  # the distance is that of the other seeds
        tone = "far" if tone == "far" else "worse"
    return away, tone


def exceptions(rows: Sequence[Row], form: str) -> Block:
    """Every cell that does not agree, with a reason as far as the records tell one."""
    agreement = agreement_of(rows)
    lines = []
    for row in [*agreement.far, *agreement.lost]:
        shown = f"{ours(row)}, published {theirs(row).strip('()')}"
        lines.append(f"{where(row)}: {shown}. {explain(row)}")
    lines += [
        f"{where(row)}: {ours(row)}, published {theirs(row).strip('()')}. {explain_held(row)}" for row in agreement.held
    ]
    if not lines:
        return Words((f"No exceptions: every cell of the {form} recipes agrees with the published one.",))
    return Fold(f"The {len(lines)} exceptions, explained", (Words(items=tuple(lines)),))
