"""Hartigan's dip against its definition, published values and the published 5 % point."""

import numpy as np
import pytest
from scipy.optimize import linprog

from chebact.lab.dip import dip, dip_of_histogram
from chebact.lab.images.units import BIMODAL

RANDOM = np.random.default_rng(3)
FACULTY = [
    30, 33, 35, 36, 37, 37, 39, 39, 39, 39, 39, 40, 40, 40, 40, 41, 42, 43, 43, 43, 44, 44, 45, 45, 46, 46, 47, 47, 48,
    48, 48, 49, 50, 50, 51, 52, 52, 53, 53, 53, 53, 53, 54, 54, 57, 57, 59, 60, 60, 60, 61, 61, 61, 61, 62, 62, 62, 62,
    63, 66, 70, 72, 72,
]  # fmt: skip


def dip_of_sample(values):
    """That of the steps of a sample, 1 / (2 n) at least: no continuous distribution is closer to them."""
    points, counts = np.unique(np.asarray(values, dtype=float), return_counts=True)
    above = np.cumsum(counts) / len(values)
    return max(dip(points, above - counts / len(values), above), 1 / (2 * len(values)))


def test_the_dip_of_the_quality_of_faculties_is_the_published_one():
    """The example of Hartigan and Hartigan (1985), 63 departments, with the digits of R's diptest."""
    assert dip_of_sample(FACULTY) == pytest.approx(0.05952381, abs=5e-9)


def test_two_points_of_half_the_mass_have_the_greatest_dip():
    assert dip_of_sample([0, 0, 1, 1]) == 0.25


def dip_by_its_definition(counts):
    """By linear programming: the least greatest distance from a distribution function that is convex before a bin and
    concave after it, over all bins. Both are straight within bins, so their edges say all.
    """
    shares = np.concatenate([[0], np.cumsum(counts)]) / np.sum(counts)
    size, best = len(shares), 1.0
    for mode in range(size - 1):
        bends = np.zeros((size - 2, size + 1))
        for row, edge in enumerate(range(1, size - 1)):
            sign = -1 if edge <= mode else 1
            bends[row, edge - 1 : edge + 2] = sign * np.array([1, -2, 1])
        rises = np.zeros((size - 1, size + 1))
        for row in range(size - 1):
            rises[row, row : row + 2] = 1, -1
        near = np.hstack([np.eye(size), -np.ones((size, 1))])
        far = np.hstack([-np.eye(size), -np.ones((size, 1))])
        limits = np.concatenate([np.zeros(2 * size - 3), shares, -shares])
        cost = np.zeros(size + 1)
        cost[-1] = 1
        best = min(best, linprog(cost, np.vstack([bends, rises, near, far]), limits, bounds=(None, None)).fun)
    return best


@pytest.mark.parametrize("bins", [3, 5, 8, 12])
def test_the_dip_of_a_histogram_is_its_distance_from_the_nearest_unimodal_distribution(bins):
    for _ in range(8):
        counts = RANDOM.integers(0, 9, size=bins) + (np.arange(bins) == 0)
        assert dip_of_histogram(-1, 3, counts) == pytest.approx(dip_by_its_definition(counts), abs=1e-8)


def test_one_mode_has_no_dip_and_the_ends_do_not_matter():
    rising, both = [1, 2, 3, 7], [1, 5, 9, 9, 5, 1]
    assert dip_of_histogram(0, 1, rising) == dip_of_histogram(-2, 7, both) == 0
    counts = [9, 1, 4, 8]
    assert dip_of_histogram(0, 1, counts) == pytest.approx(dip_of_histogram(-5, 11, counts))
    assert dip_of_histogram(0, 1, counts) == pytest.approx(dip_of_histogram(0, 1, counts[::-1]))


def test_one_uniform_sample_of_500_in_twenty_exceeds_the_published_point():
    """0.0237: the tabulated quantile for n = 500. With 1,000 samples the share is 5 % within three deviations, 2 %."""
    exceeding = [dip_of_sample(RANDOM.random(500)) > BIMODAL for _ in range(1000)]
    assert 0.03 < np.mean(exceeding) < 0.07
