"""Why a cell differs from the published one, as far as the records tell."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from chebact.lab.functions import DATASETS
from chebact.lab.page.comparison import DEVIATIONS
from chebact.lab.synthetic.agreement import (
    EXPLODED,
    LEVEL,
    SUBJECT,
    Agreement,
    describe_cell,
    describe_exception,
)
from chebact.lab.synthetic.published import SEEDS
from chebact.lab.synthetic.rows import Row, has_mean

__all__ = ["comparison_lines", "exception_lines", "explain"]

UNBOUNDED = ("cubic", "cl", "wcp")  # polynomials everywhere, without tails
STABLE = 3.0  # standard errors from which a difference is not put down to the choice of seeds


def comparison_lines(agreement: Agreement) -> list[str]:
    """The comparison in sentences, one exception per line, with its explanation."""
    near, printed = agreement.near, len(agreement.near) + len(agreement.far)
    own = [row for row in [*near, *agreement.far] if row.model == SUBJECT]
    own_near, counted = sum(row in near for row in own), agreement.counted
    lines = [
        f"- {len(near)} of {printed} cells agree with the paper: the mean is within two published standard deviations, "
        f"or better; {len(agreement.within)} are within two deviations on either side. In {len(agreement.lost)} of "
        "those that agree some of our seeds diverged while none of the paper's did.",
        f"- CL-extrapolate alone: {own_near} of {len(own)} cells. Top two in {agreement.best} of {agreement.columns} "
        f"columns (paper: {agreement.paper_best}); in {agreement.best_strict} under the paper's rule that one diverged "
        "seed disqualifies a model.",
        f"- In {len(agreement.counts_agree)} of {len(counted)} cells that the paper prints as a count of diverged "
        f"seeds, both counts can have one rate (Fisher's exact test, p at least {LEVEL:g}). Where {EXPLODED} or "
        f"more of the paper's {SEEDS} seeds diverged, most of ours did in {len(agreement.exploded_here)} of "
        f"{len(agreement.exploded)}.",
    ]
    lines = lines if printed or counted else []
    if agreement.other:
        unlike = "; ".join(dict.fromkeys(row.unlike for row in agreement.other))
        lines.append(
            f"- Not compared with the paper: {len(agreement.other)} cells, run with other settings ({unlike})."
        )
    return lines + [f"- {line}" for line in exception_lines(agreement)]


def exception_lines(agreement: Agreement) -> list[str]:
    """Every cell that does not agree, with a reason as far as the records tell one, and every count that is neither
    nearly all nor nearly none of the published seeds.
    """
    lines = [
        f"Exception: {describe_cell(row)}: {describe_exception(row)}. {explain(row)}"
        for row in (*agreement.far, *agreement.lost)
    ]
    partly = [row for row in agreement.counted if row not in agreement.exploded]
    apart = [row for row in agreement.exploded if has_mean(row) or row.chance < LEVEL]
    return lines + [count_sentence(row) for row in (*partly, *apart)]


def count_sentence(row: Row) -> str:
    """Our count of diverged seeds beside the published one, and whether chance can explain the difference."""
    verdict = "chance can explain it" if row.chance >= LEVEL else "chance does not explain it, and it stays unexplained"
    if row.nan == row.paper_nan and row.seeds == SEEDS:
        verdict = "the same"
    return (
        f"Diverged seeds: {describe_cell(row)}: {row.nan}/{row.seeds} NaN, published {row.paper_nan}/{SEEDS}; p = "
        f"{row.chance:.2g}, {verdict}."
    )


def explain(row: Row) -> str:
    """A sentence about a cell that is not within two of the paper's deviations."""
    assert row.paper_mean is not None
    assert row.paper_std is not None
    if row.recipes == "paper" and DATASETS[row.dataset].has_two_forms:
        return "The published figure was made with another formula of this data set, so the two are not comparable."
    if row.recipes == "paper" and not DATASETS[row.dataset].symmetric:
        return "In the published repeats the columns had other roles each time; here they have those of the text."
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
    chosen = "first weights, order of the data" + (", order of the columns" if row.recipes == "released" else "")
    return (
        f"{above} of {row.seeds} seeds lie above the limit, and the means are {errors:.1f} standard errors apart: the "
        f"choice of seeds ({chosen}) does not explain it. It stays unexplained."
    )


def nan_sentence(row: Row, finite: Sequence[float], limit: float) -> str:
    """A sentence about a cell in which some of our seeds diverged and none of the published ones did."""
    lost = "One seed" if row.nan == 1 else f"{row.nan} seeds"
    chance = f" (published: none; p = {row.chance:.2g})"
    if row.model in UNBOUNDED:
        why = "this activation is a polynomial everywhere, and a few inputs far outside [-1, 1] are enough"
    else:
        why = "rare with linear tails, but SGD with learning rate 0.01 and momentum 0.99 can still diverge"
    if not finite:
        return f"{lost} of {row.seeds} diverged{chance}: {why}."
    mean = statistics.fmean(finite)
    verdict = "agrees" if mean <= limit else "is above the limit"
    return f"{lost} of {row.seeds} diverged{chance}: {why}. The mean of the others, {mean:.4f}, {verdict}."


def standard_errors(row: Row) -> float:
    """How far the means are apart, in standard errors of their difference."""
    assert row.mean is not None
    assert row.paper_mean is not None
    assert row.paper_std is not None
    spread = math.sqrt((row.std or 0.0) ** 2 / row.seeds + row.paper_std**2 / SEEDS)
    return abs(row.mean - row.paper_mean) / spread if spread else math.inf
