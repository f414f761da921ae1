"""The commands of the clinical experiment."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from chebact.lab import LabError
from chebact.lab.clinical.baselines import BASELINES, MAJORITY
from chebact.lab.clinical.input import GENERATED, TableOptions, tables_asked
from chebact.lab.clinical.rows import REFERENCE, Row, as_csv, as_json, rows_of, tables_of
from chebact.lab.clinical.run import CHOICE, MODELS, ClinicalRequest, run_clinical
from chebact.lab.clinical.sheets import caption, rich_table, sections, sheets_of
from chebact.lab.clinical.spec import Labels, Shortcut
from chebact.lab.clinical.table import DataError
from chebact.lab.commands.options import Several, Whole
from chebact.lab.commands.report import PAGE, check_no_record, write_page
from chebact.lab.output import check_folder, check_outputs, save, wide_console
from chebact.lab.page.documents import update_document
from chebact.lab.page.results import read_results
from chebact.lab.progress import show_progress
from chebact.lab.store import Record
from chebact.lab.workers import check_workers

__all__ = ["report", "run"]

RESULTS = Path("results/clinical")
USUAL = tuple(name for name in BASELINES if name != MAJORITY)
SHOWN = ("generated", "parkinson-replicated", "parkinson-multiple")  # the data that the documents have blocks for


def run(
    *,
    table: Annotated[TableOptions, Parameter(name="*")] = GENERATED,
    models: Annotated[tuple[str, ...], Several] = MODELS,
    baselines: Annotated[tuple[str, ...], Several] = USUAL,
    widths: Annotated[tuple[Whole, ...], Several] = (32, 64),
    seeds: Whole = 30,
    folds: Whole = 10,
    shortcut: Shortcut = "average",
    labels: Labels = "true",
    epochs: Whole = 300,
    trees: Whole = 150,
    rounds: Whole = 100,
    results: Path = RESULTS,
    workers: Whole | None = None,
    dask: str | None = None,
) -> None:
    """Train what is missing in the results folder. Stop it at any moment; the same command goes on from there.

    Parameters
    ----------
    models
        1-class, and activations of the table; or the word none.
    baselines
        Of scikit-learn's models: logistic, svm, forest, boosting; or the word none.
    widths
        Widths of the networks.
    seeds
        Draws of the folds.
    folds
        Parts that the subjects are split in.
    shortcut
        Whether a block is averaged with its input, as in the paper, or added to it, as in the released code.
    labels
        true; or shuffled by subject: balanced accuracy is then 50 % unless there is a leak.
    epochs
        Passes over the data.
    trees
        Trees of Boruta's forest.
    rounds
        Rounds of Boruta at the most.
    results
        Folder of the records.
    workers
        Processes of one thread each; as many as there are cores by default.
    dask
        Address of a Dask scheduler whose workers are to do the training.
    """
    check_workers(workers, dask)
    check_folder(results, "--results")
    networks, others = (tuple(each for each in names if each != "none") for names in (models, baselines))
    settings = (networks, others, widths, seeds, folds, shortcut, labels, epochs, trees, rounds)
    try:
        own, chooser = tables_asked(table)
        train(ClinicalRequest(own, chooser, table.select == "folds", *settings), results, workers, dask)
    except DataError as error:
        raise LabError(str(error)) from error


def train(request: ClinicalRequest, results: Path, workers: int | None, dask: str | None) -> None:
    """Run a request under a progress bar, on the error stream."""
    console = Console(stderr=True)
    table = request.table
    kind = "generated data, nobody was recorded" if table.generated else "your data"
    notes = "".join(f"; left out: {note}" for note in table.left_out)
    size = f"{table.size[0]} recordings of {len(set(table.subjects))} subjects, {table.size[1]} features"
    remarks = [f"note: {each}" for each in request.remarks()]
    for line in [f"{table.name} ({kind}): {size}{notes}", *remarks]:
        console.print(line, highlight=False, markup=False, emoji=False, soft_wrap=True)
    steps = run_clinical(request, results, workers=workers, dask=dask)
    parts = len(request.choosing()) + len(request.cohorts(request.trial(table, "all")))
    show_progress(((step.records, step.cohorts, step.fraction) for step in steps), parts, console, lines_of)


def lines_of(records: Sequence[Record]) -> list[str]:
    """What new records hold, a line each."""
    lines = []
    for record in records:
        if record.experiment == CHOICE:
            lines.append(f"chosen on {record.spec['data']}: {chosen_in_words(record)}, in {record.run['seconds']:g} s")
            continue
        (row,) = rows_of([record])
        scores = "diverged" if row.accuracy is None else f"accuracy {row.accuracy:.1f} %, micro-F1 {row.micro_f1:.1f} %"
        width = "" if row.width is None else f", width {row.width}"
        lines.append(f"{row.data}, {row.model}{width}: {scores}, in {record.run['seconds']:g} s")
    return lines


def chosen_in_words(record: Record) -> str:
    """How many features Boruta chose; what it did not confirm is said."""
    found = record.results
    if "features" in found:
        how = found.get("how", "confirmed")
        return f"{len(found['features'])} features" + ("" if how == "confirmed" else f" ({how}: none is confirmed)")
    unsure = sum(fold["how"] != "confirmed" for fold in found["folds"])
    sizes = [len(fold["columns"]) for fold in found["folds"]]
    return f"{sizes} features in the folds" + (f" (none confirmed in {unsure} of them)" if unsure else "")


def report(
    *,
    results: Path = RESULTS,
    data: Annotated[tuple[str, ...], Several] = (),
    against: str | None = None,
    markdown: Path | None = None,
    csv: Path | None = None,
    json: Path | None = None,
    update: Annotated[tuple[Path, ...], Several] = (),
    output: Path | None = None,
) -> None:
    """Show the tables that the records give, in percent, with the tests between models, and write the page.

    Parameters
    ----------
    results
        Folder of the records.
    data
        Only the tables of these data.
    against
        The model that the others are tested against; tanh by default, where there is a record of it.
    markdown
        Write the tables to this file as Markdown.
    csv
        Write the rows to this file as comma-separated values.
    json
        Write the rows to this file as JSON.
    update
        Documents whose marked blocks are to be filled from the records; a block without records says so.
    output
        Folder of the page, index.html; without it the page goes to `report` unless another file is asked for.
    """
    check_no_record(results, markdown, csv, json)
    check_outputs(files=(markdown, csv, json), folders=(output,), documents=update)
    found = read_results(results)
    everything = found.of("clinical")
    records = [record for record in everything if not data or record.spec["data"] in data]
    rows = rows_of(records, against or REFERENCE)
    if not rows:
        raise LabError(f"no clinical records below {results} are of that kind")
    if against is not None and not any(row.model == against for row in rows):
        known = ", ".join(dict.fromkeys(row.model for row in rows))
        raise LabError(f"there is no record of {against!r} to test against: choose --against from {known}")
    tables = tables_of(rows, against or REFERENCE)
    show(tables)
    written = sections(tables)
    for path, text in ((markdown, "\n".join(written.values())), (csv, as_csv(rows)), (json, as_json(rows))):
        if path is not None:
            save(path, text.encode())
    for document in update:
        update_document(document, not_run(but={record.spec["data"] for record in everything} if data else ()) | written)
    if output is not None or not (markdown or csv or json or update):
        write_page("clinical", replace(found, records=records), output or PAGE)


def show(tables: Sequence[Sequence[Row]], console: Console | None = None) -> None:
    """Print the tables."""
    console = console or wide_console()
    for table in tables:
        console.print(caption(table), highlight=False, markup=False, emoji=False, soft_wrap=True)
        for sheet in sheets_of(table):
            console.print(rich_table(sheet))
        console.print()


def not_run(but: Collection[str] = ()) -> dict[str, str]:
    """What the blocks of the documents say where there is no record: those of the data `but` are left as they are."""
    return {f"clinical-{name}": "Not run yet." for name in SHOWN if name not in but}
