"""The tests between models: against statsmodels and scipy, and the published tables as printed."""

import doctest
import importlib

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.diagnostic import lilliefors as theirs

from chebact.lab.clinical.published import ACTIVATION_CELLS, SYSTEMS, published_cell
from chebact.lab.stats import lilliefors, paired, stars, welch

RANDOM = np.random.default_rng(11)
SAMPLES = [
    *(RANDOM.normal(80, 1.2, size=30) for _ in range(6)),
    *(RANDOM.uniform(size=30) for _ in range(3)),
    *(RANDOM.exponential(size=12) for _ in range(4)),
    *(np.round(RANDOM.normal(0.83, 0.01, size=30) * 407) / 407 for _ in range(3)),  # scores of 407 recordings
]


@pytest.mark.parametrize("sample", SAMPLES)
def test_lilliefors_is_that_of_statsmodels(sample):
    """Theirs comes from a table; ours from 9,999 draws, whose error is under three of their deviations."""
    ours, (_, expected) = lilliefors(sample.tolist()), theirs(sample, dist="norm", pvalmethod="table")
    assert abs(ours - expected) < 0.012 + 3 * np.sqrt(expected * (1 - expected) / 9999) + 0.02 * (expected > 0.15)


def test_lilliefors_is_scipys_goodness_of_fit():
    sample = RANDOM.normal(size=30)
    fit = stats.goodness_of_fit(stats.norm, sample, statistic="ks", rng=np.random.default_rng(0))
    assert lilliefors(sample.tolist()) == pytest.approx(fit.pvalue, abs=0.02)


def test_lilliefors_rejects_as_often_as_it_says():
    normal = RANDOM.normal(size=(400, 20))
    assert 0.02 < np.mean([lilliefors(sample.tolist()) < 0.05 for sample in normal]) < 0.08


def test_welch_and_paired_are_scipys():
    one, two = RANDOM.normal(80, 1, 30), RANDOM.normal(80.6, 2, 30)
    assert welch(one.tolist(), two.tolist()) == pytest.approx(stats.ttest_ind(one, two, equal_var=False).pvalue)
    assert paired(one.tolist(), two.tolist()) == pytest.approx(stats.ttest_rel(one, two).pvalue)
    assert paired(one.tolist(), two.tolist()) == pytest.approx(stats.ttest_1samp(one - two, 0).pvalue)


def test_the_papers_stars_follow_from_its_numbers():
    """Welch's test from the printed means and deviations of 30 seeds gives the stars of the paper's table, but for one:
    sensitivity at width 64 has two stars there, and p = 0.017 from what is printed.
    """
    printed = {32: ("***", "***", "***", "***"), 64: ("***", "", "***", "***")}
    for width, expected in printed.items():
        for metric, mark in zip(("accuracy", "sensitivity", "specificity", "micro_f1"), expected, strict=True):
            cells = [published_cell(model, width, metric) for model in ("cl-extrapolate", "tanh")]
            p = stats.ttest_ind_from_stats(*cells[0], 30, *cells[1], 30, equal_var=False).pvalue
            assert stars(p) == mark, (width, metric, p)
            assert (width, metric) != (64, "sensitivity") or round(p, 3) == 0.017


@pytest.mark.parametrize(
    ("p", "mark"), [(0.5, ""), (0.01, ""), (0.0099, "**"), (0.001, "**"), (0.0009, "***"), (None, "")]
)
def test_stars(p, mark):
    assert stars(p) == mark


def test_where_nothing_varies_there_is_no_test():
    assert lilliefors([1.0] * 30) is lilliefors([1.0, 2.0, 3.0]) is None
    assert welch([1.0] * 5, [1.0] * 5) is welch([1.0], [2.0, 3.0]) is None
    assert paired([1.0, 2.0], [0.5, 1.5]) is None
    assert welch([56.3] * 30, [80.0, 81.0, 82.0]) < 0.01


@pytest.mark.parametrize(
    "name", ["stats", "clinical.boruta", "clinical.baselines", "clinical.classification", "clinical.published"]
)
def test_the_examples_run(name):
    results = doctest.testmod(importlib.import_module(f"chebact.lab.{name}"))
    assert results.failed == 0
    assert results.attempted > 0


def test_the_published_tables_are_whole():
    assert len(ACTIVATION_CELLS) == 32
    by_hand = {"accuracy": 82.5 + 82.7 + 84.7 + 82.9 + 83.1 + 84.6, "micro_f1": 79.9 + 80.0 + 82.1 + 80.3 + 80.5 + 82.0}
    for metric, total in by_hand.items():
        means = [
            mean for (model, _, name), (mean, _) in ACTIVATION_CELLS.items() if name == metric and model != "1-class"
        ]
        assert sum(means) == pytest.approx(total)
    assert published_cell("1-class", None, "accuracy") == (56.3, 0.0)
    assert published_cell("wcp", 32, "accuracy") is None
    assert len(SYSTEMS) == 6
    assert SYSTEMS[-1].best_macro_f1 == "84.0 ± 7.5"
