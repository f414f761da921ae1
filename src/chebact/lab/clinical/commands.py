"""The commands of the clinical experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from chebact.lab import LabError
from chebact.lab.clinical.baselines import BASELINES, MAJORITY
from chebact.lab.clinical.input import GENERATED, TableOptions, tables_asked
from chebact.lab.clinical.rows import rows_of
from chebact.lab.clinical.run import CHOICE, MODELS, ClinicalRequest, run_clinical
from chebact.lab.clinical.spec import Labels, Shortcut
from chebact.lab.clinical.table import DataError
from chebact.lab.commands.options import Several, Whole
from chebact.lab.output import check_folder
from chebact.lab.progress import show_progress
from chebact.lab.store import Record
from chebact.lab.workers import check_workers

__all__ = ["run"]

RESULTS = Path("results/clinical")
USUAL = tuple(name for name in BASELINES if name != MAJORITY)


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
