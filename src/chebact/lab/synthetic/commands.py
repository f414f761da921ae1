"""The commands of the synthetic experiment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from rich.console import Console

from chebact.lab.commands.options import Several, Whole
from chebact.lab.commands.report import Files, check_no_record, write_files
from chebact.lab.output import check_folder, check_outputs
from chebact.lab.progress import show_progress
from chebact.lab.store import records_under
from chebact.lab.synthetic.recipes import DATASETS, RecipeForm
from chebact.lab.synthetic.report_command import view_of
from chebact.lab.synthetic.run import SyntheticRequest, run_synthetic
from chebact.lab.workers import check_workers
from chebact.networks.residual_mlp import ARCHITECTURES

__all__ = ["reproduce", "run"]

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
    records = [record for record in records_under(folder) if record.spec["recipes"] == recipes]
    write_files(view_of(records), Files(json=json))
    Console(stderr=True).print(
        f"the page with the figures: chebact report synthetic --results {folder}", soft_wrap=True
    )
