"""What a record of a study holds: the errors of all seeds, function by function, and what the study keeps besides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from chebact.lab import LabError
from chebact.lab.forms import between
from chebact.lab.record import TypedRecord
from chebact.lab.spec import added
from chebact.lab.studies.spec import StudySpec

__all__ = ["RECORDS", "FunctionResults", "StudyRecord", "StudyResults"]

Error = Annotated[float, between(0, 1e100)]
Share = Annotated[float, between(0, 1)]
Channel = tuple[float, ...]


@dataclass(frozen=True)
class FunctionResults:
    """The test RMSE of every seed on one function, None where it diverged.

    A study of tails has the same `beyond` the range of the data and with inputs `clamped` to the interval, and for
    every layer the share of inputs `outside` the interval before and after training, the mean of the finite seeds. A
    study of shapes has for some finite seeds, every layer and every channel the heights, the 5 and 95 % quantiles of
    the inputs, and the effect: the deviation of the outputs times the length of the weights that follow.
    """

    function: str
    rmse: tuple[Error | None, ...]
    beyond: tuple[Error | None, ...] | None = added(None)
    clamped: tuple[Error | None, ...] | None = added(None)
    outside: tuple[tuple[Share | None, ...], ...] | None = added(None)
    shapes: tuple[tuple[tuple[Channel, ...], ...], ...] | None = added(None)


@dataclass(frozen=True)
class StudyResults:
    """The parameters of the network for three features, the trainer that ran, and the functions."""

    parameters: int
    trainer: str
    functions: tuple[FunctionResults, ...]


@dataclass(frozen=True)
class StudyRecord(TypedRecord):
    """One point of a study, all functions and seeds."""

    spec: StudySpec
    results: StudyResults

    def __post_init__(self) -> None:
        spec, found = self.spec, self.results.functions
        if tuple(each.function for each in found) != spec.functions:
            raise LabError(f"results.functions must be {', '.join(spec.functions)}")
        if any(len(each.rmse) != spec.seeds for each in found):
            raise LabError(f"results.functions must have {spec.seeds} errors each")
        width = spec.settings.degree + 4
        for each in found:
            if any(len(row) != width for seed in each.shapes or () for layer in seed for row in layer):
                raise LabError(f"results.functions must have {width} numbers per channel")
            if any(len(pair) != 2 for pair in each.outside or ()):
                raise LabError("results.functions must have the shares outside before and after training")

    @property
    def trainings(self) -> int:
        """One per function and seed."""
        return len(self.spec.functions) * self.spec.seeds


RECORDS = {"studies": StudyRecord}
