"""The statistics of the arena against a published example, scipy and numbers computed by hand."""

import math

import pytest
from scipy import stats

from chebact.lab.arena.ranks import (
    critical_difference,
    duel,
    friedman,
    holm,
    mean_ranks,
    relative_difference,
    standing_of,
    wilcoxon,
)
from chebact.lab.arena.rows import Row

# Demsar (2006), "Statistical comparisons of classifiers over multiple data sets", table 6: the area under the curve of
# four decision trees on 14 sets. The table prints the last but one set's third and fourth as equal and ranks them 2, 3.
DEMSAR = [
    (0.763, 0.768, 0.771, 0.798),
    (0.599, 0.591, 0.590, 0.569),
    (0.954, 0.971, 0.968, 0.967),
    (0.628, 0.661, 0.654, 0.657),
    (0.882, 0.888, 0.886, 0.898),
    (0.936, 0.931, 0.916, 0.931),
    (0.661, 0.668, 0.609, 0.685),
    (0.583, 0.583, 0.563, 0.625),
    (0.775, 0.838, 0.866, 0.875),
    (1.000, 1.000, 1.000, 1.000),
    (0.940, 0.962, 0.965, 0.962),
    (0.619, 0.666, 0.614, 0.669),
    (0.972, 0.981, 0.97501, 0.975),
    (0.957, 0.978, 0.946, 0.970),
]


def test_the_published_example_has_its_ranks_its_statistic_and_its_critical_differences():
    ranks = mean_ranks([[1 - score for score in row] for row in DEMSAR])
    assert ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    statistic, p = friedman(ranks, 14)
    assert statistic == pytest.approx(3.69, abs=5e-3)  # from a chi square of 9.28
    assert p == pytest.approx(stats.f.sf(3.69, 3, 39), rel=1e-2)
    assert p < 0.05  # the book's critical value of F(3, 39) is 2.85
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=5e-3)
    assert critical_difference(4, 14, level=0.1) == pytest.approx(1.12, abs=5e-3)


@pytest.mark.parametrize(("models", "quantile"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_has_the_published_quantiles(models, quantile):
    expected = quantile * math.sqrt(models * (models + 1) / (6 * 20))
    assert critical_difference(models, 20) == pytest.approx(expected, rel=1e-3)


def test_friedmans_statistic_is_scipys_where_no_ranks_are_equal():
    errors = [(0.1, 0.2, 0.3), (0.3, 0.1, 0.2), (0.1, 0.3, 0.2), (0.1, 0.25, 0.3), (0.2, 0.4, 0.6)]
    chi = stats.friedmanchisquare(*zip(*errors, strict=True)).statistic
    found, _ = friedman(mean_ranks(errors), 5)
    assert found == pytest.approx(4 * chi / (5 * 2 - chi))
    assert friedman([1.0, 2.0, 3.0], 7)[0] == math.inf  # the same order everywhere


def row(data, model, *scores, family=None, task="regression"):
    return Row(data, model, task, family or data, 100, 3, scores)


def test_families_count_once_and_models_that_lack_a_set_have_no_rank():
    rows = [
        row("f-0", "cl", 0.1, family="f"), row("f-0", "mlp", 0.2, family="f"),
        row("f-1", "cl", 0.3, family="f"), row("f-1", "mlp", 0.2, family="f"),
        row("g", "cl", 0.1), row("g", "mlp", 0.2), row("g", "svm", 0.05),
    ]  # fmt: skip
    found = standing_of(rows)
    assert (found.sets, found.families) == (3, 2)
    assert found.ranks == {"cl": 1.25, "mlp": 1.75}  # 1.5 in the first family, 1 in the second
    assert found.unranked == {"svm": 2}
    assert found.difference == pytest.approx(critical_difference(2, 2))
    assert standing_of(rows[:2]) is None


def test_ranks_use_the_splits_that_all_models_have():
    rows = [
        row("a", "cl", 0.1, 9.0), row("a", "mlp", 0.2),
        row("b", "cl", 0.1, 9.0), row("b", "mlp", 0.2),
    ]  # fmt: skip
    assert standing_of(rows).ranks == {"cl": 1.0, "mlp": 2.0}
    assert duel(rows, "cl", "mlp").wins == 2


def test_a_failed_fit_is_last_and_loses():
    rows = [
        row("a", "cl", 0.9), row("a", "mlp", math.inf), row("b", "cl", 0.9), row("b", "mlp", math.inf),
    ]  # fmt: skip
    assert standing_of(rows).ranks == {"cl": 1.0, "mlp": 2.0}
    found = duel(rows, "cl", "mlp")
    assert (found.wins, found.losses) == (2, 0)
    assert relative_difference(math.inf, math.inf) == 0
    assert relative_difference(math.inf, 0.5) == -1


def test_a_duel_counts_sets_and_tests_families():
    errors = {"a": (0.1, 0.2), "b": (0.1, 0.3), "c": (0.2, 0.1), "d": (0.1, 0.1), "e": (0.1, 0.4), "f": (0.0, 0.0)}
    rows = [
        row(data, model, value)
        for data, pair in errors.items()
        for model, value in zip(("cl", "mlp"), pair, strict=True)
    ]
    found = duel(rows, "cl", "mlp")
    assert (found.wins, found.ties, found.losses, found.families) == (3, 2, 1, 6)
    assert found.ratio == pytest.approx(2.0)  # the median of 2, 3, 0.5, 1 and 4
    differences = [1 / 3, 0.5, -1 / 3, 0.0, 0.6, 0.0]
    assert found.p == pytest.approx(stats.wilcoxon(differences, zero_method="zsplit").pvalue)
    assert duel(rows, "cl", "svm") is None


def test_wilcoxon_by_brute_force_over_all_signs():
    differences = [0.1, -0.2, 0.35, 0.4, 0.5, 0.65]
    ranks = stats.rankdata([abs(each) for each in differences])
    observed = sum(rank for rank, each in zip(ranks, differences, strict=True) if each > 0)
    sums = [sum(rank for place, rank in enumerate(ranks) if signs >> place & 1) for signs in range(2**6)]
    upper = sum(each >= observed for each in sums) / 2**6
    assert wilcoxon(differences) == pytest.approx(min(1, 2 * upper))
    assert wilcoxon([0.0, 0.0]) is None


def test_holm_by_hand():
    assert holm([0.01, None, 0.04, 0.03]) == [pytest.approx(0.03), None, pytest.approx(0.06), pytest.approx(0.06)]
