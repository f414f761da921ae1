"""The commands that train the synthetic experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from rich.console import Console

from chebact.lab.commands.report import Files, check_no_record, write_files
from chebact.lab.commands.run import Workers, train
from chebact.lab.functions import RecipeForm
from chebact.lab.options import Flat, Records, about
from chebact.lab.output import check_outputs
from chebact.lab.progress import show_progress, tell_where
from chebact.lab.stats import summarize
from chebact.lab.store import Record, records_under
from chebact.lab.synthetic.record import SyntheticRecord
from chebact.lab.synthetic.report_command import make_view
from chebact.lab.synthetic.run import NAME, run_synthetic
from chebact.lab.synthetic.spec import SyntheticRequest

__all__ = ["reproduce", "run"]

USUAL, MACHINE = SyntheticRequest(), Workers()


def run(
    *,
    request: Annotated[SyntheticRequest, Flat] = USUAL,
    results: Records = Path("results/synthetic"),
    machine: Annotated[Workers, Flat] = MACHINE,
) -> None:
    """Train what is missing in the results folder. Stop it at any moment; the same command continues from there."""
    train(NAME, run_synthetic(request, results, **machine.arguments(results)), results, describe_records)


def describe_records(records: Sequence[Record]) -> list[str]:
    """The mean RMSE of new records, one line per model, noise level, recipe and other choices."""
    lines: dict[tuple[str, ...], list[str]] = {}
    for record in records:
        found: SyntheticRecord = record.typed
        spec, rmse = found.spec, summarize(found.results.rmse)
        score = f"{rmse.nan}/{rmse.seeds} diverged" if rmse.nan or rmse.mean is None else f"{rmse.mean:.4f}"
        head = (spec.model, f"noise {spec.noise:g}", f"{spec.recipes} recipes", *spec.changes)
        lines.setdefault(head, []).append(f"{spec.dataset} {score}")
    return [f"{', '.join(head)}: {', '.join(cells)}" for head, cells in lines.items()]


def reproduce(
    *,
    recipe: Annotated[
        RecipeForm, about("As the published figures were made, or as the paper prints them.")
    ] = "released",
    results: Annotated[Path | None, about("Folder of the records; `reproduced` by default.")] = None,
    json: Annotated[Path | None, about("Write the rows to this file as JSON.")] = None,
    machine: Annotated[Workers, Flat] = MACHINE,
) -> None:
    """Train the paper's synthetic tables and show them: both noise levels and ten seeds, 1,540 trainings."""
    request = SyntheticRequest(recipes=recipe)
    folder = results or Path("reproduced")  # not among the records of the project
    check_no_record(folder, json)
    check_outputs(files=(json,), folders=(folder,))
    console = Console(stderr=True)
    show_progress(run_synthetic(request, folder, **machine.arguments(folder)), console, describe_records)
    records = [record.typed for record in records_under(folder)]
    write_files(make_view([record for record in records if record.spec.recipes == recipe]), Files(json=json))
    tell_where(console, NAME, folder)
