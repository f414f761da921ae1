"""What an image record holds: accuracy and curves of each seed, and the units that were captured of the first."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Annotated

from chebact.lab import LabError
from chebact.lab.captures import Histogram, histogram_of
from chebact.lab.forms import between
from chebact.lab.images.spec import ImageSpec
from chebact.lab.record import Run, TypedRecord
from chebact.lab.spec import added

__all__ = ["RECORDS", "Captures", "Curves", "ImageRecord", "ImageResults", "Seed", "Unit"]


@dataclass(frozen=True)
class Curves:
    """Numbers of every epoch, None where they were not finite."""

    train_loss: tuple[float | None, ...]
    test_loss: tuple[float | None, ...]
    test_accuracy: tuple[float | None, ...]

    def __post_init__(self) -> None:
        if not len(self.train_loss) == len(self.test_loss) == len(self.test_accuracy):
            raise LabError("results.seeds must have curves of one length")


@dataclass(frozen=True)
class Seed:
    """One training: final test accuracy (0 to 1) and loss, None if it diverged, and its curves."""

    seed: int
    accuracy: Annotated[float, between(0, 1)] | None
    nan: bool
    curves: Curves
    loss: float | None = added(None)

    def __post_init__(self) -> None:
        if (self.accuracy is None) != self.nan:
            raise LabError("results.seeds must have an accuracy unless it is nan")


@dataclass(frozen=True)
class Unit:
    """A captured unit: the histogram of its inputs from `low` to `high`, its heights at equal steps between them, and
    its learned values, None where it learns none.
    """

    convolution: int
    unit: int
    low: float
    high: float
    counts: tuple[int, ...]
    shape: tuple[float, ...]
    values: tuple[float, ...] | None

    def __post_init__(self) -> None:
        if not (self.counts and len(self.shape) > 1 and self.low < self.high):
            raise LabError("results.captures must have counts and a shape, from low to high")

    @property
    def inputs(self) -> Histogram:
        """The histogram of its inputs."""
        return histogram_of(self.low, self.high, self.counts)


@dataclass(frozen=True)
class Captures:
    """The captured units of the first seed before and after training; none after a training that diverged."""

    before: tuple[Unit, ...]
    after: tuple[Unit, ...]


@dataclass(frozen=True)
class ImageCounts:
    """How many images there are."""

    train: int
    test: int


@dataclass(frozen=True)
class ImageResults:
    """The results of all seeds."""

    parameters: int
    seeds: tuple[Seed, ...]
    captures: Captures
    images: ImageCounts | None = added(None)


@dataclass(frozen=True, kw_only=True)
class EpochTimes(Run):
    """When and where it ran, with the seconds of every epoch of every seed."""

    seconds: tuple[tuple[Annotated[float, between(0, 1e12)], ...], ...]

    def __post_init__(self) -> None:
        if not any(self.seconds):
            raise LabError("run.seconds must have the time of one epoch at least")

    @property
    def total_seconds(self) -> float:
        """All seconds, added up."""
        return sum(map(sum, self.seconds))

    @property
    def per_epoch(self) -> float:
        """The median time of a training epoch."""
        return median(second for seed in self.seconds for second in seed)


@dataclass(frozen=True)
class ImageRecord(TypedRecord):
    """One activation on one image set, all its seeds."""

    spec: ImageSpec
    results: ImageResults
    run: EpochTimes

    def __post_init__(self) -> None:
        seeds, captures = self.results.seeds, self.results.captures
        if len(seeds) != self.spec.seeds:
            raise LabError(f"results.seeds must have {self.spec.seeds} entries, got {len(seeds)}")
        width = self.spec.degree + 1
        if any(unit.values and len(unit.values) != width for unit in (*captures.before, *captures.after)):
            raise LabError(f"results.captures must have {width} values per unit")

    @property
    def trainings(self) -> int:
        """One per seed."""
        return len(self.results.seeds)


RECORDS = {"images": ImageRecord}
