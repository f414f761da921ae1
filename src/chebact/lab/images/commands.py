"""The commands of the image experiment."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from cyclopts import Parameter
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from chebact.lab import LabError
from chebact.lab.bench.plot import image_kind
from chebact.lab.commands.options import Several, Whole
from chebact.lab.commands.report import PAGE, check_no_record, write_page
from chebact.lab.images.ddp import Team, TeamError, team
from chebact.lab.images.figure_files import draw_captures, draw_curves
from chebact.lab.images.rows import ImageRow, as_json, rows_of
from chebact.lab.images.run import OPTION, ImageCohort, Watch, run_images
from chebact.lab.images.sets import IMAGE_DATASETS
from chebact.lab.images.tables import CAPTION, as_markdown, as_table
from chebact.lab.images.training import Epoch
from chebact.lab.output import check_folder, check_outputs, make_folder, save, wide_console
from chebact.lab.page.documents import update_document
from chebact.lab.page.results import read_results
from chebact.lab.progress import time_left
from chebact.lab.spec import as_plain, check_choice
from chebact.lab.store import Record, holds
from chebact.training.memory import keep_freed_memory

__all__ = ["report", "run"]

RESULTS = Path("results/images")
WIDTH = 140  # of the table where no terminal says otherwise


@dataclass(frozen=True)
class Choices:
    """How to train.

    Parameters
    ----------
    epochs
        Passes over the data; the step size falls along a cosine to zero over them.
    seeds
        Trainings of each activation.
    batch_size
        Images a step, of all processes together.
    learning_rate
        The step size at the beginning.
    cosine
        When the step size falls: after every epoch, as in the paper, or after every step, for short trainings.
    subset
        Train on the first so many images only.
    shake
        Shake-shake or the plain mean of the branches; the paper's choice by default.
    form
        Shake in all stages (paper) or in the last two (released), as the published figures were made.
    where
        The convolutions that have the activation before them; the others have ReLU.
    degree
        Of the learned polynomials.
    precision
        Of the forward pass; bfloat16 is torch's autocast.
    channels_last
        The channels of a pixel side by side in memory, or --no-channels-last: each channel on its own.
    """

    epochs: Whole = 100
    seeds: Whole = 3
    batch_size: Whole = 128
    learning_rate: float = 0.1
    cosine: Literal["epoch", "step"] = "epoch"
    subset: Whole | None = None
    shake: bool | None = None
    form: Literal["paper", "released"] = "paper"
    where: Annotated[tuple[Whole, ...], Several] = tuple(range(6, 14))
    degree: Whole = 3
    precision: Literal["float32", "bfloat16"] = "float32"
    channels_last: bool = True


DEFAULT = Choices()


def run(
    *,
    dataset: str = "digits",
    activation: Annotated[tuple[str, ...], Several] = ("relu", "cl-extrapolate"),
    choices: Annotated[Choices, Parameter(name="*")] = DEFAULT,
    device: str | None = None,
    resume: bool = True,
    tensorboard: Annotated[bool, Parameter(negative=())] = False,
    data: Path | None = None,
    output: Path = RESULTS,
) -> None:
    """Train the shake-shake network on images. Stop it at any moment; the same command goes on from there.

    Parameters
    ----------
    dataset
        digits (comes along), mnist, fashion-mnist or cifar10 (see `chebact data fetch`).
    activation
        Names of the table of activations; each is trained in turn.
    device
        cpu or cuda; a GPU where torch finds one by default.
    resume
        Go on from the checkpoints in the output folder; --no-resume removes them first. Records are kept.
    tensorboard
        Write curves for TensorBoard too.
    data
        Folder of the image sets; $CHEBACT_DATA or the user's cache by default.
    output
        Folder of the records, and of checkpoints and logs beside them.
    """
    keep_freed_memory()
    check_folder(output, OPTION)
    place = device_named(device)
    with joined(place) as own:
        settings = {name: getattr(choices, name) for name in Choices.__dataclass_fields__}
        cohorts = [ImageCohort(dataset, name, **settings, processes=own.size) for name in dict.fromkeys(activation)]
        if not cohorts:
            raise LabError("nothing is asked for: name one activation at least")
        there = own.told(lambda: [holds(cohort.path(output), as_plain(cohort), OPTION) for cohort in cohorts])
        console = Console(stderr=True, quiet=not own.leads)
        files: dict[str, Any] = {"data": data, "resume": resume, "tensorboard": tensorboard}
        for cohort, was_there in zip(cohorts, there, strict=True):
            with shown(cohort, console) as watch:
                record = run_images(cohort, output, **files, device=place, team=own, watch=watch)
            seeds = record.results["seeds"]
            accuracies = ", ".join("diverged" if seed["nan"] else percent(seed["accuracy"]) for seed in seeds)
            kept = " (it was there; move it away to train anew)" if was_there else ""
            told = f"{cohort.activation} on {cohort.dataset}, test accuracy: {accuracies}; {cohort.path(output)}{kept}"
            lines = [told, *diverged_in_words(cohort.activation, seeds)]
            console.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)


def diverged_in_words(activation: str, seeds: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line where trainings left the finite numbers: which, in which epoch, and what may help."""
    lost = [f"seed {seed['seed']} in epoch {len(seed['curves']['train_loss'])}" for seed in seeds if seed["nan"]]
    if not lost:
        return []
    return [
        f"{activation} diverged ({', '.join(lost)}): the loss left the finite numbers, as the record says; a smaller "
        "--learning-rate may help, with another --output"
    ]


