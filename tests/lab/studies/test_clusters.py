"""Clusters of curves against planted shapes, and against scipy's and scikit-learn's results."""

import numpy
import pytest
from scipy.cluster.vq import kmeans2, vq
from sklearn.metrics import adjusted_rand_score, silhouette_score

from chebact.lab.studies.clusters import GRID, KINDS, cluster_curves, kinds_of, legendre, normalised, permutation_p

PLANTED = numpy.stack([GRID, GRID**2, numpy.sin(5 * GRID)])


def planted(count=90, noise=0.05):
    """Curves of three kinds with noise, each shifted, scaled and mirrored at random; and the kind of each."""
    drawn = numpy.random.default_rng(3)
    truth = drawn.integers(0, len(PLANTED), count)
    curves = PLANTED[truth] + noise * drawn.standard_normal((count, len(GRID)))
    mirrored = numpy.where(drawn.random(count)[:, None] < 0.5, curves[:, ::-1], curves)
    return drawn.normal(size=(count, 1)) + drawn.choice([-3, -0.2, 1, 7], (count, 1)) * mirrored, truth


def test_planted_shapes_are_found_again_whatever_their_shift_scale_and_mirror_image():
    curves, truth = planted()
    found = cluster_curves(normalised(curves))
    assert len(found.centres) == 3
    assert adjusted_rand_score(truth, found.labels) == 1
    assert found.shares == sorted(found.shares, reverse=True)
    assert sum(found.shares) == pytest.approx(1)


def test_the_result_is_a_fixed_point_of_scipys_k_means_and_has_the_greatest_silhouette():
    curves = normalised(planted(noise=0.3)[0])
    found = cluster_curves(curves)
    centres, labels = kmeans2(curves, found.centres, iter=5, minit="matrix")
    numpy.testing.assert_allclose(centres, found.centres, atol=1e-12)
    assert (labels == found.labels).all()
    assert (vq(curves, found.centres)[0] == found.labels).all()
    assert len(found.centres) == max(found.silhouettes, key=found.silhouettes.get)
    assert silhouette_score(curves, found.labels) >= max(found.silhouettes.values()) - 0.02


def test_curves_are_normalised_and_a_flat_one_stays_zero():
    curves = normalised(numpy.stack([5 - 3 * GRID, numpy.full_like(GRID, 2.0), -(GRID**2) + 0.3 * GRID]))
    numpy.testing.assert_allclose(curves.mean(axis=1), 0, atol=1e-12)
    numpy.testing.assert_allclose((curves**2).mean(axis=1), [1, 0, 1], atol=1e-12)
    numpy.testing.assert_allclose(curves[0], GRID / numpy.sqrt((GRID**2).mean()))
    assert curves[2, -1] > curves[2, 0] > 0  # the bend is up and the higher end is on the right


def test_the_orthonormal_polynomials_are_legendres_up_to_their_length():
    found = legendre()
    numpy.testing.assert_allclose(found @ found.T, numpy.eye(3), atol=1e-12)
    for power, row in enumerate(found, 1):
        fitted = numpy.polynomial.polynomial.polyfit(GRID, row, power)
        assert fitted[-1] > 0
        numpy.testing.assert_allclose(numpy.polynomial.polynomial.polyval(GRID, fitted), row, atol=1e-12)


@pytest.mark.parametrize(
    ("curve", "kind"),
    [
        (GRID, "linear"),
        (GRID + 0.05 * GRID**2, "linear"),
        (GRID**2 - 0.1 * GRID, "quadratic"),
        (numpy.maximum(GRID - 0.3, 0), "ReLU-like"),
        (-numpy.maximum(-GRID, 0), "ReLU-like"),
        (numpy.logaddexp(0, 20 * GRID), "ReLU-like"),
        (numpy.sin(6 * GRID), "other"),
        (GRID**3 - 0.6 * GRID, "other"),
    ],
)
def test_kinds(curve, kind):
    assert kind in KINDS
    assert kinds_of(normalised(curve[None])) == [kind]


def test_the_p_value_of_groups_that_differ_is_small_and_of_one_distribution_uniform():
    drawn = numpy.random.default_rng(1)
    groups = numpy.repeat(numpy.arange(5), 4)
    alike = [permutation_p(drawn.dirichlet([5, 5, 5], 20), groups, draws=99) for _ in range(60)]
    assert 0.3 < numpy.mean(alike) < 0.7
    apart = drawn.dirichlet([5, 5, 5], 20) + numpy.eye(5)[groups][:, :3]
    assert permutation_p(apart, groups, draws=199) <= 0.01
