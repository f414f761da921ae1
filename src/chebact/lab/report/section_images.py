"""The image experiments on the page: accuracies beside the published ones, curves, and what single units do."""

from __future__ import annotations

from collections.abc import Sequence

from chebact.lab.published_images import EPOCHS, P_VALUES, published_images
from chebact.lab.report.figures_images import (
    ACCURACY_KEYS,
    TITLES,
    accuracy_panel,
    before_after_shapes,
    title_of,
    unit_shapes,
)
from chebact.lab.report.figures_shapes import SHAPE_KEYS, shape_panel
from chebact.lab.report.parts import Block, Cell, Commands, Fold, Missing, Picture, Section, Table, Words
from chebact.lab.report.results import Results
from chebact.lab.stats import summarize
from chebact.lab.store import Record

__all__ = ["images_section"]

CONTROL, SUBJECT = "relu", "cl-extrapolate"
PAPER = ("mnist", "cifar10")


def images_section(results: Results) -> Section:
    """What the image records show; the paper's own sets that are missing are named."""
    records = results.of("images")
    title = "Images"
    blocks: list[Block] = []
    if records:
        blocks.append(accuracy_table(records))
        blocks.append(Words(parity(records)))
    blocks += [
        Missing(
            f"{TITLES[name]} with the paper's {EPOCHS} epochs on all images: not run yet.",
            f"chebact run images --dataset {name}",
        )
        for name in PAPER
        if not any(is_papers(record) and record.spec["dataset"] == name for record in records)
    ]
    for index, group in enumerate(groups(records)):
        blocks += pictures(group, f"im-{index}")
    if records:
        names = dict.fromkeys(record.spec["dataset"] for record in records)
        blocks.append(Words(("To run it again:",)))
        blocks.append(Commands((*(f"chebact run images --dataset {name}" for name in names), "chebact report images")))
    lead = (
        "A residual network of 14 layers with ReLU, and the same with CL-extrapolate in its last eight convolutions. "
        "The "
        "paper finds no difference here."
    )
    return Section("images", title, tuple(blocks), lead)


def is_papers(record: Record) -> bool:
    """Whether a record was trained as long and on as much as the published runs."""
    return record.spec["epochs"] == EPOCHS and record.spec.get("subset") is None


def groups(records: Sequence[Record]) -> list[list[Record]]:
    """Records that differ in the activation alone."""
    found: dict[str, list[Record]] = {}
    for record in records:
        rest = {name: value for name, value in record.spec.items() if name not in ("activation", "seeds")}
        found.setdefault(repr(sorted(rest.items(), key=lambda pair: pair[0])), []).append(record)
    return list(found.values())


def accuracy_table(records: Sequence[Record]) -> Table:
    """One row a record."""
    rows = tuple(row_of(record) for record in records)
    heads = (
        "activation",
        "image set",
        "epochs",
        "training images",
        "parameters",
        "test accuracy, %",
        "published",
        "seeds",
    )
    caption = (
        "Test accuracy after the last epoch, mean and deviation over the seeds. A published figure stands beside "
        "runs of the "
        "paper's length only."
    )
    return Table("accuracies", caption, heads, rows)


def row_of(record: Record) -> tuple[Cell, ...]:
    spec, own = record.spec, percents(record)
    ours = summarize(own)
    paper = published_images(spec["dataset"], spec["activation"]) if is_papers(record) else None
    shown = f"{ours.nan}/{ours.seeds} NaN" if ours.nan or ours.mean is None else f"{ours.mean:.2f}"
    shown += "" if ours.std is None or ours.nan else f" ± {ours.std:.2f}"
    images, parameters = record.results["images"]["train"], record.results["parameters"]
    return (
        Cell(title_of(spec["activation"])),
        Cell(TITLES.get(spec["dataset"], spec["dataset"]), sort=spec["dataset"]),
        Cell(str(spec["epochs"]), sort=spec["epochs"]),
        Cell(f"{images:,}", sort=images),
        Cell(f"{parameters:,}", sort=parameters),
        Cell(shown, sort=ours.mean),
        Cell(
            "" if paper is None else f"{paper.mean:.2f} ± {paper.std:.2f}", sort=None if paper is None else paper.mean
        ),
        Cell(", ".join("NaN" if value is None else f"{value:.2f}" for value in own)),
    )


