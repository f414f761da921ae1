"""What each study says, in one paragraph with the numbers of its records.

A paragraph is a function of a reading. Its numbers come from there, and so do the words that depend on them: which of
two is lower, where the least error is, how many trainings diverged.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

from chebact.lab.studies.figures import describe_lines
from chebact.lab.studies.rows import Reading, Row
from chebact.lab.studies.shape_words import shapes_paragraph
from chebact.lab.studies.sheets import format_error as shown
from chebact.lab.studies.tails_figure import mean_outside

__all__ = ["PARAGRAPHS", "paragraph_of"]

CL, OLD_CL = "cl-recommended", "cl-published"
RELU, OLD_RELU, TANH, OLD_TANH = "relu-recommended", "relu-published", "tanh-recommended", "tanh-published"


def times(one: float, other: float) -> str:
    """A ratio in words.

    >>> times(0.03, 0.02), times(0.0204, 0.02)
    ('1.5 times', '1.02 times')
    """
    ratio = one / other
    return f"{ratio:.2g} times" if not 0.9 < ratio < 1.1 else f"{ratio:.2f} times"


def lost(reading: Reading, line: str = "") -> str:
    """How many trainings diverged, as a sentence part."""
    count, of = reading.diverged(line=line)
    return f"{count:,} of {of:,} trainings diverged" if count else f"none of {of:,} trainings diverged"


def at_best(row: Row, what: str) -> str:
    """Where a line is least."""
    return f"{what} {row.value} ({shown(row.error or 0.0)})"


def degree(reading: Reading) -> str:
    """Which degree is best, and what more costs."""
    parts = []
    for line, recipe in ((OLD_CL, "published"), (CL, "recommended")):
        wide, equal = reading.best(line, "width"), reading.best(line, "parameters")
        last = reading.row(line, 12, "parameters")
        end = (
            f"degree 12 has {times(last.error, equal.error)} that error"
            if last.error and equal.error
            else f"at degree 12 {last.diverged} of {last.trainings} trainings diverged"
        )
        parts.append(
            f"By the {recipe} recipe the error is least at {at_best(equal, 'degree')} for equal parameters and at "
            f"{at_best(wide, 'degree')} for equal width; at equal parameters {end}."
        )
    straight = reading.error(CL, 1, "parameters")
    best = reading.best(CL, "parameters")
    return (
        f"{' '.join(parts)} Degree 1 is a straight line, tails included, so the network is linear ({shown(straight)}). "
        f"ReLU has {shown(reading.error(RELU, panel='parameters'))} and tanh "
        f"{shown(reading.error(TANH, panel='parameters'))} by the recommended recipe at equal parameters, against "
        f"{shown(best.error or 0.0)} at degree {best.value}. Of all trainings {lost(reading)}."
    )


def points_for(reading: Reading, line: str, error: float) -> float | None:
    """How many points a line needs for an error, between the points of the study on straight lines of logarithms."""
    values = reading.study.panels[0].axis.values
    known = [(math.log(float(value)), math.log(reading.error(line, value))) for value in values]
    for (x0, y0), (x1, y1) in pairwise(known):
        if y1 <= math.log(error) <= y0:
            return math.exp(x0 + (x1 - x0) * (y0 - math.log(error)) / (y0 - y1))
    return None


def points(reading: Reading) -> str:
    """How the error falls with the data, and how much data the activation replaces."""
    first, *_, last = reading.study.panels[0].axis.values
    falls = {line: reading.error(line, first) / reading.error(line, last) for line in (CL, RELU, TANH)}
    enough = points_for(reading, CL, reading.error(RELU, 1000))
    saved = f" CL-extrapolate needs about {enough:.0f} points for the error that ReLU has with 1,000." if enough else ""
    few = ", ".join(
        f"{name} {shown(reading.error(line, first))}"
        for name, line in (("CL-extrapolate", CL), ("ReLU", RELU), ("tanh", TANH))
    )
    return (
        f"From {first:,} to {last:,} points the error falls by a factor of {falls[CL]:.0f} with CL-extrapolate, "
        f"{falls[RELU]:.0f} with ReLU and {falls[TANH]:.0f} with tanh, all by the recommended recipe and with as many "
        f"steps. With {first} points nothing is learned well: {few}.{saved} The published recipe has "
        f"{times(reading.error(OLD_CL, 1000), reading.error(CL, 1000))} the error of the recommended one with 1,000 "
        f"points, {times(reading.error(OLD_CL, first), reading.error(CL, first))} with {first} and "
        f"{times(reading.error(OLD_CL, last), reading.error(CL, last))} with {last:,}. Of all trainings "
        f"{lost(reading)}."
    )


def noise(reading: Reading) -> str:
    """How noise degrades each network, and where the ranking changes."""
    values = reading.study.panels[0].axis.values
    parts = []
    for ours, theirs, recipe in ((OLD_CL, OLD_RELU, "published"), (CL, RELU, "recommended")):
        ahead = [value for value in values if reading.error(ours, value) < reading.error(theirs, value)]
        where = "at every level" if len(ahead) == len(values) else f"up to noise {max(ahead, default=0.0):g}"
        parts.append(f"by the {recipe} recipe {where}")
    old, new = (reading.error(line, 0.2) / reading.error(line, 0.01) for line in (OLD_CL, CL))
    relu = reading.error(RELU, 0.2) / reading.error(RELU, 0.01)
    return (
        f"CL-extrapolate is ahead of ReLU {parts[0]} and {parts[1]}. The more a network can bend, the more it follows "
        f"the noise: from 0.01 to 0.2 the error grows {old:.1f} times by the published recipe, {new:.1f} times by the "
        f"recommended one, and {relu:.1f} times with ReLU. At noise 0.2 CL-extrapolate has "
        f"{shown(reading.error(OLD_CL, 0.2))} and {shown(reading.error(CL, 0.2))}, ReLU "
        f"{shown(reading.error(OLD_RELU, 0.2))} and {shown(reading.error(RELU, 0.2))}, tanh "
        f"{shown(reading.error(OLD_TANH, 0.2))} and {shown(reading.error(TANH, 0.2))}, by the published and the "
        f"recommended recipe. Without noise CL-extrapolate has {shown(reading.error(CL, 0.0))}, ReLU "
        f"{shown(reading.error(RELU, 0.0))}. Of all trainings {lost(reading)}."
    )


def size(reading: Reading) -> str:
    """What width and depth give."""
    wide, deep = reading.best(CL, "width"), reading.best(CL, "depth")
    small = min(
        (
            value
            for value in (4, 8, 16, 32, 64)
            if reading.error(CL, value, "width") <= reading.error(RELU, 64, "width")
        ),
        default=None,
    )
    equal = f"Width {small} with CL-extrapolate does what width 64 does with ReLU. " if small else ""
    old = reading.row(OLD_CL, 6, "depth")
    return (
        f"By the recommended recipe the error of CL-extrapolate is least at {at_best(wide, 'width')} and at "
        f"{at_best(deep, 'blocks:')}. {equal}From width 4 to 64 it falls by a factor of "
        f"{reading.error(CL, 4, 'width') / reading.error(CL, 64, 'width'):.1f}, with ReLU by "
        f"{reading.error(RELU, 4, 'width') / reading.error(RELU, 64, 'width'):.1f}. From one block to six "
        f"CL-extrapolate changes from {shown(reading.error(CL, 1, 'depth'))} to "
        f"{shown(reading.error(CL, 6, 'depth'))} by the recommended recipe; by the published one "
        f"{old.diverged} of {old.trainings} trainings with six blocks diverged. Of all trainings {lost(reading)}."
    )


def interval(reading: Reading) -> str:
    """How far the nodes should reach."""
    old, new = reading.best(OLD_CL), reading.best(CL)
    one, usual = reading.error(CL, 1.0), reading.error(OLD_CL, 1.0)
    return (
        f"The error is least with a = {old.value} by the published recipe ({shown(old.error or 0.0)}; a = 1 has "
        f"{shown(usual)}) and with a = {new.value} by the recommended one ({shown(new.error or 0.0)}; a = 1 has "
        f"{shown(one)}). At a = 0.25 the errors are {shown(reading.error(OLD_CL, 0.25))} and "
        f"{shown(reading.error(CL, 0.25))}, at a = 8 {ends_in(reading.row(OLD_CL, 8.0))} and "
        f"{ends_in(reading.row(CL, 8.0))}. A short interval leaves most inputs to the straight tails, a long one "
        f"spreads the nodes to where no input is. Of all trainings {lost(reading)}."
    )


def ends_in(row: Row) -> str:
    """The error of a row, or how many diverged where it has none."""
    return shown(row.error) if row.error is not None else f"no number ({row.diverged} of {row.trainings} diverged)"


def tails(reading: Reading) -> str:
    """What tails do in range and beyond."""
    old, new = (reading.row(line, "extrapolate") for line in (OLD_CL, CL))
    bare = reading.row(OLD_CL, "none")
    far = {value: reading.row(CL, value).beyond or 0.0 for value in ("extrapolate", "regression", "none")}
    shares = {line: mean_outside(reading, line, "extrapolate") for line in (OLD_CL, CL)}
    before, after = (100 * sum(pair[index] for pair in shares[CL]) / len(shares[CL]) for index in (0, 1))
    was, became = (100 * sum(pair[index] for pair in shares[OLD_CL]) / len(shares[OLD_CL]) for index in (0, 1))
    return (
        f"Without tails {bare.diverged} of {bare.trainings} trainings diverged by the published recipe, with "
        f"extrapolated ones {old.diverged}. Extrapolated tails have the least error in the range of the data "
        f"({shown(new.error or 0.0)} by the recommended recipe, regression {shown(reading.error(CL, 'regression'))}, "
        f"none {shown(reading.error(CL, 'none'))}). Up to a quarter beyond the range everything is worse: "
        f"{shown(far['extrapolate'])} with extrapolated tails, {shown(far['regression'])} with those of regression, "
        f"{shown(far['none'])} without, {shown(reading.row(RELU).beyond or 0.0)} with ReLU and "
        f"{shown(reading.row(TANH).beyond or 0.0)} with tanh. Few inputs lie outside the interval: {was:.0f} % before "
        f"and {became:.0f} % after training by the published recipe, {before:.0f} and {after:.0f} % by the recommended "
        f"one. Those few matter: with inputs clamped to the interval after training the error is "
        f"{times(old.clamped or 0.0, old.error or 1.0)} and {times(new.clamped or 0.0, new.error or 1.0)} as large."
    )


def regularisation(reading: Reading) -> str:
    """The paper's open question: which regularisation slows the degradation by noise."""
    parts = []
    for recipe in ("published", "recommended"):
        for panel, what, none in (("decay", "weight decay", 1e-6), ("curvature", "the curvature penalty", 1e-7)):
            gains = []
            for level in (0.01, 0.04, 0.1):
                line = f"{recipe}-{level:g}"
                best = reading.best(line, panel)
                gain = (best.error or 1.0) / reading.error(line, none, panel)
                gains.append(f"{gain:.2f} (at {best.value.replace('e-0', 'e-')})")
            parts.append(f"{recipe} recipe, {what}: {', '.join(gains)}")
    plain = reading.error("published-0.1", 1e-6, "decay") / reading.error("published-0.01", 1e-6, "decay")
    bests = [reading.best(f"published-{level:g}", "decay").error or 1.0 for level in (0.1, 0.01)]
    bent = [reading.best(f"published-{level:g}", "curvature").error or 1.0 for level in (0.1, 0.01)]
    return (
        "The paper asks which regularisation slows the degradation by noise. The least error over the axis as a share "
        f"of that with next to no regularisation, at noise 0.01, 0.04 and 0.1: {'; '.join(parts)}. By the published "
        f"recipe the error grows {plain:.1f} times from noise 0.01 to 0.1; with the best decay for each level "
        f"{bests[0] / bests[1]:.1f} times, with the best penalty {bent[0] / bent[1]:.1f} times. Of all trainings "
        f"{lost(reading)}."
    )


PARAGRAPHS: dict[str, Callable[[Reading], str]] = {
    "degree": degree,
    "points": points,
    "noise": noise,
    "size": size,
    "interval": interval,
    "tails": tails,
    "regularisation": regularisation,
    "shapes": shapes_paragraph,
}
"""The paragraphs by the name of the study."""


def paragraph_of(reading: Reading) -> str:
    """The paragraph of a study; where it has none, or points are missing, the least error of every line."""
    own = PARAGRAPHS.get(reading.study.name)
    if own is not None and reading.is_complete:
        return own(reading)
    there, asked = len(reading.records), len(reading.places)
    note = "" if reading.is_complete else f" {asked - there} of {asked} points are missing."
    return ". ".join(describe_lines(reading, panel) for panel in reading.study.panels) + f".{note}"
