"""CL against the other activations on the same splits: differences with their confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
from scipy.stats import t

from chebact.lab.page.sheet import Cell, Head, Sheet
from chebact.lab.private.rows import Row

__all__ = ["difference", "paired_sheet"]

LEVEL = 0.95
OWN = (("cl", 2), ("cl", 3))


def difference(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """The mean difference of two models on the same splits, and half the width of its 95 % interval by Student's t.

    >>> mean, half = difference([1.0, 2.0, 4.0], [1.0, 1.0, 2.0])
    >>> round(mean, 2), round(half, 2)
    (1.0, 2.48)
    """
    values = numpy.subtract(ours, theirs)
    half = t.ppf((1 + LEVEL) / 2, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    return float(values.mean()), float(half)


def paired_sheet(rows: Sequence[Row], datasets: Sequence[str], titles: dict[str, str], names: dict[str, str]) -> Sheet:
    """Points by which CL is ahead, per data set and in the mean: the k-th splits of all sets are taken together."""
    scores = {(row.model, row.degree, row.data): row.scores for row in rows}
    others = [kind for kind in dict.fromkeys((row.model, row.degree) for row in rows) if not kind[0].startswith("cl")]
    body = []
    for own in OWN:
        for other in sorted(others, key=lambda kind: (list(titles).index(kind[0]), kind[1])):
            pairs = [(scores.get((*own, data), ()), scores.get((*other, data), ())) for data in datasets]
            if all(len(ours) == len(theirs) == len(pairs[0][0]) > 1 for ours, theirs in pairs):
                together = [numpy.mean(side, axis=0) for side in zip(*pairs, strict=True)]
                name = titles[other[0]].removesuffix(", clear only") + (f", degree {other[1]}" if other[1] else "")
                cells = [_cell(*difference(*pair)) for pair in (*pairs, together)]
                body.append((Cell(str(own[1]), own[1]), Cell(name), *cells))
    heads = (*(names.get(each, each) for each in datasets), "mean")
    columns = (Head("CL, degree", right=True), Head("less"), *(Head(head, right=True) for head in heads))
    caption = "Points by which CL with the range penalty is ahead on the same splits, with the 95 % interval"
    return Sheet("private-paired", caption, columns, tuple(body))


def _cell(mean: float, half: float) -> Cell:
    return Cell(f"{mean:+.1f} ± {half:.1f}", mean)
