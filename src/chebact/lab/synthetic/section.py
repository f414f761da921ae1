"""The synthetic experiment on the page: its figures, its tables beside the paper's, and the exceptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chebact.lab.page.document import Block, Commands, Finding, Fold, Missing, Section, Words
from chebact.lab.page.networks import network_picture
from chebact.lab.page.results import Results
from chebact.lab.page.sheet import Sheet
from chebact.lab.synthetic import section_pictures as pictures
from chebact.lab.synthetic.agreement import Agreement, agreement_of
from chebact.lab.synthetic.choice import choice_sheets
from chebact.lab.synthetic.explanations import exception_lines
from chebact.lab.synthetic.published import SYNTHETIC
from chebact.lab.synthetic.record import SyntheticRecord
from chebact.lab.synthetic.rerun import synthetic_commands
from chebact.lab.synthetic.rows import Row, rows_of, tables_of
from chebact.lab.synthetic.tables import (
    FORMS,
    change_sheets,
    columns_of,
    parameter_sheet,
    seeds_of,
    settings_note,
    sheet_of,
)
from chebact.lab.synthetic.theory import theory_section
from chebact.networks.residual_mlp import ARCHITECTURES

__all__ = ["sections", "synthetic_section"]

NETWORK = (
    "The network. σ is the activation that is compared; + adds a shortcut. The published figures were made without the "
    "last σ in CL, WCP, PCS-CL and tanh-CL."
)


def sections(results: Results) -> list[Section]:
    """The experiment, and the theory behind it."""
    return [synthetic_section(results), theory_section()]


def synthetic_section(results: Results) -> Section:
    """Everything that the synthetic records show, and what is missing."""
    everything = results.typed(SyntheticRecord)
    records = [record for record in everything if not record.spec.changes]
    title = "Synthetic functions"
    changes = tuple(change_sheets(rows_of(everything)).values())
    if not records:
        return Section(
            "synthetic", title, (Missing("Not run yet.", "chebact run synthetic --recipe released"), *changes)
        )
    forms = [form for form in FORMS if any(record.spec.recipes == form for record in records)]
    blocks: list[Block] = []
    for form in forms:
        own = [record for record in records if record.spec.recipes == form]
        parts = form_blocks(own, form)
        blocks += (
            parts if form == forms[0] else [Fold(f"The same with {FORMS[form].replace(': ', ', ')}", tuple(parts))]
        )
    choices = choice_sheets(rows_of(records))
    chosen = tuple(choices[name] for form in forms if (name := f"synthetic-{form}-choice") in choices)
    if chosen:
        blocks.append(Fold("What the paper chooses its variant by", chosen))
    if changes:
        blocks.append(Fold("What other choices change where the paper leaves them open", changes))
    network = (network_picture("synthetic", NETWORK), parameter_sheet())
    blocks.append(Fold("The network, and the parameters of its variants", network))
    again = (Commands((*synthetic_commands(everything), "chebact report synthetic")),)
    blocks.append(Fold("How to run it again", (Words(("Finished parts are skipped.",)), *again)))
    agreement = agreement_of([row for row in rows_of(records) if row.recipes == forms[0]])
    lead = (
        f"{len({record.spec.model for record in records})} networks learn "
        f"{len({record.spec.dataset for record in records})} functions from a thousand noisy points each; the error "
        f"(RMSE) is measured on a thousand other points without noise. Shown first: {FORMS[forms[0]]}."
    )
    finding = make_finding(agreement, records)
    return Section("synthetic", title, tuple(blocks), lead, finding=finding, shows=conclude(agreement))


def make_finding(agreement: Agreement, records: Sequence[SyntheticRecord]) -> Finding:
    """The paper's cells that ours agree with, or that the two cannot be compared."""
    near, printed = len(agreement.near), len(agreement.near) + len(agreement.far)
    if not printed:
        trainings = sum(record.trainings for record in records)
        unlike = "; ".join(dict.fromkeys(row.unlike for row in agreement.other)) or "no published cells"
        return Finding(f"{trainings:,}", f"trainings on synthetic functions, not compared with the paper ({unlike}).")
    sentence = (
        "cells of the paper's tables agree with ours (within two published standard deviations, or better; "
        f"{len(agreement.within)} within two on either side). "
        f"CL-extrapolate is among the best two models in {agreement.best} of {agreement.columns} columns (paper: "
        f"{agreement.paper_best})."
    )
    return Finding(f"{near} of {printed}", sentence)


