"""The studies, one row each.

A row is all that a new study needs: the commands, the table, the picture, the page and the tests find it here. Its
paragraph is a function in `paragraphs`; without one the least error of every line is said.
"""

from __future__ import annotations

from dataclasses import replace

from chebact.lab.studies.lines import (
    degree_axis,
    equal_parameters,
    equal_steps,
    learned_lines,
    noise_lines,
    reference_lines,
)
from chebact.lab.studies.plan import Axis, Panel, Study, vary

__all__ = ["STUDIES"]

LEARNED, REFERENCES, LEVELS = learned_lines(), reference_lines(), reference_lines(level=True)
EQUAL_LEVELS = tuple(replace(line, settings=equal_parameters(line.settings)) for line in LEVELS)
NOISES = noise_lines()

ROWS = (
    Study(
        "degree",
        "The degree",
        "Which degree should the polynomials have?",
        (
            Panel(degree_axis(equal=False), (*LEARNED, *LEVELS), "width", "equal width"),
            Panel(degree_axis(equal=True), (*LEARNED, *EQUAL_LEVELS), "parameters", "equal parameters"),
        ),
    ),
    Study(
        "points",
        "The number of points",
        "How does the error fall with more data?",
        (
            Panel(
                Axis("training points", (50, 100, 200, 1000, 5000, 20_000), equal_steps, "log"),
                (*LEARNED, *REFERENCES),
            ),
        ),
    ),
    Study(
        "noise",
        "The noise",
        "How does noise on the targets degrade the error?",
        (
            Panel(
                vary("noise", "deviation of the noise", 0.0, 0.01, 0.02, 0.04, 0.1, 0.2, scale="log"),
                (*LEARNED, *REFERENCES),
            ),
        ),
    ),
    Study(
        "size",
        "Width and depth",
        "Does a larger network help?",
        (
            Panel(vary("width", "width", 4, 8, 16, 32, 64, scale="log"), (*LEARNED, *REFERENCES), "width", "3 blocks"),
            Panel(vary("blocks", "residual blocks", 1, 3, 6), (*LEARNED, *REFERENCES), "depth", "width 32"),
        ),
    ),
    Study(
        "interval",
        "The interval",
        "How far should the nodes reach?",
        (
            Panel(
                vary("interval", "half-length a of the interval [-a, a]", 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, scale="log"),
                (*LEARNED, *LEVELS),
            ),
        ),
    ),
    Study(
        "tails",
        "The tails",
        "What do the straight tails do, in the range of the data and beyond it?",
        (Panel(vary("tails", "tails", "extrapolate", "regression", "none", scale="words"), (*LEARNED, *LEVELS)),),
        keep="tails",
        drawing="tails",
    ),
    Study(
        "regularisation",
        "Regularisation",
        "Which regularisation slows the degradation by noise?",
        (
            Panel(
                vary("weight_decay", "weight decay", 1e-6, 1e-5, 1e-4, 3e-4, 1e-3, scale="log"),
                NOISES,
                "decay",
                "weight decay",
            ),
            Panel(
                vary("curvature", "weight of the curvature penalty", 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, scale="log"),
                NOISES,
                "curvature",
                "curvature penalty",
            ),
        ),
    ),
    Study(
        "shapes",
        "The learned shapes",
        "Which activations do the channels end up with?",
        (Panel(vary("degree", ""), learned_lines(level=True)),),
        keep="shapes",
        drawing="shapes",
    ),
)
STUDIES: dict[str, Study] = {row.name: row for row in ROWS}
"""The table by name."""
