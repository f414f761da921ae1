"""The studies: every point of a line is one record, with all functions and seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from chebact.lab import LabError
from chebact.lab.engine import Engine, Step, Work
from chebact.lab.spec import check_choice
from chebact.lab.studies.plan import specs_of_study
from chebact.lab.studies.spec import StudyRequest, StudySpec
from chebact.lab.studies.table import STUDIES
from chebact.lab.studies.training import study_results

__all__ = ["NAME", "groups_of", "run_studies"]

NAME = "studies"


def groups_of(names: Sequence[str], request: StudyRequest) -> list[list[StudySpec]]:
    """The specs of these studies, or of all, study by study, the longest trainings of each first. Points of several
    studies that are the same training are one group.
    """
    for name in names:
        check_choice("study", name, STUDIES)
    if not request.functions:
        raise LabError("functions must be one at least, got none; leave the option out for all")
    groups: dict[Any, list[StudySpec]] = {}
    for name in dict.fromkeys(names or STUDIES):
        for spec in sorted(specs_of_study(STUDIES[name], request), key=lambda spec: spec.cost(), reverse=True):
            groups.setdefault((spec.settings, spec.keep), []).append(spec)
    return list(groups.values())


def run_studies(
    names: Sequence[str], request: StudyRequest, results: Path, *, workers: int | None = None, dask: str | None = None
) -> Iterator[Step]:
    """Train what is missing in the results folder and write the records; yields what was there, then every group."""
    engine = Engine(results, workers=workers, dask=dask)
    yield from engine.run(groups_of(names, request), Work(NAME, study_results))
