"""The synthetic experiment on the page: its tables beside the paper's, the exceptions, and all its figures."""

from __future__ import annotations

from collections.abc import Sequence

from chebact.lab.page.document import Block, Commands, Fold, Missing, Section, Tile, Words
from chebact.lab.page.networks import network_picture
from chebact.lab.page.results import Results
from chebact.lab.page.sheet import Sheet
from chebact.lab.store import Record
from chebact.lab.synthetic import section_pictures as pictures
from chebact.lab.synthetic.agreement import Agreement, agreement_of, where
from chebact.lab.synthetic.explanations import explain, explain_held
from chebact.lab.synthetic.published import SYNTHETIC
from chebact.lab.synthetic.rerun import synthetic_commands
from chebact.lab.synthetic.rows import Row, rows_of, tables_of
from chebact.lab.synthetic.tables import columns_of, ours, parameter_sheet, seeds_of, sheet_of, theirs
from chebact.lab.synthetic.theory import theory_section
from chebact.networks.residual_mlp import ARCHITECTURES

__all__ = ["sections", "synthetic_section"]

FORMS = {
    "released": "the recipes that the published figures were made with",
    "paper": "the recipes as the paper prints",
}


NETWORK = (
    "The network. σ is the activation that is compared; + adds a shortcut. The published figures were made without the "
    "last σ in CL, WCP, PCS-CL and tanh-CL."
)


def sections(results: Results) -> list[Section]:
    """The experiment, and the theory behind it."""
    return [synthetic_section(results), theory_section()]


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
    blocks += [network_picture("synthetic", NETWORK), parameter_sheet()]
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
        blocks.append(rmse_sheet(table, form, noise))
    blocks.append(exceptions(rows, form))
    blocks += pictures.all_pictures(records, form)
    return blocks


def missing(records: Sequence[Record], form: str) -> list[Missing]:
    """What the paper has and the records do not, a sentence a noise level."""
    found = []
    for noise in dict.fromkeys(level for _, _, level in SYNTHETIC):
        there = {(r.spec["model"], r.spec["dataset"]) for r in records if r.spec["noise"] == noise}
        wanted = {(model, dataset) for model, dataset, level in SYNTHETIC if level == noise}
        lost = wanted - there
        if lost:
            sentence = f"Noise {noise:g}, {form} recipes: {len(lost)} of the paper's {len(wanted)} cells are missing"
            absent = {model for model, _ in wanted} - {model for model, _ in wanted & there}
            models = [row.title for model, row in ARCHITECTURES.items() if model in absent]
            sentence += f", {', '.join(models)} altogether." if models and there else "."
            found.append(Missing(sentence, f"chebact run synthetic --recipes {form} --noise {noise:g}"))
    return found


def rmse_sheet(rows: Sequence[Row], form: str, noise: float) -> Sheet:
    """One of the paper's tables: ours, below it the published cell and how far apart they are."""
    caption = (
        f"RMSE at noise {noise:g}, {form} recipes, {seeds_of(rows)} seeds: ours, below it the published cell and the "
        "distance in its deviations. Bold: the two best of a column, models that lose most of their seeds aside."
    )
    return sheet_of(rows, columns_of(rows), f"synthetic-{form}-{noise:g}".replace(".", "-"), caption)


def exceptions(rows: Sequence[Row], form: str) -> Block:
    """Every cell that does not agree, with a reason as far as the records tell one."""
    agreement = agreement_of(rows)
    lines = []
    for row in [*agreement.far, *agreement.lost]:
        shown = f"{ours(row)}, published {theirs(row)}"
        lines.append(f"{where(row)}: {shown}. {explain(row)}")
    lines += [f"{where(row)}: {ours(row)}, published {theirs(row)}. {explain_held(row)}" for row in agreement.held]
    if not lines:
        return Words((f"No exceptions: every cell of the {form} recipes agrees with the published one.",))
    return Fold(f"The {len(lines)} exceptions, explained", (Words(items=tuple(lines)),))
