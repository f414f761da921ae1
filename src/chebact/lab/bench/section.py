"""What the activations cost, from the measurements of `chebact bench ops`."""

from __future__ import annotations

from collections.abc import Sequence

from chebact.lab.bench.figures import COST_KEYS, CURVE, activation_panel, degree_panel, has_degrees, lowest_degree
from chebact.lab.bench.files import read_below
from chebact.lab.bench.machine import told
from chebact.lab.bench.ops import Row
from chebact.lab.bench.page import number, places
from chebact.lab.page.document import Block, Commands, Finding, Fold, Missing, Picture, Section, Words
from chebact.lab.page.results import Results

__all__ = ["sections"]

COMMAND = "chebact bench ops --json results/bench/ops.json"


def sections(results: Results) -> list[Section]:
    """Cost against degree, and beside other activations."""
    title, measured = "What it costs", read_below(results.folder)
    if measured is None:
        return [Section("cost", title, (Missing("Cost against degree: not measured yet.", COMMAND),))]
    rows, machine = measured
    cases = places(rows)
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
            "The same for CL-extrapolate against the degree of its polynomial. The paper's algorithm takes time that "
            "grows with the square of the degree."
        )
        blocks.append(Fold("Cost against the degree", (Picture("cost-degree", caption, by_degree, COST_KEYS),)))
    again = (Words((f"Measured on {told(machine)}.",)), Commands((COMMAND,)))
    blocks.append(Fold("The machine, and how to measure on yours", again))
    lead = "Forward and backward of one activation on one tensor, without the rest of a network."
    return [Section("cost", title, tuple(blocks), lead, finding=finding_of(rows), shows=shown_by(rows))]


def finding_of(rows: Sequence[Row]) -> Finding | None:
    """From the cheapest to the dearest size, and the paper's algorithm beside it."""
    ours = times(rows, CURVE)
    if not ours:
        return None
    theirs = times(rows, "paper-algorithm")
    paper = f"; the paper's own algorithm {span(theirs)}" if theirs else ""
    return Finding(f"{span(ours)}×", f"the time of ReLU, forward and backward, for CL-extrapolate of degree 3{paper}.")


def shown_by(rows: Sequence[Row]) -> str:
    """The dearest and the cheapest sizes."""
    own = [row for row in rows if row.name == CURVE and row.degree == lowest_degree(rows)]
    if not own:
        return ""
    best, worst = min(own, key=lambda row: row.training), max(own, key=lambda row: row.training)
    return (
        f"On large tensors ({best.case}) a learned activation costs {number(best.training)} times ReLU; on small ones "
        f"({worst.case}) {number(worst.training)} times, which is the overhead of a custom operator."
    )


def times(rows: Sequence[Row], name: str) -> list[float]:
    """Forward and backward at the lowest degree, at every size."""
    return [row.training for row in rows if row.name == name and row.degree in (None, lowest_degree(rows))]


def span(values: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(number(end) for end in (min(values), max(values))))
