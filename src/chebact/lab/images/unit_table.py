"""What the paper says of single units, beside what the captured units show: a row per claim, a column per record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chebact.lab.images.record import ImageRecord
from chebact.lab.images.sets import IMAGE_DATASETS
from chebact.lab.images.tables import activation_title, count_epochs
from chebact.lab.images.units import BIMODAL, FLAT, SKEWED, STRAIGHT, UnitMeasures, count_shapes
from chebact.lab.page.sheet import Cell, Head, Sheet, as_markdown
from chebact.lab.starts import PAPER as PAPER_HEIGHTS
from chebact.lab.starts import RELEASED

__all__ = ["unit_markdown", "unit_sheet"]

PAPER = ("mnist", "cifar10")
Measured = Sequence[UnitMeasures]


@dataclass(frozen=True)
class Claim:
    """A claim: what is measured, the words of the paper, and the measures of the units of one convolution as text."""

    name: str
    words: str
    show: Callable[[Measured], str]


def between(values: Sequence[float], form: str = "{:.1f}") -> str:
    """The least and the greatest value."""
    return " to ".join(dict.fromkeys(form.format(value).replace("-", "\N{MINUS SIGN}") for value in span(values)))


def span(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def count(marks: Sequence[bool]) -> str:
    return f"{sum(marks)} of {len(marks)}"


CLAIMS = (
    Claim(
        "farther end of the inputs",
        "±10 to ±30 in shallow layers, around ±5 in deeper ones; consistent between the two activations",
        lambda units: between([unit.reach for unit in units]),
    ),
    Claim(
        "mean of the inputs",
        "centered close to the origin for the majority",
        lambda units: between([unit.mean for unit in units], "{:.2f}"),
    ),
    Claim(
        "bell: one mode, little skewness",
        "bell-shaped for the majority",
        lambda units: count([unit.is_bell for unit in units]),
    ),
    Claim("skewness", "", lambda units: between([unit.skewness for unit in units])),
    Claim(
        "two modes by the dip",
        "a minority of CL-extrapolate inputs",
        lambda units: count([unit.dip >= BIMODAL for unit in units]),
    ),
    Claim(
        "densest part in [-1, 1]",
        "still within the polynomial region",
        lambda units: count([unit.has_mode_inside for unit in units]),
    ),
    Claim(
        "inputs in [-1, 1]",
        "greater use of the polynomial region in deeper layers",
        lambda units: between([1 - unit.unit.inputs.outside for unit in units], "{:.0%}"),
    ),
    Claim(
        "outputs that two lines explain",
        "shapes that emphasize piece-wise linearity in shallow layers, smoother outputs in deeper ones",
        lambda units: between([unit.two_lines[0] for unit in units], "{:.0%}"),
    ),
    Claim("shape", "V-shape or PReLU in shallow layers", count_shapes),
    Claim(
        "weaker side of zero",
        "ReLU: one-sided variance; CL-extrapolate: one or two-sided",
        lambda units: between([unit.weaker_side for unit in units], "{:.0%}"),
    ),
)
NOTES = (
    "Farther end: of the range of a unit, from the least to the greatest of the units.",
    f"Bell: Hartigan's dip is below {BIMODAL}, the 5 % point for 500 independent numbers (there are 500 images, and "
    f"the pixels of one are not independent), and the skewness is within ±{SKEWED:g}. Two modes: the dip is not below "
    "that. Modes that share one of the 60 bins are not told apart.",
    "Two lines meet anywhere; explained is the share of the variance of the outputs. V: their slopes have opposite "
    f"signs; PReLU: the same sign; ReLU: one is flat, at most {FLAT:.0%} of the other; curved: they explain less than "
    f"{STRAIGHT:.0%}.",
    "Weaker side: of the mean square of the outputs about the one at zero, the share of the side of zero with less.",
)


def unit_sheet(records: Sequence[ImageRecord]) -> Sheet | None:
    """The claims beside the records of the paper's sets, with all images and the usual weights, that have captures;
    None where there are none.
    """
    found = sorted((record for record in records if is_shown(record)), key=column_order)
    if not found:
        return None
    measured = [by_convolution(record) for record in found]
    heads = (Head("measured"), Head("the paper's words"), *(Head(column_title(record)) for record in found))
    rows = [
        (Cell(claim.name), Cell(claim.words or "-"), *(claim_cell(claim, parts) for parts in measured))
        for claim in CLAIMS
    ]
    return Sheet("units", caption(measured[0]), heads, tuple(rows), notes=NOTES)


def caption(parts: dict[int, Measured]) -> str:
    """What the cells are of."""
    first, *others = parts
    deeper = "".join(f", then in brackets or smaller before convolution {number}" for number in others)
    return (
        "What units see and learn, measured after training on the captured histograms and shapes of the first units "
        f"of the first seed: before convolution {first}{deeper}."
    )


def is_shown(record: ImageRecord) -> bool:
    spec = record.spec
    usual = spec.dataset in PAPER and (spec.subset, spec.start) == (None, RELEASED)
    return usual and bool(record.results.captures.after)


def column_order(record: ImageRecord) -> tuple[str, bool, int]:
    """Sets together, the paper's start before others, short trainings first."""
    return record.spec.dataset, record.spec.init != PAPER_HEIGHTS, record.spec.epochs


def column_title(record: ImageRecord) -> str:
    spec = record.spec
    name = activation_title(spec.activation, spec.init)
    return f"{IMAGE_DATASETS[spec.dataset].title}, {count_epochs(spec.epochs)}: {name}"


def by_convolution(record: ImageRecord) -> dict[int, Measured]:
    """The measures of the captured units after training, by the number of the convolution."""
    parts: dict[int, list[UnitMeasures]] = {}
    for unit in record.results.captures.after:
        parts.setdefault(unit.convolution, []).append(UnitMeasures(unit))
    return dict(sorted(parts.items()))


def claim_cell(claim: Claim, parts: dict[int, Measured]) -> Cell:
    first, *others = (claim.show(units) for units in parts.values())
    return Cell(first, first, below=", ".join(others))


def unit_markdown(sheet: Sheet) -> str:
    """The table as Markdown, with its caption and notes."""
    notes = "\n".join(f"- {note}" for note in sheet.notes)
    return f"{sheet.caption}\n\n{as_markdown(sheet)}\n\n{notes}\n"
