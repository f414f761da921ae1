"""The image experiment on the page: curves, what single units learn, and accuracies beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chebact.lab.images.published import EPOCHS
from chebact.lab.images.record import ImageRecord
from chebact.lab.images.rerun import image_commands
from chebact.lab.images.rows import ImageRow, rows_of
from chebact.lab.images.section_pictures import curve_pictures, describe_inputs, unit_blocks
from chebact.lab.images.sets import IMAGE_DATASETS
from chebact.lab.images.spec import CONTROL
from chebact.lab.images.tables import activation_title, count_epochs, is_comparable, set_title, sheet_of
from chebact.lab.page.document import Block, Commands, Finding, Fold, Missing, Section, Words
from chebact.lab.page.networks import network_picture
from chebact.lab.page.results import Results
from chebact.lab.page.sheet import Cell, Head, Sheet
from chebact.lab.starts import start_words

__all__ = ["sections"]

SUBJECT = "cl-extrapolate"
PAPER = ("mnist", "cifar10")
NETWORK = (
    "The network. σ is the activation that is compared; + adds a shortcut. A shortcut that changes the shape is ReLU, "
    "two 1×1 convolutions and batch norm."
)
LEAD = (
    "A residual network of 14 layers with ReLU, and the same with CL-extrapolate in its last eight convolutions. "
    "The paper finds no difference here."
)


def sections(results: Results) -> list[Section]:
    """What the image records show; the sets of the paper that are missing are named."""
    records = results.typed(ImageRecord)
    rows = rows_of(records)
    blocks: list[Block] = [*curve_pictures(records), *unit_blocks(records)]
    blocks += [accuracy_sheet(rows), Words(parity_sentences(rows))] if rows else []
    blocks += [block for name in PAPER for block in missing_runs(rows, name)]
    blocks.append(Fold("The network", (network_picture("images", NETWORK),)))
    if records:
        lines = (*image_commands(record.spec for record in records), "chebact report images")
        blocks.append(Fold("How to run it again", (Words(("Finished parts are skipped.",)), Commands(lines))))
    finding, shows = find_difference(rows), describe_inputs(records)
    return [Section("images", "Images", tuple(blocks), LEAD, finding=finding, shows=shows)]


def missing_runs(rows: Sequence[ImageRow], dataset: str) -> list[Missing]:
    """What the paper has of a set and the records do not."""
    found = {row.activation for row in rows if row.dataset == dataset and (row.epochs, row.subset) == (EPOCHS, None)}
    missing = [name for name in (CONTROL, SUBJECT) if name not in found]
    if not missing:
        return []
    who = "" if len(missing) == 2 else f"{activation_title(missing[0])} on "
    sentence = f"{who}{IMAGE_DATASETS[dataset].title} with the paper's {EPOCHS} epochs on all images: not run yet."
    return [Missing(sentence, f"chebact run images --datasets {dataset}")]


def accuracy_sheet(rows: Sequence[ImageRow]) -> Sheet:
    """One row per record, with its seeds and parameters."""
    sheet = sheet_of(rows)
    tones = " Coloured: the difference in published standard deviations." if sheet.toned else ""
    more = [(seeds_cell(row), Cell(f"{row.parameters:,}", row.parameters)) for row in rows]
    return replace(
        sheet,
        caption=sheet.caption + tones,
        heads=(*sheet.heads, Head("every seed, %", right=True), Head("parameters", right=True)),
        rows=tuple((*cells, *extra) for cells, extra in zip(sheet.rows, more, strict=True)),
    )


def seeds_cell(row: ImageRow) -> Cell:
    return Cell(", ".join("NaN" if value is None else f"{value:.2f}" for value in row.accuracies), row.mean)


def differences(rows: Sequence[ImageRow]) -> list[tuple[ImageRow, float]]:
    """Every row of CL-extrapolate that has a control, and how many points it is above that."""
    controls = {comparison_key(row): row for row in reversed(rows) if row.activation == CONTROL}
    pairs = [(row, controls.get(comparison_key(row))) for row in rows if row.activation == SUBJECT]
    means = [(row, row.mean, other.mean) for row, other in pairs if other is not None]
    return [(row, mean - control) for row, mean, control in means if mean is not None and control is not None]


def comparison_key(row: ImageRow) -> tuple[object, ...]:
    return row.dataset, row.epochs, row.subset, row.processes, row.training


def parity_sentences(rows: Sequence[ImageRow]) -> tuple[str, ...]:
    """A sentence for each pair of records that differ in the activation: the difference and its p-value."""
    sentences = []
    for row, difference in differences(rows):
        p = "too few seeds for a test" if row.p is None else f"Kruskal-Wallis p = {row.p:.2f}"
        side = "above" if difference > 0 else "below"
        result = f"{abs(difference):.2f} points {side} ReLU" if round(difference, 2) else "level with ReLU"
        published = f" (published: {row.paper_p:g})" if is_comparable(row) else ""
        where = f"{set_title(row)}, {count_epochs(row.epochs)}"
        sentences.append(f"{where}: {activation_title(row.activation, row.init)} is {result}; {p}{published}.")
    return tuple(sentences)


def find_difference(rows: Sequence[ImageRow]) -> Finding | None:
    """From the least to the greatest difference, and each by name."""
    pairs = differences(rows)
    if not pairs:
        return None
    ends = dict.fromkeys(signed_points(end) for end in (min(d for _, d in pairs), max(d for _, d in pairs)))
    each = ", ".join(
        f"{set_title(row)}{start_words(row.init)} {signed_points(d)} after {count_epochs(row.epochs)}"
        for row, d in pairs
    )
    comparable = all(is_comparable(row) for row, _ in pairs)
    paper = f" The paper finds parity after {EPOCHS} epochs; shorter runs are not compared with it."
    words = f"test accuracy of CL-extrapolate against ReLU: {each}.{'' if comparable else paper}"
    return Finding(f"{' to '.join(ends)} points", words)


def signed_points(difference: float) -> str:
    text = f"{difference:+.1f}"
    return "0.0" if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")