def report(
    *,
    results: Path = RESULTS,
    dataset: Annotated[tuple[str, ...], Several] = (),
    markdown: Path | None = None,
    text: Path | None = None,
    json: Path | None = None,
    curves: Path | None = None,
    captures: Path | None = None,
    update: Annotated[tuple[Path, ...], Several] = (),
    output: Path | None = None,
) -> None:
    """Show what the image records give: accuracy, the test against ReLU, time an epoch, beside the paper's; the page.

    Parameters
    ----------
    results
        Folder of the records.
    dataset
        Only these image sets.
    markdown
        Write the table to this file as Markdown.
    text
        Write the table to this file as plain text.
    json
        Write the rows to this file as JSON.
    curves
        Draw losses and test error by epoch into this PNG or SVG file.
    captures
        Draw the captured units of each record into this folder, as PNG files.
    update
        Documents whose block `images` is to be filled from the records.
    output
        Folder of the page, index.html; without it the page goes to `report` unless another file is asked for.
    """
    for name in dataset:
        check_choice("image set", name, IMAGE_DATASETS)
    kind = None if curves is None else image_kind(curves)
    check_no_record(results, markdown, text, json)
    check_outputs(files=(markdown, text, json, curves), folders=(captures, output), documents=update)
    found = read_results(results)
    records = found.of("images")
    records = [record for record in records if not dataset or record.spec["dataset"] in dataset]
    rows = rows_of(records)
    if not rows:
        raise LabError(f"no image records below {results} are of that kind: run `chebact run images` first")
    console = wide_console(WIDTH)
    show_rows(rows, console)
    if text is not None:
        plain = io.StringIO()
        show_rows(rows, Console(file=plain, width=WIDTH))
        save(text, plain.getvalue().encode())
    for path, content in ((markdown, as_markdown(rows)), (json, as_json(rows))):
        if path is not None:
            save(path, content.encode())
    if curves is not None and kind is not None:
        save(curves, draw_curves(records, kind))
    if captures is not None:
        save_captures(records, captures)
    for document in update:
        update_document(document, {"images": as_markdown(rows)})
    if output is not None or not (markdown or text or json or curves or captures or update):
        write_page("images", replace(found, records=records), output or PAGE)


def save_captures(records: Sequence[Record], folder: Path) -> None:
    """Draw the captured units of each record into a file; those of a name that was there get a number."""
    make_folder(folder, "--captures")
    names = Counter[str]()
    for record in records:
        spec = record.spec
        part = "" if spec["subset"] is None else f"-of-{spec['subset']}"
        name = f"{spec['dataset']}-{spec['activation']}-{spec['epochs']}-epochs{part}"
        names[name] += 1
        save(folder / f"{name}{'' if names[name] == 1 else f'-{names[name]}'}.png", draw_captures(record, "png"))


def show_rows(rows: Sequence[ImageRow], console: Console) -> None:
    """Print the table under what it shows."""
    console.print(CAPTION, highlight=False)
    console.print(as_table(rows))


@contextmanager
def joined(device: str) -> Iterator[Team]:
    """The team of this process; a LabError where the environment does not say how to meet it."""
    try:
        with team(device) as own:
            yield own
    except TeamError as error:
        raise LabError(str(error)) from error


def device_named(device: str | None) -> str:
    """The device asked for, or the best that there is; a LabError where it cannot be used."""
    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if chosen not in ("cpu", "cuda"):
        raise LabError(f"unknown device {chosen!r}: choose from cpu, cuda")
    if chosen == "cuda" and not torch.cuda.is_available():
        raise LabError("the device cuda was asked for, but this torch finds no GPU: leave --device out, or say cpu")
    return chosen


def percent(accuracy: float | None) -> str:
    return "NaN" if accuracy is None else f"{100 * accuracy:.2f} %"


class shown:
    """Within this context a bar shows how far a cohort is; each epoch that ends gets a line."""

    def __init__(self, cohort: ImageCohort, console: Console) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[left]}"),
            TimeElapsedColumn(),
        )
        self.cohort, self.progress = cohort, Progress(*columns, console=console)

    def __enter__(self) -> Watch:
        self.progress.start()
        self.task = self.progress.add_task(
            self.cohort.activation, total=self.cohort.seeds * self.cohort.epochs, left=""
        )
        self.first: float | None = None
        return Watch(self.on_start, self.on_step, self.on_epoch)

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def on_start(self, seed: int, epochs_done: int) -> None:
        if epochs_done and epochs_done < self.cohort.epochs:
            self.progress.console.print(f"seed {seed} goes on after epoch {epochs_done}", highlight=False)

    def on_step(self, seed: int, epoch: int, step: int, steps: int) -> None:
        done = seed * self.cohort.epochs + epoch - 1 + step / steps
        total = self.cohort.seeds * self.cohort.epochs
        self.first = done if self.first is None else self.first
        elapsed = self.progress.tasks[0].elapsed or 0
        self.progress.update(
            self.task,
            completed=done,
            description=f"{self.cohort.activation}, seed {seed}, epoch {epoch}",
            left=time_left(elapsed, done - self.first, total - done),
        )

    def on_epoch(self, seed: int, epoch: Epoch) -> None:
        line = (
            f"{self.cohort.activation}, seed {seed}, epoch {epoch.epoch}: training loss {epoch.train_loss:.4f}, "
            f"test loss {epoch.test_loss:.4f}, test accuracy {percent(epoch.test_accuracy)}, {epoch.seconds:.1f} s"
        )
        self.progress.console.print(line, highlight=False, soft_wrap=True)
