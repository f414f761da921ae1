"""Why a cell differs from the published one, as far as the records tell."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from chebact.lab.page.comparison import DEVIATIONS
from chebact.lab.synthetic.agreement import EXPLODED, SUBJECT, Agreement, exception, where
from chebact.lab.synthetic.published import SEEDS
from chebact.lab.synthetic.recipes import DATASETS
from chebact.lab.synthetic.rows import Row

__all__ = ["as_lines", "explain", "explain_held"]

UNBOUNDED = ("cubic", "cl", "wcp")  # polynomials on all reals
STABLE = 3.0  # standard errors from which a difference is not put down to the choice of seeds


def as_lines(agreement: Agreement) -> list[str]:
    """The comparison in sentences, one exception a line, with what explains it."""
    near, printed = agreement.near, len(agreement.near) + len(agreement.far)
    own = [row for row in [*near, *agreement.far] if row.model == SUBJECT]
    own_near = sum(row in near for row in own)
    blown = len(agreement.exploded) + len(agreement.held)
    lines = [
        f"- Within two of the paper's deviations of its mean, or better: {len(near)} of {printed} cells, by the mean of"
        f" the seeds that stayed finite; in {len(agreement.lost)} of these some of our seeds turned NaN and none of the"
        " paper's.",
        f"- CL-extrapolate alone: {own_near} of {len(own)}; among the two best in {agreement.best} columns (in the"
        f" paper in {agreement.paper_best}), in {agreement.best_strict} if a single lost seed takes a model out of its"
        " half of a table, as the paper has it.",
        f"- Of the {blown} cells where the paper has {EXPLODED} or more NaN of {SEEDS}, most of ours are NaN in"
        f" {len(agreement.exploded)}.",
    ]
    lines += [
        f"- Exception: {where(row)}: {exception(row)}. {explain(row)}" for row in [*agreement.far, *agreement.lost]
    ]
    lines += [
        f"- No explosion: {where(row)}: {row.nan}/{row.seeds} NaN, published {row.paper_nan}/{SEEDS}."
        f" {explain_held(row)}"
        for row in agreement.held
    ]
    return lines


def explain(row: Row) -> str:
    """A sentence about a cell that is not within two of the paper's deviations."""
    assert row.paper_mean is not None
    assert row.paper_std is not None
    if row.recipes == "paper" and DATASETS[row.dataset].has_two_forms:
        return "The published figure was made with another recipe of this data set, so the two are not alike."
    finite = [value for value in row.values if value is not None]
    limit = row.paper_mean + DEVIATIONS * row.paper_std
    if row.nan:
        return nan_sentence(row, finite, limit)
    median, above = statistics.median(finite), sum(value > limit for value in finite)
    if median <= limit:
        seeds = "one poor seed pulls" if above == 1 else f"{above} poor seeds pull"
        return f"The median of our seeds, {median:.4f}, is within: {seeds} the mean up."
    errors = standard_errors(row)
    if errors < STABLE:
        return (
            f"Our seeds spread by {row.std:.4f}, the published ones by {row.paper_std:g}: the means are {errors:.1f} "
            "standard errors "
            "apart, which the choice of seeds can do."
        )
    return (
        f"Most of our seeds ({above} of {row.seeds}) lie above, {errors:.1f} standard errors apart: a difference that "
        "stays. The published first weights and order of the data are not known, only their distribution."
    )


def nan_sentence(row: Row, finite: Sequence[float], limit: float) -> str:
    """About a cell in which some of our seeds left the finite numbers and none of the published ones did."""
    lost = "One seed" if row.nan == 1 else f"{row.nan} seeds"
    if row.model in UNBOUNDED:
        why = "this activation is a polynomial on all reals, and a few inputs far outside [-1, 1] are enough"
    else:
        why = "with straight tails this is rare, but SGD of step size 0.01 and momentum 0.99 can still run away"
    if not finite:
        return f"{lost} of {row.seeds} left the finite numbers: {why}."
    mean = statistics.fmean(finite)
    place = "within" if mean <= limit else "above"
    return f"{lost} of {row.seeds} left the finite numbers ({why}); the others have mean {mean:.4f}, which is {place}."


def explain_held(row: Row) -> str:
    """About a cell that exploded in the paper and mostly not here."""
    return (
        f"How many seeds explode depends on their first weights: ours keep {row.seeds - row.nan} of {row.seeds} finite "
        f"where the paper lost {row.paper_nan} of {SEEDS}."
    )


def standard_errors(row: Row) -> float:
    """How far the means are apart, in standard errors of their difference."""
    assert row.mean is not None
    assert row.paper_mean is not None
    assert row.paper_std is not None
    spread = math.sqrt((row.std or 0.0) ** 2 / row.seeds + row.paper_std**2 / SEEDS)
    return abs(row.mean - row.paper_mean) / spread if spread else math.inf
