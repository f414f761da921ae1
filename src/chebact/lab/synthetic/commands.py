"""The commands of the synthetic experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from rich.console import Console

from chebact.lab import LabError
from chebact.lab.commands.options import Several, Whole
from chebact.lab.commands.report import PAGE, check_no_record, write_page
from chebact.lab.output import check_folder, check_outputs, save, wide_console
from chebact.lab.page.documents import update_document
from chebact.lab.page.results import read_results
from chebact.lab.progress import show_progress
from chebact.lab.store import records_under
from chebact.lab.synthetic.agreement import agreement_of
from chebact.lab.synthetic.explanations import as_lines
from chebact.lab.synthetic.recipes import DATASETS, RecipeForm
from chebact.lab.synthetic.rows import Row, as_csv, as_json, rows_of, tables_of
from chebact.lab.synthetic.run import SyntheticRequest, run_synthetic
from chebact.lab.synthetic.tables import LEGEND, as_markdown, as_tables, caption
from chebact.lab.workers import check_workers
from chebact.networks.residual_mlp import ARCHITECTURES

__all__ = ["report", "reproduce", "run"]

RESULTS = Path("results/synthetic")


def run(
    *,
    models: Annotated[tuple[str, ...], Several] = tuple(ARCHITECTURES),
    datasets: Annotated[tuple[str, ...], Several] = tuple(DATASETS),
    noise: Annotated[tuple[float, ...], Several] = (0.01, 0.04),
    seeds: Whole = 10,
    recipes: RecipeForm = "paper",
    epochs: Whole = 300,
    results: Path = RESULTS,
    workers: Whole | None = None,
    dask: str | None = None,
) -> None:
    """Train what is missing in the results folder. Stop it at any moment; the same command goes on from there.

    Parameters
    ----------
    models
        Networks of the paper's table.
    datasets
        Data sets of the paper.
    noise
        Deviations of the noise on the training targets.
    seeds
        Trainings of each network on each data set.
    recipes
        The recipes as the paper prints them, or as the published figures were made.
    epochs
        Passes over the data.
    results
        Folder of the records.
    workers
        Processes of one thread each; as many as there are cores by default.
    dask
        Address of a Dask scheduler whose workers are to do the training.
    """
    check_folder(results, "--results")
    train(SyntheticRequest(models, datasets, noise, seeds, recipes, epochs), results, workers, dask)


def train(request: SyntheticRequest, results: Path, workers: int | None, dask: str | None) -> None:
    """Run a request under a progress bar, on the error stream."""
    check_workers(workers, dask)
    console = Console(stderr=True)
    cohorts = sum(len(group) for group in request.groups())
    steps = run_synthetic(request, results, workers=workers, dask=dask)
    show_progress(((step.records, step.cohorts, step.fraction) for step in steps), cohorts, console)


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
    check_outputs(files=(markdown, csv, json), folders=(output,), documents=update)
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


def reproduce(
    *,
    full: bool = False,
    recipes: RecipeForm = "released",
    results: Path | None = None,
    json: Path | None = None,
    workers: Whole | None = None,
    dask: str | None = None,
) -> None:
    """Train the paper's synthetic tables anew and show them: noise 0.01 with three seeds, or with --full all of them.

    Parameters
    ----------
    full
        Both noise levels and ten seeds: 1,540 trainings.
    recipes
        As the published figures were made, or as the paper prints them.
    results
        Folder of the records.
    json
        Write the rows to this file as JSON.
    workers
        Processes of one thread each; as many as there are cores by default.
    dask
        Address of a Dask scheduler whose workers are to do the training.
    """
    request = SyntheticRequest(recipes=recipes)
    folder = results or Path("reproduced-full" if full else "reproduced")  # not among the records of the project
    check_no_record(folder, json)
    check_outputs(files=(json,), folders=(folder,))
    train(request if full else replace(request, noise=(0.01,), seeds=3), folder, workers, dask)
    rows = [row for row in rows_of(records_under(folder)) if row.recipes == recipes]
    show(rows)
    if json is not None:
        save(json, as_json(rows).encode())
    Console(stderr=True).print(
        f"the page with the figures: chebact report synthetic --results {folder}", soft_wrap=True
    )
