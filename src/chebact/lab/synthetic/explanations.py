"""Why a cell differs from the published one, as far as the records tell."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from chebact.lab.functions import DATASETS
from chebact.lab.page.comparison import DEVIATIONS
from chebact.lab.synthetic.agreement import EXPLODED, SUBJECT, Agreement, describe_cell, describe_exception
from chebact.lab.synthetic.published import SEEDS
from chebact.lab.synthetic.rows import Row

__all__ = ["comparison_lines", "exception_lines", "explain"]

UNBOUNDED = ("cubic", "cl", "wcp")  # polynomials everywhere, without tails
STABLE = 3.0  # standard errors from which a difference is not put down to the choice of seeds


def comparison_lines(agreement: Agreement) -> list[str]:
    """The comparison in sentences, one exception per line, with its explanation."""
    near, printed = agreement.near, len(agreement.near) + len(agreement.far)
    own = [row for row in [*near, *agreement.far] if row.model == SUBJECT]
    own_near = sum(row in near for row in own)
    blown = len(agreement.exploded) + len(agreement.held)
    lines = [
        f"- {len(near)} of {printed} cells agree with the paper (within two published standard deviations, or better). "
        f"In {len(agreement.lost)} of them some of our seeds diverged while none of the paper's did.",
        f"- CL-extrapolate alone: {own_near} of {len(own)} cells. Top two in {agreement.best} of {agreement.columns} "
        f"columns (paper: {agreement.paper_best}); in {agreement.best_strict} under the paper's rule that one diverged "
        "seed disqualifies a model.",
        f"- Of the {blown} cells in which {EXPLODED} or more of the paper's {SEEDS} seeds diverged, most of our seeds "
        f"diverged in {len(agreement.exploded)}.",
    ]
    lines = lines if printed or blown else []
    if agreement.other:
        unlike = "; ".join(dict.fromkeys(row.unlike for row in agreement.other))
        lines.append(
            f"- Not compared with the paper: {len(agreement.other)} cells, run with other settings ({unlike})."
        )
    return lines + [f"- {line}" for line in exception_lines(agreement)]


def exception_lines(agreement: Agreement) -> list[str]:
    """Every cell that does not agree, with a reason as far as the records tell one."""
    lines = [
        f"Exception: {describe_cell(row)}: {describe_exception(row)}. {explain(row)}"
        for row in (*agreement.far, *agreement.lost)
    ]
    return lines + [
        f"Diverged less than published: {describe_cell(row)}: {row.nan}/{row.seeds} NaN, "
        f"published {row.paper_nan}/{SEEDS}. {explain_held(row)}"
        for row in agreement.held
    ]


def explain(row: Row) -> str:
    """A sentence about a cell that is not within two of the paper's deviations."""
    assert row.paper_mean is not None
    assert row.paper_std is not None
    if row.recipes == "paper" and DATASETS[row.dataset].has_two_forms:
        return "The published figure was made with another formula of this data set, so the two are not comparable."
    finite = [value for value in row.values if value is not None]
    limit = row.paper_mean + DEVIATIONS * row.paper_std
    if row.nan:
        return nan_sentence(row, finite, limit)
    median, above = statistics.median(finite), sum(value > limit for value in finite)
    if median <= limit:
        seeds = "one seed lies" if above == 1 else f"{above} of {row.seeds} seeds lie"
        return f"The median of our seeds, {median:.4f}, agrees; {seeds} above the limit."
    errors = standard_errors(row)
    if errors < STABLE:
        return (
            f"Our seeds have standard deviation {row.std:.4f}, the published ones {row.paper_std:g}: the means are "
            f"{errors:.1f} standard errors apart, which the choice of seeds can explain."
        )
    return (
        f"{above} of {row.seeds} seeds lie above the limit, and the means are {errors:.1f} standard errors apart: the "
        "choice of seeds does not explain it. The published initial weights and order of the data are not known."
    )


def nan_sentence(row: Row, finite: Sequence[float], limit: float) -> str:
    """A sentence about a cell in which some of our seeds diverged and none of the published ones did."""
    lost = "One seed" if row.nan == 1 else f"{row.nan} seeds"
    if row.model in UNBOUNDED:
        why = "this activation is a polynomial everywhere, and a few inputs far outside [-1, 1] are enough"
    else:
        why = "rare with linear tails, but SGD with learning rate 0.01 and momentum 0.99 can still diverge"
    if not finite:
        return f"{lost} of {row.seeds} diverged: {why}."
    mean = statistics.fmean(finite)
    verdict = "agrees" if mean <= limit else "is above the limit"
    return f"{lost} of {row.seeds} diverged ({why}); the mean of the others, {mean:.4f}, {verdict}."


def explain_held(row: Row) -> str:
    """A sentence about a cell in which most seeds diverged in the paper and did not here."""
    return (
        f"How many seeds diverge depends on their initial weights: {row.nan} of {row.seeds} here, {row.paper_nan} of "
        f"{SEEDS} in the paper."
    )


def standard_errors(row: Row) -> float:
    """How far the means are apart, in standard errors of their difference."""
    assert row.mean is not None
    assert row.paper_mean is not None
    assert row.paper_std is not None
    spread = math.sqrt((row.std or 0.0) ** 2 / row.seeds + row.paper_std**2 / SEEDS)
    return abs(row.mean - row.paper_mean) / spread if spread else math.inf
