"""The synthetic experiment: eleven networks, seven data sets, two noise levels, ten seeds each.

A record is of one network on one data set at one noise level, with all its seeds. Those of one network are trained
together, as replicas of one batched network, in groups that depend on the request only. No replica's result
depends on its companions, to the last bit (`padded_count` says what that takes), so a folder may be filled in any
number of requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from chebact.lab.engine import Engine, Step, Work
from chebact.lab.synthetic.spec import SyntheticRequest
from chebact.lab.synthetic.training import train_together

__all__ = ["NAME", "run_synthetic"]

NAME = "synthetic"


def run_synthetic(
    request: SyntheticRequest, results: Path, *, workers: int | None = None, dask: str | None = None
) -> Iterator[Step]:
    """Train what is missing in the results folder and write the records; yields what was there, then every group.

    A group is trained even where some of its records exist: what is trained together is fixed.
    """
    engine = Engine(results, workers=workers, dask=dask)
    yield from engine.run(request.groups(), Work(NAME, train_together, batched=True))
