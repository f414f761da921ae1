"""The experiments, one row each. The command line and the page read this table and import what a row names."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = ["EXPERIMENTS", "MEASURED", "Experiment", "Measured", "load"]


@dataclass(frozen=True)
class Experiment:
    """One experiment. Fields with a colon are places, `module:name`, which `load` imports.

    `trains` and `shows` are the lines of its two commands in `chebact run --help` and `chebact report --help`.
    """

    name: str
    title: str
    spec: str
    run: str
    report: str
    sections: str
    trains: str
    shows: str


@dataclass(frozen=True)
class Measured:
    """What is no experiment and has a part of the page of all experiments."""

    title: str
    sections: str


EXPERIMENTS: dict[str, Experiment] = {
    row.name: row
    for row in (
        Experiment(
            "synthetic",
            "Synthetic functions",
            "chebact.lab.synthetic.spec:spec_of",
            "chebact.lab.synthetic.commands:run",
            "chebact.lab.synthetic.report_command:report",
            "chebact.lab.synthetic.section:sections",
            "Train the networks of the synthetic tables: regression of seven functions.",
            "The synthetic tables, each cell beside the published one, and the page with the figures.",
        ),
        Experiment(
            "clinical",
            "Voice recordings",
            "chebact.lab.clinical.spec:spec_of",
            "chebact.lab.clinical.commands:run",
            "chebact.lab.clinical.report_command:report",
            "chebact.lab.clinical.section:sections",
            "Train classifiers of voice recordings, on generated data or on your own table.",
            "The clinical tables, with the tests between models, and the page.",
        ),
        Experiment(
            "images",
            "Images",
            "chebact.lab.images.spec:spec_of",
            "chebact.lab.images.commands:run",
            "chebact.lab.images.report_command:report",
            "chebact.lab.images.section:sections",
            "Train the shake-shake network on images.",
            "The table of image classification, each activation against ReLU, and the page.",
        ),
        Experiment(
            "tables",
            "Tables",
            "chebact.lab.tables.spec:spec_of",
            "chebact.lab.tables.commands:run",
            "chebact.lab.tables.report_command:report",
            "chebact.lab.tables.section:sections",
            "Fit the estimators and those of scikit-learn on tables, by cross-validation.",
            "The comparison on tables, and the coverage of predicted intervals.",
        ),
    )
}


MEASURED = Measured("What it costs", "chebact.lab.bench.section:sections")


def load(place: str) -> Any:
    """What stands at a place such as `chebact.lab:LabError`.

    >>> load("chebact.lab:LabError").__name__
    'LabError'
    """
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