def percents(record: Record) -> list[float | None]:
    found = [seed["accuracy"] for seed in record.results["seeds"]]
    return [None if value is None else 100 * value for value in found]


def parity(records: Sequence[Record]) -> tuple[str, ...]:
    """A sentence for each image set that both activations learned: the difference and its p-value."""
    sentences = []
    for group in groups(records):
        both = {record.spec["activation"]: [v for v in percents(record) if v is not None] for record in group}
        if not (both.get(CONTROL) and both.get(SUBJECT)):
            continue
        spec = group[0].spec
        difference = sum(both[SUBJECT]) / len(both[SUBJECT]) - sum(both[CONTROL]) / len(both[CONTROL])
        printed = P_VALUES.get(spec["dataset"])
        told = f" (published: {printed})" if printed is not None and is_papers(group[0]) else ""
        sentences.append(
            f"{TITLES.get(spec['dataset'], spec['dataset'])}, {spec['epochs']} epochs: CL-extrapolate is "
            f"{abs(difference):.2f} points "
            f"{'above' if difference > 0 else 'below'} ReLU; Kruskal-Wallis p = "
            f"{kruskal(both[SUBJECT], both[CONTROL])}{told}, "
            f"of {len(both[SUBJECT])} and {len(both[CONTROL])} seeds."
        )
    return tuple(sentences)


def kruskal(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """The p-value of the test that the paper uses, or a dash where all numbers are alike."""
    from scipy import stats

    if len({*ours, *theirs}) < 2:
        return "-"
    return f"{float(stats.kruskal(ours, theirs).pvalue):.2f}"


def pictures(group: Sequence[Record], name: str) -> list[Block]:
    """Curves of a group of records, then the units of each."""
    spec = group[0].spec
    place = f"{TITLES.get(spec['dataset'], spec['dataset'])}, {spec['epochs']} epochs"
    part = "" if spec.get("subset") is None else f" on {spec['subset']:,} images"
    panels = tuple(accuracy_panel(group, what, f"{name}-{what}") for what in ("test_accuracy", "train_loss"))
    caption = f"{place}{part}: test accuracy and training loss, a line a seed."
    blocks: list[Block] = [Picture(f"{name}-curves", caption, panels, ACCURACY_KEYS)]
    for record in sorted(group, key=lambda record: record.spec["activation"]):
        blocks += unit_pictures(record, f"{place}{part}", f"{name}-{record.spec['activation']}")
    return blocks


def unit_pictures(record: Record, place: str, name: str) -> list[Block]:
    """The paper's histograms: the first units at the 6th and 13th convolution; for learned ones also the start."""
    title, captures = title_of(record.spec["activation"]), record.results["captures"]
    if not captures["after"]:
        return [Missing(f"{title}, {place}: the units were not captured, since the first seed turned NaN.")]
    panels = tuple(shape_panel(shape, f"{name}-{index}") for index, shape in enumerate(unit_shapes(record)))
    caption = (
        f"{place}, {title}: the first units before the 6th and the 13th convolution after training, with the inputs "
        "that 500 test images send there, from the least to the greatest."
    )
    blocks: list[Block] = [Picture(f"{name}-units", caption, panels, SHAPE_KEYS)]
    pairs = before_after_shapes(record)
    if pairs:
        drawn = tuple(shape_panel(shape, f"{name}-ba-{index}") for index, shape in enumerate(pairs))
        caption = f"{place}, {title}: units 1 and 2 before the last convolution, before training and after it."
        blocks.append(
            Fold(f"Before and after training: {title}, {place}", (Picture(f"{name}-before-after", caption, drawn),))
        )
    return blocks
