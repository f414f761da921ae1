"""The image results as data: one row per record, beside the paper's, and the test that the paper makes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from chebact.lab.images.published import published_images
from chebact.lab.images.record import ImageRecord
from chebact.lab.images.rerun import unusual_options
from chebact.lab.images.sets import IMAGE_DATASETS
from chebact.lab.images.spec import CONTROL, ImageSpec, paper_spec
from chebact.lab.page.comparison import unlike
from chebact.lab.spec import as_plain
from chebact.lab.starts import PAPER, RELEASED
from chebact.lab.stats import summarize
from chebact.table import ACTIVATIONS

__all__ = ["ImageRow", "kruskal_wallis", "rows_of"]

MIN_SEEDS = 2  # that can be compared with the paper's three
SHAPES = ("degree", "where")  # what only a learned activation has
APART = ("activation", "seeds", "subset", "processes")  # what is compared in another way, or not


@dataclass(frozen=True)
class ImageRow:
    """One record: final test accuracy in per cent, mean and sample deviation over the seeds that did not diverge.

    `h` and `p` are of the Kruskal-Wallis test against ReLU with the same settings, None if there is no such record or
    fewer than two seeds on either side. `training` and `shapes` name the options that differ from the paper's, of the
    training and of the learned shapes. `seconds` is the median time of a training epoch. `paper_*` is None if the paper
    has no row. `unlike` says where the run differs from the paper's settings, in words; it is not exported.
    """

    dataset: str
    activation: str
    epochs: int
    subset: int | None
    init: str
    start: str
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


def rows_of(records: Iterable[ImageRecord]) -> list[ImageRow]:
    """The rows of image records, in the order of sets, epochs and activations."""
    records = list(records)
    controls = {each.spec.for_control(): accuracies(each) for each in records if each.spec.activation == CONTROL}
    return sorted((row_of(each, controls.get(each.spec.for_control(), ())) for each in records), key=row_order)


def row_order(row: ImageRow) -> tuple[Any, ...]:
    """What the rows are sorted by; activations that the table does not know come last."""
    known = [*ACTIVATIONS].index(row.activation) if row.activation in ACTIVATIONS else len(ACTIVATIONS)
    dataset = [*IMAGE_DATASETS].index(row.dataset)
    subset = row.subset or 0
    return dataset, row.epochs, subset, row.processes, row.training, known, row.activation, row.shapes


def accuracies(record: ImageRecord) -> list[float | None]:
    """The final test accuracies in per cent, None for a training that diverged."""
    return [None if seed.accuracy is None else round(100 * seed.accuracy, 6) for seed in record.results.seeds]


def row_of(record: ImageRecord, control: Sequence[float | None]) -> ImageRow:
    """The row of a record; `control` are the accuracies of ReLU with the same settings."""
    spec, values = record.spec, accuracies(record)
    ours, paper = summarize(values), published_images(spec.dataset, spec.activation)
    h, p = (None, None) if spec.activation == CONTROL else kruskal_wallis(values, control)
    training, shapes = unusual_options(spec)
    return ImageRow(
        dataset=spec.dataset,
        activation=spec.activation,
        epochs=spec.epochs,
        subset=spec.subset,
        init=spec.init,
        start=spec.start,
        processes=spec.processes,
        training=training,
        shapes=shapes,
        seeds=spec.seeds,
        accuracies=values,
        mean=ours.mean,
        std=ours.std,
        nan=ours.nan,
        h=h,
        p=p,
        seconds=record.run.per_epoch,
        device=record.environment.device or "cpu",
        threads=record.environment.threads or 0,
        parameters=record.results.parameters,
        paper_mean=None if paper is None else paper.mean,
        paper_std=None if paper is None else paper.std,
        paper_p=None if paper is None else paper.p,
        unlike=unlike_paper(spec),
    )


def unlike_paper(spec: ImageSpec) -> str:
    """Where a run differs from the paper's settings, in words; empty if it does not."""
    paper, plain = as_plain(paper_spec(spec.dataset)), as_plain(spec)
    words = [unlike(plain, {name: value for name, value in paper.items() if name not in (*SHAPES, *APART)})]
    if spec.activation != CONTROL:
        words.append(unlike(plain, {name: paper[name] for name in SHAPES}))
        words.append("" if spec.init == PAPER else f"init: {spec.init} instead of {PAPER}")
    words.append("" if spec.start == RELEASED else f"start: {spec.start} instead of {RELEASED}")
    if spec.seeds < MIN_SEEDS:
        words.append(f"seeds: {spec.seeds} instead of {paper['seeds']}")
    if spec.subset is not None:
        words.append(f"the first {spec.subset:,} images")
    return ", ".join(filter(None, words))


def kruskal_wallis(
    first: Sequence[float | None], second: Sequence[float | None]
) -> tuple[float, float] | tuple[None, None]:
    """H and p of the Kruskal-Wallis test of two samples, ties corrected; None for fewer than two values, or equal ones.

    >>> kruskal_wallis([1.0], [2.0, 3.0])
    (None, None)
    """
    samples = [[value for value in sample if value is not None] for sample in (first, second)]
    if min(map(len, samples)) < 2 or len({value for sample in samples for value in sample}) < 2:
        return None, None
    from scipy.stats import kruskal

    outcome = kruskal(*samples)
    return float(outcome.statistic), float(outcome.pvalue)
