"""What the activations cost, from the measurements of `chebact bench ops`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chebact.lab.bench.figures import COST_KEYS, activation_panel, degree_panel, has_degrees
from chebact.lab.bench.files import read_below
from chebact.lab.bench.growth import describe_growth, growth_sheets
from chebact.lab.bench.page import CURVE, format_ratio, lowest_degree
from chebact.lab.bench.rows import Row, cases_and_layouts
from chebact.lab.page.document import Block, Commands, Finding, Fold, Missing, Picture, Section, Words
from chebact.lab.page.results import Results

__all__ = ["sections"]

COMMAND = "chebact bench ops --json results/bench/ops.json"
DEGREES_COMMAND = "chebact bench degrees --json results/bench/degrees.json"


def sections(results: Results) -> list[Section]:
    """Cost against the degree, and beside other activations."""
    title, measured = "What it costs", read_below(results.folder)
    growth = growth_blocks(results)
    if measured is None:
        return [Section("cost", title, (Missing("Cost against degree: not measured yet.", COMMAND), *growth))]
    rows, machine = measured
    cases = cases_and_layouts(rows)
    by_degree = tuple(
        degree_panel(rows, case, layout, f"cost-{index}")
        for index, (case, layout) in enumerate(cases)
        if has_degrees(rows, case, layout)
    )
    beside = tuple(
        activation_panel(rows, case, layout, f"beside-{index}")
        for index, (case, layout) in enumerate(cases)
        if layout != "channels_last"
    )
    caption = (
        "Time of forward and backward of every activation, as a multiple of ReLU on the same tensor (n: the degree), "
        "fastest first."
    )
    blocks: list[Block] = [Picture("cost-beside", caption, beside)]
    if by_degree:
        caption = (
            "The same for CL-extrapolate against the degree of its polynomial. The time of the "
            "paper's algorithm grows with the square of the degree."
        )
        blocks.append(Fold("Cost against the degree", (Picture("cost-degree", caption, by_degree, COST_KEYS),)))
    blocks += growth
    again = (Words((f"Measured on {machine}.",)), Commands((COMMAND, *([DEGREES_COMMAND] if growth else []))))
    blocks.append(Fold("The machine, and how to measure on yours", again))
    lead = "Forward and backward of one activation on one tensor, without the rest of a network."
    return [Section("cost", title, tuple(blocks), lead, finding=find_cost(rows), shows=describe_sizes(rows))]


def growth_blocks(results: Results) -> list[Block]:
    """The paper's algorithms by degree in a fold, with the machine and the tensors; nothing without a record."""
    growth = read_below(results.folder, "degrees")
    if growth is None:
        return []
    sheets = (replace(sheet, caption=f"{sheet.caption}.") for sheet in growth_sheets(growth[0]))
    title = "The paper's algorithm by degree: O(n²) for values, O(n³) for slopes"
    return [Fold(title, (Words((describe_growth(*growth),)), *sheets))]


def find_cost(rows: Sequence[Row]) -> Finding | None:
    """From the cheapest to the most expensive size, and the paper's algorithm beside it."""
    ours = training_times(rows, CURVE)
    if not ours:
        return None
    theirs = training_times(rows, "paper-algorithm")
    paper = f"; the paper's own algorithm {format_range(theirs)}" if theirs else ""
    return Finding(
        f"{format_range(ours)}×", f"the time of ReLU, forward and backward, for CL-extrapolate of degree 3{paper}."
    )


def describe_sizes(rows: Sequence[Row]) -> str:
    """The most expensive and the cheapest size."""
    own = [row for row in rows if row.name == CURVE and row.degree == lowest_degree(rows)]
    if not own:
        return ""
    best, worst = min(own, key=lambda row: row.training), max(own, key=lambda row: row.training)
    return (
        f"On large tensors ({best.case}) a learned activation costs {format_ratio(best.training)} times ReLU; on small "
        f"ones ({worst.case}) {format_ratio(worst.training)} times, which is the overhead of a custom operator."
    )


def training_times(rows: Sequence[Row], name: str) -> list[float]:
    """Forward and backward at the lowest degree, at every size."""
    return [row.training for row in rows if row.name == name and row.degree in (None, lowest_degree(rows))]


def format_range(values: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(format_ratio(end) for end in (min(values), max(values))))
