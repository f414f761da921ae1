"""The image results as data: one row a record, beside the paper's, and the test that the paper makes."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from chebact.lab.images.published import published_images
from chebact.lab.images.rerun import image_training, usual
from chebact.lab.images.sets import IMAGE_DATASETS
from chebact.lab.page.comparison import unlike
from chebact.lab.spec import as_plain
from chebact.lab.stats import summarize
from chebact.lab.store import Record
from chebact.table import ACTIVATIONS

__all__ = ["ImageRow", "kruskal_wallis", "rows_of", "settings"]

CONTROL = "relu"
FEWEST = 2  # seeds that can be compared with the paper's three
SHAPES = ("degree", "where")  # what only a learned activation has
APART = (*SHAPES, "activation", "seeds", "subset", "processes")  # what is compared in another way, or not


@dataclass(frozen=True)
class ImageRow:
    """One record: final test accuracy in per cent, mean and sample deviation over the seeds that stayed finite.

    `h` and `p` are of the Kruskal-Wallis test against ReLU with the same settings, None where there is no such record
    or fewer than two seeds on either side. `training` and `shapes` name the options that were not the usual ones, of
    the training and of the learned shapes. `seconds` is the median time of a training epoch. `paper_*` is None where
    the paper has no row. `unlike` is where the run differs from the paper's settings, in words; it is not exported.
    """

    dataset: str
    activation: str
    epochs: int
    subset: int | None
    processes: int
    training: str
    shapes: str
    seeds: int
    accuracies: list[float | None]
    mean: float | None
    std: float | None
    nan: int
    h: float | None
    p: float | None
    seconds: float
    device: str
    threads: int
    parameters: int
    paper_mean: float | None
    paper_std: float | None
    paper_p: float | None
    unlike: str = ""

    def exported(self) -> dict[str, Any]:
        """The row as plain data."""
        return {name: value for name, value in asdict(self).items() if name != "unlike"}


def rows_of(records: Iterable[Record]) -> list[ImageRow]:
    """The rows of image records, in the order of sets, epochs and activations."""
    own = [record for record in records if record.experiment == "images"]
    controls = {settings(record): accuracies(record) for record in own if record.spec["activation"] == CONTROL}
    rows = [row_of(record, controls.get(settings(record))) for record in own]
    sets, names = list(IMAGE_DATASETS), list(ACTIVATIONS)

    def place(row: ImageRow) -> tuple[Any, ...]:
        known = names.index(row.activation) if row.activation in names else len(names)
        return (
            sets.index(row.dataset),
            row.epochs,
            row.subset or 0,
            row.processes,
            row.training,
            known,
            row.activation,
            row.shapes,
        )

    return sorted(rows, key=place)


def settings(record: Record) -> str:
    """All of a spec that ReLU has too, but for the number of seeds, as one text."""
    own = ("activation", "seeds", "degree", "where", "init")
    shared = {name: value for name, value in record.spec.items() if name not in own}
    return json.dumps(shared, sort_keys=True)


def accuracies(record: Record) -> list[float | None]:
    """The final test accuracies in per cent, None for a training that turned NaN."""
    found = [seed["accuracy"] for seed in record.results["seeds"]]
    return [None if accuracy is None else round(100 * accuracy, 6) for accuracy in found]


def row_of(record: Record, control: Sequence[float | None] | None) -> ImageRow:
    spec, results, values = record.spec, record.results, accuracies(record)
    ours = summarize(values)
    h, p = (None, None) if spec["activation"] == CONTROL else kruskal_wallis(values, control or ())
    paper = published_images(spec["dataset"], spec["activation"])
    place: Mapping[str, Any] = record.environment
    training, shapes = image_training(spec)
    return ImageRow(
        **{name: spec[name] for name in ("dataset", "activation", "epochs", "subset", "processes", "seeds")},
        training=training,
        shapes=shapes,
        accuracies=values,
        mean=ours.mean,
        std=ours.std,
        nan=ours.nan,
        h=h,
        p=p,
        seconds=statistics.median(second for seed in record.run["seconds"] for second in seed),
        device=place.get("device", "cpu"),
        threads=place.get("threads", 0),
        parameters=results["parameters"],
        paper_mean=None if paper is None else paper.mean,
        paper_std=None if paper is None else paper.std,
        paper_p=None if paper is None else paper.p,
        unlike=unlike_paper(spec),
    )


def unlike_paper(spec: Mapping[str, Any]) -> str:
    """Where a run differs from the paper's settings, in words; empty where it does not."""
    paper = as_plain(usual(spec["dataset"]))
    words = [unlike(spec, {name: value for name, value in paper.items() if name not in APART})]
    if spec["activation"] != CONTROL:
        words.append(unlike(spec, {name: paper[name] for name in SHAPES}))
    if spec["seeds"] < FEWEST:
        words.append(f"seeds: {spec['seeds']} instead of {paper['seeds']}")
    if spec["subset"] is not None:
        words.append(f"the first {spec['subset']:,} images")
    return ", ".join(each for each in words if each)


def kruskal_wallis(
    first: Sequence[float | None], second: Sequence[float | None]
) -> tuple[float, float] | tuple[None, None]:
    """H and p of the Kruskal-Wallis test of two samples, ties corrected; None for samples that say nothing.

    >>> kruskal_wallis([1.0], [2.0, 3.0])
    (None, None)
    """
    samples = [[value for value in sample if value is not None] for sample in (first, second)]
    if min(map(len, samples)) < 2 or len({value for sample in samples for value in sample}) < 2:
        return None, None
    from scipy.stats import kruskal

    outcome = kruskal(*samples)
    return float(outcome.statistic), float(outcome.pvalue)
