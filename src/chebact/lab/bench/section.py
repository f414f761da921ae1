"""What the activations cost, from the measurements of `chebact bench ops`."""

from __future__ import annotations

from chebact.lab.bench.figures import COST_KEYS, activation_panel, degree_panel, has_degrees
from chebact.lab.bench.files import read_below
from chebact.lab.bench.machine import told
from chebact.lab.bench.page import places
from chebact.lab.page.document import Block, Commands, Missing, Picture, Section, Words
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
    blocks: list[Block] = [Words((f"Measured on {told(machine)}.",))]
    if by_degree:
        caption = (
            "Time of forward and backward of CL-extrapolate against the degree of its polynomial, as a multiple of "
            "ReLU on the same tensor. The paper's algorithm takes time that grows with the square of the degree."
        )
        blocks.append(Picture("cost-degree", caption, by_degree, COST_KEYS))
    caption = "The same for every activation that was measured, the fastest first."
    blocks.append(Picture("cost-beside", caption, beside))
    blocks += [Words(("To measure it on this machine:",)), Commands((COMMAND,))]
    return [Section("cost", title, tuple(blocks))]
