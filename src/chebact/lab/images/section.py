"""The image experiments on the page: curves, what single units learn, and accuracies beside the published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from chebact.lab.captures import inputs_of
from chebact.lab.images.figures import curve_panel, groups, shape_of, unit_shapes
from chebact.lab.images.published import EPOCHS
from chebact.lab.images.rerun import image_commands
from chebact.lab.images.rows import ImageRow, rows_of
from chebact.lab.images.sets import IMAGE_DATASETS
from chebact.lab.images.tables import is_comparable, label_of, place_of, sheet_of, title_of
from chebact.lab.page.colours import model_keys
from chebact.lab.page.document import Block, Commands, Finding, Fold, Missing, Panel, Picture, Section, Words
from chebact.lab.page.learned import SHAPE_KEYS, shape_panel
from chebact.lab.page.networks import network_picture
from chebact.lab.page.results import Results
from chebact.lab.page.sheet import Cell, Head, Sheet
from chebact.lab.store import Record

__all__ = ["sections"]

CONTROL, SUBJECT = "relu", "cl-extrapolate"
PAPER = ("mnist", "cifar10")
UNIT = (258, 178)
NETWORK = (
    "The network. σ is the activation that is compared; + adds a shortcut. A shortcut that changes the shape is ReLU, "
    "two 1×1 convolutions and batch norm."
)


def sections(results: Results) -> list[Section]:
    """What the image records show; the paper's own sets that are missing are named."""
    records = results.records_of("images")
    rows = rows_of(records)
    blocks: list[Block] = [*curves(records), *learned(records)]
    blocks += [accuracy_sheet(rows), Words(parity(rows))] if rows else []
    blocks += [block for name in PAPER for block in missing(rows, name)]
    blocks.append(Fold("The network", (network_picture("images", NETWORK),)))
    if records:
        lines = (*image_commands(records), "chebact report images")
        blocks.append(Fold("How to run it again", (Words(("Finished parts are skipped.",)), Commands(lines))))
    lead = (
        "A residual network of 14 layers with ReLU, and the same with CL-extrapolate in its last eight convolutions. "
        "The paper finds no difference here."
    )
    finding, shows = finding_of(rows), shown_by(records)
    return [Section("images", "Images", tuple(blocks), lead, finding=finding, shows=shows)]


def missing(rows: Sequence[ImageRow], dataset: str) -> list[Missing]:
    """What the paper has of a set and the records do not."""
    there = {row.activation for row in rows if row.dataset == dataset and (row.epochs, row.subset) == (EPOCHS, None)}
    lost = [name for name in (CONTROL, SUBJECT) if name not in there]
    if not lost:
        return []
    who = "" if len(lost) == 2 else f"{title_of(lost[0])} on "
    sentence = f"{who}{IMAGE_DATASETS[dataset].title} with the paper's {EPOCHS} epochs on all images: not run yet."
    return [Missing(sentence, f"chebact run images --datasets {dataset}")]


def accuracy_sheet(rows: Sequence[ImageRow]) -> Sheet:
    """One row per record, with its seeds and parameters."""
    sheet = sheet_of(rows)
    more = tuple((seeds_cell(row), Cell(f"{row.parameters:,}", row.parameters)) for row in rows)
    apart = " Coloured: the difference in published standard deviations." if sheet.toned else ""
    return replace(
        sheet,
        caption=sheet.caption + apart,
        heads=(*sheet.heads, Head("every seed, %", right=True), Head("parameters", right=True)),
        rows=tuple((*own, *extra) for own, extra in zip(sheet.rows, more, strict=True)),
    )


def seeds_cell(row: ImageRow) -> Cell:
    return Cell(", ".join("NaN" if value is None else f"{value:.2f}" for value in row.accuracies), row.mean)


def pairs_of(rows: Sequence[ImageRow]) -> list[tuple[ImageRow, float]]:
    """Every row of CL-extrapolate with a like one of ReLU, and how many points it is above that."""
    found = []
    for row in rows:
        control = next((other for other in rows if other.activation == CONTROL and alike(other, row)), None)
        if row.activation == SUBJECT and control is not None and row.mean is not None and control.mean is not None:
            found.append((row, row.mean - control.mean))
    return found


def alike(one: ImageRow, other: ImageRow) -> bool:
    names = ("dataset", "epochs", "subset", "processes", "training")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def parity(rows: Sequence[ImageRow]) -> tuple[str, ...]:
    """A sentence for each pair of records that differ in the activation: the difference and its p-value."""
    sentences = []
    for row, difference in pairs_of(rows):
        p = "too few seeds for a test" if row.p is None else f"Kruskal-Wallis p = {row.p:.2f}"
        side = "above" if difference > 0 else "below"
        found = f"{abs(difference):.2f} points {side} ReLU" if round(difference, 2) else "level with ReLU"
        published = f" (published: {row.paper_p:g})" if is_comparable(row) else ""
        sentences.append(f"{place_of(row)}, {epochs_of(row.epochs)}: {label_of(row)} is {found}; {p}{published}.")
    return tuple(sentences)


