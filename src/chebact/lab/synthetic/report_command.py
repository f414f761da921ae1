"""The command that shows the synthetic records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from rich.console import Console

from chebact.lab import LabError
from chebact.lab.commands.report import PAGE, check_no_record, write_page
from chebact.lab.options import Several
from chebact.lab.output import save, wide_console
from chebact.lab.page.documents import update_document
from chebact.lab.page.results import read_results
from chebact.lab.synthetic.agreement import agreement_of
from chebact.lab.synthetic.explanations import as_lines
from chebact.lab.synthetic.recipes import RecipeForm
from chebact.lab.synthetic.rows import Row, as_csv, as_json, rows_of, tables_of
from chebact.lab.synthetic.tables import LEGEND, as_markdown, as_tables, caption

__all__ = ["report", "sections_of", "show"]

RESULTS = Path("results/synthetic")


def report(
    *,
    results: Path = RESULTS,
    recipes: RecipeForm | None = None,
    noise: Annotated[tuple[float, ...], Several] = (),
    markdown: Path | None = None,
    csv: Path | None = None,
    json: Path | None = None,
    update: Annotated[tuple[Path, ...], Several] = (),
    output: Path | None = None,
) -> None:
    """Show the tables that the records give, each cell beside the published one, and write the page with the figures.

    Parameters
    ----------
    results
        Folder of the records.
    recipes
        Only the tables of this form of the recipes.
    noise
        Only the tables of these noise levels.
    markdown
        Write the tables to this file as Markdown.
    csv
        Write the rows to this file as comma-separated values.
    json
        Write the rows to this file as JSON.
    update
        Documents whose marked blocks are to be filled from the records.
    output
        Folder of the page, index.html; without it the page goes to `report` unless another file is asked for.
    """
    check_no_record(results, markdown, csv, json)
    found = read_results(results)
    records = [
        record
        for record in found.of("synthetic")
        if recipes in (None, record.spec["recipes"]) and (not noise or record.spec["noise"] in noise)
    ]
    rows = rows_of(records)
    if not rows:
        raise LabError(f"no synthetic records below {results} are of that kind")
    show(rows)
    sections = sections_of(rows)
    for path, text in ((markdown, "\n".join(sections.values())), (csv, as_csv(rows)), (json, as_json(rows))):
        if path is not None:
            save(path, text.encode())
    for document in update:
        update_document(document, sections)
    if output is not None or not (markdown or csv or json or update):
        write_page("synthetic", replace(found, records=records), output or PAGE)


def show(rows: Sequence[Row], console: Console | None = None) -> None:
    """Print the tables and how they agree with the paper."""
    console = console or wide_console()
    for (recipes, noise), table in tables_of(rows).items():
        console.print(caption(recipes, noise, table), highlight=False, soft_wrap=True)
        for half in as_tables(table):
            console.print(half)
        console.print(f"({LEGEND.format('*', '!')})\n", highlight=False, soft_wrap=True)
    for recipes in dict.fromkeys(row.recipes for row in rows):
        console.print(f"Against the paper, {recipes} recipes:", highlight=False)
        own = [row for row in rows if row.recipes == recipes]
        console.print("\n".join(as_lines(agreement_of(own))), highlight=False, soft_wrap=True)


def sections_of(rows: Sequence[Row]) -> dict[str, str]:
    """The generated blocks by name: `synthetic-<recipes>-<noise>` and `synthetic-<recipes>-agreement`."""
    sections = {
        f"synthetic-{recipes}-{noise:g}": as_markdown(table) for (recipes, noise), table in tables_of(rows).items()
    }
    for recipes in dict.fromkeys(row.recipes for row in rows):
        own = [row for row in rows if row.recipes == recipes]
        sections[f"synthetic-{recipes}-agreement"] = "\n".join(as_lines(agreement_of(own))) + "\n"
    return sections
