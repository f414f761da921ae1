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
    ratio = one / other if math.isfinite(other) else math.nan
    if not math.isfinite(ratio):
        return "an unknown multiple of"
    return f"{ratio:.2g} times" if not 0.9 < ratio < 1.1 else f"{ratio:.2f} times"


def lost(reading: Reading) -> str:
    """How many trainings diverged, as a sentence."""
    count, of = reading.diverged()
    return f"{count:,} of {of:,} trainings diverged." if count else f"None of {of:,} trainings diverged."


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
        f"{shown(best.error or 0.0)} at degree {best.value}. {lost(reading)}"
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
        f"{times(reading.error(OLD_CL, last), reading.error(CL, last))} with {last:,}. "
        f"{lost(reading)}"
    )


def noise(reading: Reading) -> str:
    """How noise degrades each network, and where the ranking changes."""
    old, new, relu, tanh = (reading.error(line, 0.2) / reading.error(line, 0.01) for line in (OLD_CL, CL, RELU, TANH))
    more = "CL-extrapolate loses more to noise than ReLU" if min(old, new) > relu else "What noise costs differs"
    last = ", ".join(
        f"{name} {shown(reading.error(before, 0.2))} and {shown(reading.error(after, 0.2))}"
        for name, before, after in (
            ("CL-extrapolate", OLD_CL, CL),
            ("ReLU", OLD_RELU, RELU),
            ("tanh", OLD_TANH, TANH),
        )
    )
    return (
        f"Without noise CL-extrapolate has {shown(reading.error(CL, 0.0))} by the recommended recipe, ReLU "
        f"{shown(reading.error(RELU, 0.0))} and tanh {shown(reading.error(TANH, 0.0))}. By the published recipe it is "
        f"{ahead_of(reading, OLD_CL, OLD_RELU)}; by the recommended one {ahead_of(reading, CL, RELU)}. {more}: from "
        f"noise 0.01 to 0.2 its error grows {old:.1f} times by the published recipe and {new:.1f} times by the "
        f"recommended one, that of ReLU {relu:.1f} and that of tanh {tanh:.1f} times by the recommended one. At noise "
        f"0.2 the errors by the two recipes are: {last}. {lost(reading)}"
    )


def ahead_of(reading: Reading, ours: str, theirs: str) -> str:
    """Up to which level of noise a line has the lesser error than another, and where the seeds do not overlap."""
    values = reading.study.panels[0].axis.values
    pairs = [(value, reading.row(ours, value), reading.row(theirs, value)) for value in values]
    ahead = [value for value, one, other in pairs if (one.error or math.inf) < (other.error or math.inf)]
    clear = [value for value, one, other in pairs if (one.high or math.inf) < (other.low or 0.0)]
    where = "at every level" if len(ahead) == len(values) else f"up to noise {max(ahead, default=0.0):g}"
    apart = f", up to {max(clear):g} by more than the spread of the seeds" if clear else ""
    return f"ahead of ReLU {where}{apart}" if ahead else "behind ReLU at every level"


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
        f"{old.diverged} of {old.trainings} trainings with six blocks diverged. {lost(reading)}"
    )


def interval(reading: Reading) -> str:
    """How far the nodes should reach."""
    parts = []
    for line, recipe in ((OLD_CL, "published"), (CL, "recommended")):
        best, usual = reading.best(line), reading.error(line, 1.0)
        beside = "" if best.value == "1" else f", a = 1 has {shown(usual)}"
        parts.append(f"a = {best.value} by the {recipe} recipe ({shown(best.error or 0.0)}{beside})")
    others = ", ".join(
        f"{ends_in(reading.row(OLD_CL, value))} and {ends_in(reading.row(CL, value))} with a = {value:g}"
        for value in (0.25, 0.5, 2.0, 4.0)
    )
    return (
        f"The error is least with {parts[0]} and {parts[1]}. By the two recipes it is {others}. With a short interval "
        "more inputs are left to the straight tails, and trainings diverge; with a long one the nodes stand where no "
        f"input is. At a = 4 the published recipe has {times(reading.error(OLD_CL, 4.0), reading.error(OLD_RELU))} the "
        f"error of ReLU, the recommended one {times(reading.error(CL, 4.0), reading.error(RELU))}: a wrong interval "
        f"costs more than the activation gains. {lost(reading)}"
    )


def ends_in(row: Row) -> str:
    """The error of a row, or how many diverged where it has none."""
    return f"no number ({row.diverged} of {row.trainings} diverged)" if row.error is None else shown(row.error)


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
    gains = [f"at noise {level} {gains_at(reading, level)}" for level in ("0.1", "0.04", "0.01")]
    growth = [growth_of(reading, panel) for panel in ("decay", "curvature")]
    plain = reading.error("published-0.1", 1e-6, "decay") / reading.error("published-0.01", 1e-6, "decay")
    usual, none = (
        [reading.error(f"recommended-{level}", weight, "curvature") for level in ("0.01", "0.04", "0.1")]
        for weight in (1e-5, 1e-7)
    )
    penalty = ", ".join(f"{one / other:.2f}" for one, other in zip(usual, none, strict=True))
    return (
        "The paper asks which regularisation slows the degradation by noise. Both do, and the best weight grows with "
        "the noise. The least error over an axis, as a share of that with next to no regularisation, by the published "
        f"and by the recommended recipe: {'; '.join(gains)}. From noise 0.01 to 0.1 the error of the published recipe "
        f"grows {plain:.1f} times; with the best decay at each level {growth[0]:.1f} times, with the best penalty "
        f"{growth[1]:.1f} times. A penalty of 1e-5, that of the recommended recipe, multiplies its error by {penalty} "
        "at noise 0.01, 0.04 and 0.1 against next to none: at degree 2 it pays only where there is much noise. "
        f"{lost(reading)}"
    )


def gains_at(reading: Reading, level: str) -> str:
    """The least error over both axes as a share of the error at their left ends, for both recipes."""
    parts = []
    for panel, what, none in (("decay", "weight decay", 1e-6), ("curvature", "the penalty", 1e-7)):
        shares = []
        for recipe in ("published", "recommended"):
            best = reading.best(f"{recipe}-{level}", panel)
            share = (best.error or 0.0) / reading.error(f"{recipe}-{level}", none, panel)
            shares.append(f"{share:.2f} (at {float(best.value):.0e})".replace("e-0", "e-"))
        parts.append(f"{shares[0]} and {shares[1]} with {what}")
    return ", ".join(parts)


def growth_of(reading: Reading, panel: str) -> float:
    """How much the least error over an axis grows from noise 0.01 to 0.1, by the published recipe."""
    loud, quiet = (reading.best(f"published-{level}", panel).error or math.nan for level in ("0.1", "0.01"))
    return loud / quiet


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
