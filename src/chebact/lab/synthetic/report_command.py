"""The command that shows the synthetic records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from rich.console import Console

from chebact.lab.commands.report import NO_FILES, USUAL_PAGE, FileOptions, PageOptions, View
from chebact.lab.commands.report import report as report_records
from chebact.lab.functions import RecipeForm
from chebact.lab.options import Records, Several, about
from chebact.lab.page.sheet import Sheet, as_markdown, as_rich
from chebact.lab.synthetic.agreement import agreement_of
from chebact.lab.synthetic.choice import choice_sheets
from chebact.lab.synthetic.explanations import comparison_lines
from chebact.lab.synthetic.record import SyntheticRecord
from chebact.lab.synthetic.rows import Row, base_rows, rows_of, tables_of
from chebact.lab.synthetic.tables import LEGEND, caption, change_sheets, half_sheets, markdown

__all__ = ["document_blocks", "make_view", "report"]

RESULTS = Path("results/synthetic")


def report(
    *,
    results: Records = RESULTS,
    recipe: Annotated[RecipeForm | None, about("Only the tables of this form of the recipes.")] = None,
    noise: Annotated[tuple[float, ...], Several, about("Only the tables of these noise levels.")] = (),
    files: FileOptions = NO_FILES,
    page: PageOptions = USUAL_PAGE,
) -> None:
    """Show the tables of the records, each cell beside the published one, and write the page with the figures."""

    def keep(record: SyntheticRecord) -> bool:
        return recipe in (None, record.spec.recipes) and (not noise or record.spec.noise in noise)

    report_records("synthetic", results, files, page, keep, make_view)


def make_view(records: Sequence[SyntheticRecord]) -> View:
    """What is shown of records."""
    rows = rows_of(records)
    return View([row.exported() for row in rows], lambda console: show(rows, console), document_blocks(rows))


def show(rows: Sequence[Row], console: Console) -> None:
    """Print the tables and how they agree with the paper."""
    for table in tables_of(rows).values():
        console.print(caption(table), highlight=False, soft_wrap=True)
        for title, half in half_sheets(table).items():
            console.print(as_rich(half, title))
        console.print(f"{LEGEND.format('*', '!')}\n", highlight=False, soft_wrap=True)
    for recipes, own in rows_by_form(rows).items():
        console.print(f"Against the paper, {recipes} recipes:", highlight=False)
        console.print("\n".join(comparison_lines(agreement_of(own))), highlight=False, soft_wrap=True)
    for sheet in further_sheets(rows).values():
        console.print(f"\n{sheet.caption}", highlight=False, soft_wrap=True)
        console.print(as_rich(sheet))


def further_sheets(rows: Sequence[Row]) -> dict[str, Sheet]:
    """What the variant is chosen by, and what other choices change, by the name of the table."""
    return choice_sheets(rows) | change_sheets(rows)


def rows_by_form(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of the paper's tables by the form of their recipes."""
    rows = base_rows(rows)
    return {form: [row for row in rows if row.recipes == form] for form in dict.fromkeys(row.recipes for row in rows)}


def document_blocks(rows: Sequence[Row]) -> dict[str, str]:
    """The generated blocks by name: `synthetic-<recipes>-<noise>`, `synthetic-<recipes>-agreement`,
    `synthetic-<recipes>-choice`, and `synthetic-<recipes>-<changes>-<noise>` for what another choice changes.
    """
    tables = {f"synthetic-{form}-{noise:g}": markdown(table) for (form, noise), table in tables_of(rows).items()}
    agreement = {
        f"synthetic-{form}-agreement": "\n".join(comparison_lines(agreement_of(own))) + "\n"
        for form, own in rows_by_form(rows).items()
    }
    further = {name: f"{sheet.caption}\n\n{as_markdown(sheet)}\n" for name, sheet in further_sheets(rows).items()}
    return tables | agreement | further
