"""The image experiments on the page: accuracies beside the published ones, curves, and what single units do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chebact.lab.images.figures import before_after_shapes, curve_panel, groups, unit_shapes
from chebact.lab.images.published import EPOCHS
from chebact.lab.images.rerun import image_commands
from chebact.lab.images.rows import ImageRow, rows_of
from chebact.lab.images.sets import IMAGE_DATASETS
from chebact.lab.images.tables import is_comparable, label_of, place_of, sheet_of, title_of
from chebact.lab.page.colours import model_keys
from chebact.lab.page.document import Block, Commands, Missing, Picture, Section, Words
from chebact.lab.page.learned import SHAPE_KEYS, shape_panel
from chebact.lab.page.networks import network_picture
from chebact.lab.page.results import Results
from chebact.lab.page.sheet import Cell, Head, Sheet
from chebact.lab.store import Record

__all__ = ["sections"]

CONTROL, SUBJECT = "relu", "cl-extrapolate"
PAPER = ("mnist", "cifar10")
SMALL = (206, 160)  # five units of a convolution in a row


NETWORK = (
    "The network. σ is the activation that is compared; + adds a shortcut. A shortcut that changes the shape is ReLU, "
    "two 1×1 convolutions and batch norm."
)


def sections(results: Results) -> list[Section]:
    """What the image records show; the paper's own sets that are missing are named."""
    records = results.of("images")
    title = "Images"
    blocks: list[Block] = []
    if records:
        rows = rows_of(records)
        blocks += [accuracy_sheet(rows), Words(parity(rows))]
    blocks += [block for name in PAPER for block in missing(records, name)]
    for index, group in enumerate(groups(records)):
        blocks += pictures(group, f"im-{index}")
    blocks.append(network_picture("images", NETWORK))
    if records:
        blocks.append(Words(("To run it again:",)))
        blocks.append(Commands((*image_commands(records), "chebact report images")))
    lead = (
        "A residual network of 14 layers with ReLU, and the same with CL-extrapolate in its last eight convolutions. "
        "The paper finds no difference here."
    )
    return [Section("images", title, tuple(blocks), lead)]


def missing(records: Sequence[Record], dataset: str) -> list[Missing]:
    """What the paper has of a set and the records do not."""
    there = {record.spec["activation"] for record in records if is_papers(record) and record.spec["dataset"] == dataset}
    lost = [name for name in (CONTROL, SUBJECT) if name not in there]
    if not lost:
        return []
    who = "" if len(lost) == 2 else f"{title_of(lost[0])} on "
    sentence = f"{who}{IMAGE_DATASETS[dataset].title} with the paper's {EPOCHS} epochs on all images: not run yet."
    return [Missing(sentence, f"chebact run images --dataset {dataset}")]


def is_papers(record: Record) -> bool:
    """Whether a record was trained as long and on as much as the published runs."""
    return record.spec["epochs"] == EPOCHS and record.spec["subset"] is None


def accuracy_sheet(rows: Sequence[ImageRow]) -> Sheet:
    """One row per record, with its seeds and parameters."""
    sheet = sheet_of(rows)
    more = tuple((seeds_cell(row), Cell(f"{row.parameters:,}", row.parameters)) for row in rows)
    apart = f" Runs of {EPOCHS} epochs on all images: the distance in published deviations." if sheet.toned else ""
    return replace(
        sheet,
        caption=sheet.caption + apart,
        heads=(*sheet.heads, Head("the seeds, %"), Head("parameters")),
        rows=tuple((*own, *extra) for own, extra in zip(sheet.rows, more, strict=True)),
    )


def seeds_cell(row: ImageRow) -> Cell:
    return Cell(", ".join("NaN" if value is None else f"{value:.2f}" for value in row.accuracies), row.mean)


def parity(rows: Sequence[ImageRow]) -> tuple[str, ...]:
    """A sentence for each pair of records that differ in the activation: the difference and its p-value."""
    sentences = []
    for row in rows:
        control = next((other for other in rows if other.activation == CONTROL and alike(other, row)), None)
        if row.activation != SUBJECT or control is None or row.mean is None or control.mean is None:
            continue
        difference = row.mean - control.mean
        p = "too few seeds for a test" if row.p is None else f"Kruskal-Wallis p = {row.p:.2f}"
        side = "above" if difference > 0 else "below"
        found = f"{abs(difference):.2f} points {side} ReLU" if round(difference, 2) else "level with ReLU"
        published = f" (published: {row.paper_p:g})" if is_comparable(row) else ""
        sentences.append(f"{place_of(row)}, {epochs_of(row.epochs)}: {label_of(row)} is {found}; {p}{published}.")
    return tuple(sentences)


def alike(one: ImageRow, other: ImageRow) -> bool:
    names = ("dataset", "epochs", "subset", "processes", "training")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def pictures(group: Sequence[Record], name: str) -> list[Block]:
    """Curves of a group of records, then the units of each."""
    spec = group[0].spec
    place = f"{IMAGE_DATASETS[spec['dataset']].title}, {epochs_of(spec['epochs'])}"
    part = "" if spec.get("subset") is None else f" on {spec['subset']:,} images"
    panels = tuple(curve_panel(group, what, f"{name}-{what}") for what in ("test_accuracy", "train_loss"))
    caption = f"{place}{part}: test accuracy and training loss, a line a seed."
    titles = {name: title_of(name) for name in dict.fromkeys(record.spec["activation"] for record in group)}
    blocks: list[Block] = [Picture(f"{name}-curves", caption, panels, model_keys(titles))]
    for number, record in enumerate(sorted(group, key=lambda record: str(record.spec["activation"]))):
        blocks += unit_pictures(record, f"{place}{part}", f"{name}-{number}")
    return blocks


def epochs_of(count: int) -> str:
    return "1 epoch" if count == 1 else f"{count} epochs"


def unit_pictures(record: Record, place: str, name: str) -> list[Block]:
    """The paper's histograms: the first units at the 6th and 13th convolution; for learned ones also the start."""
    title, captures = title_of(record.spec["activation"]), record.results["captures"]
    if not captures["after"]:
        return [Missing(f"{title}, {place}: the units were not captured, since the first seed turned NaN.")]
    shapes = unit_shapes(record)
    panels = tuple(shape_panel(shape, f"{name}-{index}", size=SMALL) for index, shape in enumerate(shapes))
    keys = SHAPE_KEYS if any(shape.values is not None for shape in shapes) else (SHAPE_KEYS[0], SHAPE_KEYS[2])
    caption = (
        f"{place}, {title}: the first units before the 6th and the 13th convolution after training, with the inputs "
        "that 500 test images send there, from the least to the greatest."
    )
    blocks: list[Block] = [Picture(f"{name}-units", caption, panels, keys)]
    pairs = before_after_shapes(record)
    if pairs:
        drawn = tuple(shape_panel(shape, f"{name}-ba-{index}") for index, shape in enumerate(pairs))
        caption = (
            f"{place}, {title}: units 1 and 2 before the last convolution, before training (the first two) and after "
            "it (the next two), which is the paper's first figure."
        )
        blocks.append(Picture(f"{name}-before-after", caption, drawn, SHAPE_KEYS))
    return blocks
