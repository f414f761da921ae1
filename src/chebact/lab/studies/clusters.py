"""The learned shapes in groups: curves over the inputs that reach them, normalised, and clustered.

A network can undo a shift, a scale and a mirror image of a channel by its weights, so those do not count: a curve has
mean 0 and mean square 1, and is mirrored until its slope and its bend are not negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

__all__ = ["KINDS", "Clusters", "cluster_curves", "kinds_of", "normalised", "permutation_p"]

Array = Any
POINTS = 33
GRID = numpy.linspace(-1, 1, POINTS)
MOST_CLUSTERS = 8
SAMPLE = 1200  # curves that the start and the number of clusters are found on
LINEAR, ALIKE = 0.98, 0.95  # shares of the variance from which a curve counts as nearly such a shape
KINDS = ("linear", "quadratic", "ReLU-like", "other")


def legendre() -> Array:
    """The first three polynomials after the constant that are orthonormal on the grid: (3, points)."""
    powers = numpy.stack([GRID**power for power in range(4)], axis=1)
    return numpy.linalg.qr(powers)[0].T[1:] * numpy.sign(numpy.linalg.qr(powers)[1].diagonal())[1:, None]


def normalised(curves: Array) -> Array:
    """Curves (row, points) with mean 0, mean square 1, slope and bend not negative; a flat one is zero.

    >>> bool(numpy.allclose(normalised(3 - 2 * GRID[None]), normalised(GRID[None])))
    True
    """
    centred = curves - curves.mean(axis=1, keepdims=True)
    size = numpy.sqrt((centred**2).mean(axis=1, keepdims=True))
    unit = numpy.divide(centred, size, out=numpy.zeros_like(centred), where=size > 1e-9)
    bend = unit @ legendre()[1]
    unit = unit * numpy.where(bend < 0, -1, 1)[:, None]
    slope = unit @ legendre()[0]
    return numpy.where(slope[:, None] < 0, unit[:, ::-1], unit)


def kinds_of(curves: Array) -> list[str]:
    """The kind of every normalised curve (row, points), by the share of its variance that the best such shape has.

    >>> kinds_of(normalised(numpy.stack([GRID, GRID**2, numpy.maximum(GRID, 0), numpy.sin(6 * GRID)])))
    ['linear', 'quadratic', 'ReLU-like', 'other']
    """
    shares = (curves @ legendre().T) ** 2 / POINTS
    hinges = normalised(numpy.maximum(GRID[None] - GRID[3:-3, None], 0))
    both = numpy.concatenate([hinges, hinges[:, ::-1]])
    hinge = ((curves @ both.T / POINTS) ** 2).max(axis=1)
    found = numpy.stack([shares[:, 1], hinge], axis=1)
    best = found.argmax(axis=1)
    alike = numpy.where(found.max(axis=1) >= ALIKE, best + 1, len(KINDS) - 1)
    return [KINDS[index] for index in numpy.where(shares[:, 0] >= LINEAR, 0, alike)]


@dataclass(frozen=True)
class Clusters:
    """Centres (cluster, points), the largest cluster first; the cluster of every curve; the silhouette by number."""

    centres: Array
    labels: Array
    silhouettes: dict[int, float]

    @property
    def shares(self) -> list[float]:
        """The share of each cluster."""
        return [float((self.labels == index).mean()) for index in range(len(self.centres))]


def cluster_curves(curves: Array, most: int = MOST_CLUSTERS) -> Clusters:
    """Cluster curves (row, points). The start is Ward's linkage of evenly chosen curves, then k-means of all; the
    number of clusters, from 2 to `most`, is that of the greatest silhouette. Nothing is random.
    """
    from scipy.cluster.hierarchy import fcluster, ward
    from scipy.cluster.vq import kmeans2
    from sklearn.metrics import silhouette_score

    chosen = curves[:: -(-len(curves) // SAMPLE)]
    tree = ward(chosen)
    parts = {count: fcluster(tree, count, "maxclust") for count in range(2, min(most, len(chosen) - 1) + 1)}
    silhouettes = {count: float(silhouette_score(chosen, part)) for count, part in parts.items() if len(set(part)) > 1}
    part = parts[max(silhouettes, key=lambda count: silhouettes[count])]
    start = numpy.stack([chosen[part == index].mean(axis=0) for index in sorted(set(part))])
    centres, labels = kmeans2(curves, start, iter=100, minit="matrix")
    order = numpy.argsort(-numpy.bincount(labels, minlength=len(centres)), kind="stable")
    return Clusters(centres[order], numpy.argsort(order)[labels], silhouettes)


def permutation_p(shares: Array, groups: Array, draws: int = 1999) -> float:
    """The p-value that networks of one group do not differ from others: shares (network, cluster) and the group of each
    network. The statistic is the spread of the groups' means; the draws shuffle the networks.
    """
    names = numpy.unique(groups)

    def spread(order: Array) -> float:
        means = numpy.stack([shares[order][groups == name].mean(axis=0) for name in names])
        return float(means.var(axis=0).sum())

    drawn = numpy.random.default_rng(0)
    seen = spread(numpy.arange(len(groups)))
    others = [spread(drawn.permutation(len(groups))) for _ in range(draws)]
    return (1 + sum(other >= seen - 1e-12 for other in others)) / (1 + draws)