def finding_of(rows: Sequence[ImageRow]) -> Finding | None:
    """From the least to the greatest difference, and each by name."""
    pairs = pairs_of(rows)
    if not pairs:
        return None
    ends = dict.fromkeys(points(end) for end in (min(d for _, d in pairs), max(d for _, d in pairs)))
    each = ", ".join(f"{place_of(row)} {points(d)} after {epochs_of(row.epochs)}" for row, d in pairs)
    like = all(is_comparable(row) for row, _ in pairs)
    paper = "" if like else f" The paper finds parity after {EPOCHS} epochs; shorter runs are not compared with it."
    return Finding(f"{' to '.join(ends)} points", f"test accuracy of CL-extrapolate against ReLU: {each}.{paper}")


def points(difference: float) -> str:
    text = f"{difference:+.1f}"
    return "0.0" if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")


def shown_by(records: Sequence[Record]) -> str:
    """Where the inputs of the learned activations lie, from the captured units."""
    shares = []
    for record in records:
        entries = [entry for entry in record.results["captures"]["after"] if entry["values"] is not None]
        first = min((entry["convolution"] for entry in entries), default=0)
        outside = [inputs_of(entry).outside for entry in entries if entry["convolution"] == first]
        if outside:
            title = IMAGE_DATASETS[record.spec["dataset"]].title
            shares.append(f"{title}: {min(outside):.0%} to {max(outside):.0%} before convolution {first}")
    if not shares:
        return ""
    return (
        "After training many inputs of the learned activations lie outside [-1, 1], where the curves are straight "
        f"lines ({'; '.join(shares)}): the tails do much of the work."
    )


def epochs_of(count: int) -> str:
    return "1 epoch" if count == 1 else f"{count} epochs"


def place_in(record: Record) -> str:
    """Set, epochs and part of the images of a record."""
    spec = record.spec
    part = "" if spec.get("subset") is None else f", {spec['subset']:,} images"
    return f"{IMAGE_DATASETS[spec['dataset']].title}, {epochs_of(spec['epochs'])}{part}"


def curves(records: Sequence[Record]) -> list[Block]:
    """Accuracy and loss by epoch of every group of like records."""
    own = groups(records)
    panels = tuple(
        curve_panel(group, what, place_in(group[0]), f"im-{index}-{what}".replace("_", "-"))
        for what in ("test_accuracy", "train_loss")
        for index, group in enumerate(own)
    )
    titles = {model: title_of(model) for model in dict.fromkeys(record.spec["activation"] for record in records)}
    caption = "Test accuracy and training loss by epoch, one line per seed."
    return [Picture("im-curves", caption, panels, model_keys(titles))] if panels else []


def learned(records: Sequence[Record]) -> list[Block]:
    """The paper's first figure for every set, and all captured units in folds; what was not captured is said."""
    blocks: list[Block] = []
    captured = [record for record in records if record.results["captures"]["after"]]
    own = [record for record in captured if learns(record)]
    if own:
        caption = (
            "Units before the last captured convolution after training, two per set. Before training every learned "
            "unit is zero, and ReLU is the same everywhere, so each has one panel. Bars: the inputs that 500 test "
            "images send there."
        )
        plain = [record for record in captured if not learns(record)]
        panels = tuple(before_and_after(own, plain))
        blocks.append(Picture("im-before-after", caption, panels, SHAPE_KEYS))
        blocks.append(Fold("All captured units", tuple(unit_picture(each, f"im-{i}") for i, each in enumerate(own))))
    for record in records:
        if record not in captured:
            title = title_of(record.spec["activation"])
            why = "the units were not captured, since the first seed diverged"
            blocks.append(Missing(f"{title}, {place_in(record)}: {why}."))
    return blocks


def learns(record: Record) -> bool:
    """Whether its captured units have learned heights."""
    return any(entry["values"] is not None for entry in record.results["captures"]["before"])


def last_units(record: Record, when: str) -> list[Mapping[str, Any]]:
    """The captured units before the last of the captured convolutions."""
    entries = record.results["captures"][when]
    last = max(entry["convolution"] for entry in entries)
    return [entry for entry in entries if entry["convolution"] == last]


def before_and_after(own: Sequence[Record], plain: Sequence[Record]) -> list[Panel]:
    """One unit before training, one of an activation that does not learn, and two of every record after training."""
    shapes = [shape_of(last_units(own[0], "before")[0], own[0].spec, "before: every unit")]
    shapes += [
        shape_of(last_units(each, "after")[0], each.spec, f"{title_of(each.spec['activation'])}: every unit")
        for each in plain[:1]
    ]
    for record in own:
        title = IMAGE_DATASETS[record.spec["dataset"]].title
        shapes += [
            shape_of(entry, record.spec, f"{title}: unit {entry['unit'] + 1}")
            for entry in last_units(record, "after")[:2]
        ]
    return [shape_panel(shape, f"im-ba-{index}") for index, shape in enumerate(shapes)]


def unit_picture(record: Record, name: str) -> Picture:
    """The captured units of a record after training."""
    panels = tuple(shape_panel(each, f"{name}-{i}", size=UNIT) for i, each in enumerate(unit_shapes(record)))
    caption = (
        f"{place_in(record)}, {title_of(record.spec['activation'])}: the first units before the 6th and the 13th "
        "convolution after training, with the inputs that 500 test images send there, from the least to the greatest."
    )
    return Picture(f"{name}-units", caption, panels, SHAPE_KEYS)
