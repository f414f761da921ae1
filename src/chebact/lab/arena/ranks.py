"""Who is ahead: mean ranks with the critical difference, and ours against each model.

Sets of one function with different noise are no independent sets. So ranks are averaged within such a family first, and
the number of families is the N of the tests: a mean of ranks varies no more than one of them, so the tests are on the
safe side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from chebact.lab.arena.rows import Row

__all__ = ["Duel", "Standing", "critical_difference", "duel", "friedman", "mean_ranks", "standing_of"]

LEVEL = 0.05


@dataclass(frozen=True)
class Standing:
    """The mean rank of each model over families of data sets, the best first; Friedman's statistic and p-value; the
    critical difference; and what each of the other models lacks of the sets.
    """

    ranks: Mapping[str, float]
    sets: int
    families: int
    splits: int
    statistic: float
    p: float
    difference: float
    unranked: Mapping[str, int]


def mean_ranks(errors: Sequence[Sequence[float]]) -> list[float]:
    """The mean rank of each model from errors (set, model), the least is 1; equal errors share their ranks.

    >>> mean_ranks([[0.1, 0.2, 0.3], [0.1, 0.1, 0.3]])
    [1.25, 1.75, 3.0]
    """
    from scipy.stats import rankdata

    return [float(each) for each in rankdata(errors, axis=1).mean(axis=0)]


def friedman(ranks: Sequence[float], sets: int) -> tuple[float, float]:
    """Friedman's statistic of mean ranks over so many sets, in Iman and Davenport's form, and its p-value.

    The first is F with k - 1 and (k - 1) (N - 1) degrees of freedom; infinity where all sets give the same order.
    """
    from scipy.stats import f

    count = len(ranks)
    if count < 2 or sets < 2:
        return math.nan, math.nan
    chi = 12 * sets / (count * (count + 1)) * (sum(rank**2 for rank in ranks) - count * (count + 1) ** 2 / 4)
    below = sets * (count - 1) - chi
    statistic = math.inf if below <= 1e-9 else (sets - 1) * chi / below
    return statistic, float(f.sf(statistic, count - 1, (count - 1) * (sets - 1)))


def critical_difference(models: int, sets: int, level: float = LEVEL) -> float:
    """Nemenyi's: mean ranks that are further apart differ at that level.

    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    from scipy.stats import studentized_range

    quantile = float(studentized_range.ppf(1 - level, models, math.inf)) / math.sqrt(2)
    return quantile * math.sqrt(models * (models + 1) / (6 * sets))


def by_data(rows: Iterable[Row]) -> dict[str, dict[str, Row]]:
    """The rows by data set and model."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(row.data, {})[row.model] = row
    return found


def standing_of(rows: Sequence[Row]) -> Standing | None:
    """The standing on all sets of these rows. Ranked are the models that have every one of them, each set by the splits
    that all of those have. None with fewer than two families or models.
    """
    sets = by_data(rows)
    models = list(dict.fromkeys(row.model for row in rows))
    lacks = {model: sum(model not in found for found in sets.values()) for model in models}
    ranked = [model for model in models if not lacks[model]]
    families: dict[str, list[list[float]]] = {}
    fewest = 10**9
    for found in sets.values():
        splits = min((len(found[model].scores) for model in ranked), default=0)
        fewest = min(fewest, splits)
        errors = [fmean(found[model].scores[:splits]) for model in ranked] if splits else []
        families.setdefault(next(iter(found.values())).family, []).append(errors)
    if len(families) < 2 or len(ranked) < 2:
        return None
    means = [mean_ranks(errors) for errors in families.values()]
    ranks = [fmean(each) for each in zip(*means, strict=True)]
    ordered = dict(sorted(zip(ranked, ranks, strict=True), key=lambda pair: pair[1]))
    statistic, p = friedman(ranks, len(families))
    difference = critical_difference(len(ranked), len(families))
    unranked = {model: count for model, count in lacks.items() if count}
    return Standing(ordered, len(sets), len(families), fewest, statistic, p, difference, unranked)


@dataclass(frozen=True)
class Duel:
    """Ours against a model: sets on which ours has the lesser error, the same, the greater; the median of its error
    over ours; the p-value of Wilcoxon's test over families.
    """

    model: str
    wins: int
    ties: int
    losses: int
    families: int
    ratio: float | None
    p: float | None


def duel(rows: Sequence[Row], ours: str, model: str) -> Duel | None:
    """Compare on the sets and splits that both have; None where there are none."""
    relative: dict[str, list[float]] = {}
    ratios, signs = [], []
    for found in by_data(rows).values():
        if ours not in found or model not in found:
            continue
        splits = min(len(found[ours].scores), len(found[model].scores))
        own, other = (fmean(found[name].scores[:splits]) for name in (ours, model))
        relative.setdefault(found[ours].family, []).append(relative_difference(own, other))
        signs.append((other > own) - (other < own))
        if own > 0 and math.isfinite(own):
            ratios.append(other / own)
    if not signs:
        return None
    p = wilcoxon([fmean(each) for each in relative.values()])
    counts = (signs.count(1), signs.count(0), signs.count(-1))
    return Duel(model, *counts, len(relative), middle(ratios), p)


def relative_difference(own: float, other: float) -> float:
    """(other - own) / (other + own): from -1 to 1, 0 where both are 0 or both failed."""
    if own == other:
        return 0.0
    if math.inf in (own, other):
        return 1.0 if other == math.inf else -1.0
    return (other - own) / (other + own)


def middle(ratios: Sequence[float]) -> float | None:
    """The median; None of nothing."""
    ordered, count = sorted(ratios), len(ratios)
    return None if not count else (ordered[(count - 1) // 2] + ordered[count // 2]) / 2


def wilcoxon(differences: Sequence[float]) -> float | None:
    """The two-sided p-value of Wilcoxon's signed rank test; None where nothing differs."""
    from scipy import stats

    if not any(differences):
        return None
    return float(stats.wilcoxon(differences, zero_method="zsplit").pvalue)


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """p-values of several tests after Holm's correction.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    known = sorted((p, place) for place, p in enumerate(ps) if p is not None)
    corrected: list[float | None] = [None] * len(ps)
    largest = 0.0
    for done, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, p * (len(known) - done)))
        corrected[place] = largest
    return corrected