def conclude(agreement: Agreement) -> str:
    """The conclusion in words."""
    near, printed = len(agreement.near), len(agreement.near) + len(agreement.far)
    if not printed:
        return ""
    return (
        f"The paper's tables can be reproduced: {near} of {printed} cells agree. CL-extrapolate is among the best two "
        f"in {agreement.best} of {agreement.columns} columns, and its linear tails are the reason that it trains: "
        f"without tails most seeds diverge in {len(agreement.exploded_here)} of the {len(agreement.exploded)} cells in "
        "which the paper's did."
    )


def form_blocks(records: Sequence[SyntheticRecord], form: str) -> list[Block]:
    """The blocks of one form of the recipes: figures, then tables, then the exceptions."""
    rows = rows_of(records)
    blocks: list[Block] = [*missing_blocks(records, form), *pictures.all_pictures(records, form)]
    sheets = [rmse_sheet(table, form, noise) for (_, noise), table in tables_of(rows).items()]
    blocks += [*sheets[:1], *(replace(sheet, notes=()) for sheet in sheets[1:])]  # the first has the words explained
    blocks.append(exception_block(rows, form))
    return blocks


def missing_blocks(records: Sequence[SyntheticRecord], form: str) -> list[Missing]:
    """What the paper has and the records do not, one sentence per noise level."""
    found: list[Missing] = []
    if form == "recommended":
        return found  # a recipe of ours, for one model
    for noise in dict.fromkeys(level for _, _, level in SYNTHETIC):
        there = {(r.spec.model, r.spec.dataset) for r in records if r.spec.noise == noise}
        wanted = {(model, dataset) for model, dataset, level in SYNTHETIC if level == noise}
        lost = wanted - there
        if lost:
            sentence = f"Noise {noise:g}, {form} recipes: {len(lost)} of the paper's {len(wanted)} cells are missing"
            absent = {model for model, _ in wanted} - {model for model, _ in wanted & there}
            models = [row.title for model, row in ARCHITECTURES.items() if model in absent]
            sentence += f", {', '.join(models)} altogether." if models and there else "."
            found.append(Missing(sentence, f"chebact run synthetic --recipe {form} --noise {noise:g}"))
    return found


def rmse_sheet(rows: Sequence[Row], form: str, noise: float) -> Sheet:
    """One of the paper's tables: ours, below it the published cell and how far apart they are."""
    caption = (
        f"RMSE at noise {noise:g}, {form} recipes, {seeds_of(rows)} seeds: ours, below it the published figure and the "
        "difference in published standard deviations. Bold: best two per column; models whose seeds mostly diverged "
        f"(NaN) are not ranked{settings_note(rows)}."
    )
    return sheet_of(rows, columns_of(rows), f"synthetic-{form}-{noise:g}".replace(".", "-"), caption)


def exception_block(rows: Sequence[Row], form: str) -> Block:
    """Every cell that does not agree, explained; or the sentence that all do."""
    agreement = agreement_of(rows)
    lines = exception_lines(agreement)
    if lines:
        return Fold(f"The {len(lines)} exceptions, explained", (Words(items=tuple(lines)),))
    if not agreement.near:
        return Words(("No cell is compared with the published ones: the settings differ.",))
    return Words((f"All {len(agreement.near)} cells of the {form} recipes agree with the published ones.",))
