"""What the study of shapes says, in one paragraph."""

from __future__ import annotations

from chebact.lab.functions import DATASETS
from chebact.lab.studies.rows import Reading
from chebact.lab.studies.shapes import Shapes
from chebact.lab.studies.shapes_figure import name_centres

__all__ = ["shapes_paragraph"]

LEVEL = 0.01  # of the p-value


def shapes_paragraph(reading: Reading) -> str:
    """The clusters, the kinds, the dead, and whether they depend on the function."""
    shapes = reading.shapes
    count, best = len(shapes.clusters.centres), max(shapes.clusters.silhouettes.values())
    named = zip(name_centres(shapes), shapes.clusters.shares, strict=True)
    centres = ", ".join(f"{name} ({share:.0%})" for name, share in named)
    kinds = "; ".join(describe_kinds(shapes, line) for line in shapes.channels.lines)
    depends = "; ".join(describe_dependence(shapes, line) for line in shapes.channels.lines)
    certain = all(shapes.dependence(line) < LEVEL for line in shapes.channels.lines)
    return (
        f"Of {len(shapes.channels.dead):,} channels, each seen over the middle 90 % of its inputs, shift, scale and "
        f"mirror image aside, the silhouette finds {count} clusters ({best:.2f}): {centres}. By kind: {kinds}. A curve "
        "counts as a line, a parabola or a ReLU where that explains 98, 95 or 95 % of its variance, and as dead where "
        "its effect on the next layer is below 1 % of the mean of its layer. "
        f"{'The shapes depend on the function' if certain else 'By function'}: {depends}."
    )


def describe_kinds(shapes: Shapes, line: str) -> str:
    """The kinds of a line's channels in percent."""
    found = shapes.kind_shares(line)
    words = ", ".join(f"{share:.0%} {kind}" for kind, share in found.items())
    return f"{line.removeprefix('cl-')} recipe {words}, and {shapes.dead_share(line):.0%} of all dead"


def describe_dependence(shapes: Shapes, line: str) -> str:
    """The functions with the fewest and the most straight channels, and the p-value."""
    straight = {function: shapes.shares(line, function)[0] for function in shapes.channels.functions}
    least, most = min(straight, key=lambda name: straight[name]), max(straight, key=lambda name: straight[name])
    return (
        f"by the {line.removeprefix('cl-')} recipe from {straight[least]:.0%} in the first cluster on "
        f"{DATASETS[least].title} to {straight[most]:.0%} on {DATASETS[most].title} (p = {shapes.dependence(line):.4f} "
        "with networks shuffled)"
    )
