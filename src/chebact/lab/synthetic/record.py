"""What a synthetic record holds: errors of the seeds, the loss curve, the plotted slice, learned activations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from chebact.checks import Tails
from chebact.lab import LabError
from chebact.lab.captures import Histogram
from chebact.lab.forms import between
from chebact.lab.record import TypedRecord
from chebact.lab.spec import added
from chebact.lab.synthetic.spec import SyntheticSpec

__all__ = ["RECORDS", "Activations", "Curve", "Layer", "SyntheticRecord", "SyntheticResults"]


@dataclass(frozen=True)
class Seed:
    """One training: RMSE on the test points and last training loss, None where it turned NaN."""

    seed: int
    rmse: float | None
    nan: bool
    loss: float | None = added(None)


@dataclass(frozen=True)
class Curve:
    """The mean training loss at some epochs, None where no seed stayed finite."""

    epoch: tuple[int, ...]
    loss: tuple[float | None, ...]


@dataclass(frozen=True)
class Layer:
    """The kept channels of one activation of seed 0: values before and after training, inputs on the test points."""

    layer: str
    start: tuple[tuple[float, ...], ...]
    values: tuple[tuple[float, ...], ...]
    inputs: tuple[Histogram, ...]


@dataclass(frozen=True)
class Activations:
    """How the learned activations are built, and their layers."""

    degree: Annotated[int, between(1, 1000)]
    tails: Tails
    regression_nodes: int
    interval: tuple[float, float]
    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        width, (left, right) = self.degree + 1, self.interval
        if not (2 <= self.regression_nodes <= width and 1e-30 < right - left < 1e30 and self.layers):
            raise LabError("results.activations must be those of a polynomial on an interval, in one layer or more")
        for layer in self.layers:
            if not layer.values or any(len(row) != width for row in (*layer.start, *layer.values)):
                raise LabError(f"results.activations must have {width} values per channel")
            if not len(layer.start) == len(layer.values) == len(layer.inputs):
                raise LabError("results.activations must have a start, values and inputs per channel")


@dataclass(frozen=True)
class SyntheticResults:
    """One entry per seed, the curve, the predictions of seed 0 on the plotted slice, and its learned activations:
    None where seed 0 turned NaN or the network learns none. `trainer` is the one that ran; `ensemble` is the RMSE of
    the mean of all finite seeds, in records of the recommended recipe.
    """

    seeds: tuple[Seed, ...]
    curve: Curve
    slice: tuple[float | None, ...]
    trainer: str = added("torch")
    ensemble: float | None = added(None)
    activations: Activations | None = added(None)

    @property
    def rmse(self) -> tuple[float | None, ...]:
        """The RMSE of each seed, None for NaN."""
        return tuple(seed.rmse for seed in self.seeds)


@dataclass(frozen=True)
class SyntheticRecord(TypedRecord):
    """One network on one data set at one noise level, all its seeds."""

    spec: SyntheticSpec
    results: SyntheticResults

    def __post_init__(self) -> None:
        results, curve = self.results, self.results.curve
        if len(results.seeds) != self.spec.seeds:
            raise LabError(f"results.seeds must have {self.spec.seeds} entries, got {len(results.seeds)}")
        if any((seed.rmse is None) != seed.nan for seed in results.seeds):
            raise LabError("results.seeds must have a rmse unless it is nan")
        if len(curve.epoch) != len(curve.loss) or len(results.slice) < 2:
            raise LabError("results.curve and results.slice must have numbers at every point")

    @property
    def trainings(self) -> int:
        """One per seed."""
        return len(self.results.seeds)


RECORDS = {"synthetic": SyntheticRecord}
