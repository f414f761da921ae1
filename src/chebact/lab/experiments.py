"""The experiments, one row each. The command line and the page read this table and import what a row names."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = ["EXPERIMENTS", "MEASURED", "Experiment", "load"]


@dataclass(frozen=True)
class Experiment:
    """One experiment. Its folder in `package` has its name, and in that folder the files `commands`, `report_command`
    and `section` have the functions `run`, `report` and `sections`.

    `trains` and `shows` are the lines of its two commands in `chebact run --help` and `chebact report --help`; `also`
    are other names of both.
    """

    name: str
    title: str
    trains: str
    shows: str
    package: str = "chebact.lab"
    also: tuple[str, ...] = ()

    @property
    def run(self) -> str:
        """The function of `chebact run`, as `load` takes it."""
        return f"{self.package}.{self.name}.commands:run"

    @property
    def report(self) -> str:
        """The function of `chebact report`."""
        return f"{self.package}.{self.name}.report_command:report"

    @property
    def sections(self) -> str:
        """The function that gives its sections of the page."""
        return f"{self.package}.{self.name}.section:sections"


ROWS = (
    Experiment(
        "synthetic",
        "Synthetic functions",
        "Train the networks of the synthetic tables: regression of seven functions.",
        "The synthetic tables, each cell beside the published one, and the page with the figures.",
    ),
    Experiment(
        "clinical",
        "Voice recordings",
        "Train classifiers of voice recordings, on generated data or on your own table.",
        "The clinical tables, with the tests between models, and the page.",
    ),
    Experiment(
        "images",
        "Images",
        "Train the shake-shake network on images.",
        "The table of image classification, each activation against ReLU, and the page.",
    ),
    Experiment(
        "arena",
        "Arena",
        "Fit many models on many tables, all with the same splits, or on a table of your own.",
        "The scores of the arena, the mean ranks, each model against ours, and the page.",
    ),
    Experiment(
        "studies",
        "Studies",
        "Train the studies of one axis each: degree, points, noise, size, interval, tails, regularisation, shapes.",
        "The studies: a table, a picture and a paragraph each.",
        also=("study",),
    ),
)
EXPERIMENTS: dict[str, Experiment] = {row.name: row for row in ROWS}
MEASURED = {"What it costs": "chebact.lab.bench.section:sections"}
"""Sections of the page of all experiments that are of no experiment, by title."""


def load(target: str) -> Any:
    """The object that a text such as `chebact.lab:LabError` names.

    >>> load("chebact.lab:LabError").__name__
    'LabError'
    """
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)
