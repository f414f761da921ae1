"""The records of private inference as rows: one model at one degree on one table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from chebact.lab.private.record import PrivateRecord, SplitResult

__all__ = ["Row", "rows_of"]


@dataclass(frozen=True)
class Row:
    """Means over the splits that were not lost; accuracies and shares are in percent. `accuracy` is that of the network
    in the clear: of the model `cl` without its tails, of all others as they were trained. `scores` are the accuracies
    of these splits where the network is used: on ciphertexts if it is served.
    """

    data: str
    model: str
    degree: int
    splits: int
    lost: int
    accuracy: float | None
    deviation: float | None
    cut_accuracy: float | None
    channels_outside: float | None
    headroom: float | None
    encrypted_accuracy: float | None
    test_rows: int
    same_decisions: int | None
    largest_error: float | None
    levels: int | None
    ring: int | None
    rows_per_ciphertext: int | None
    row_seconds: float | None
    batch_row_seconds: float | None
    scores: tuple[float, ...] = ()

    @property
    def used_accuracy(self) -> float | None:
        """On ciphertexts if the network is served, otherwise in the clear."""
        return self.accuracy if self.encrypted_accuracy is None else self.encrypted_accuracy

    @property
    def used_error(self) -> float:
        """The standard error of `used_accuracy`, zero for one split."""
        return stdev(self.scores) / len(self.scores) ** 0.5 if len(self.scores) > 1 else 0.0

    @property
    def values(self) -> dict[str, Any]:
        """As plain values, for files."""
        return {name: value for name, value in vars(self).items() if name != "scores"}

    def describe(self) -> str:
        """The accuracy in the clear and encrypted, in words."""
        clear = "all splits lost" if self.accuracy is None else f"{self.accuracy:.1f} % in the clear"
        sealed = "" if self.encrypted_accuracy is None else f", {self.encrypted_accuracy:.1f} % encrypted"
        return clear + sealed + (f", {self.lost} lost" if self.lost and self.accuracy is not None else "")


def rows_of(records: Iterable[PrivateRecord]) -> list[Row]:
    """A row per record."""
    return [row_of(record) for record in records]


def row_of(record: PrivateRecord) -> Row:
    spec, results = record.spec, record.results
    served, kept = results.served, [split for split in results.splits if not split.lost]
    name = "cut_accuracy" if spec.model == "cl" else "accuracy"
    scores = [100 * getattr(split, name) for split in kept if getattr(split, name) is not None]
    batch = served.ciphertext_seconds / served.rows_per_ciphertext if served else None
    same = [split.same_decisions for split in kept if split.same_decisions is not None]
    return Row(
        data=spec.data,
        model=spec.model,
        degree=spec.degree,
        splits=len(results.splits),
        lost=len(results.splits) - len(kept),
        accuracy=fmean(scores) if scores else None,
        deviation=stdev(scores) if len(scores) > 1 else None,
        cut_accuracy=mean_of(kept, "cut_accuracy", 100),
        channels_outside=mean_of(kept, "channels_outside", 100),
        headroom=min((split.headroom for split in kept if split.headroom is not None), default=None),
        encrypted_accuracy=mean_of(kept, "encrypted_accuracy", 100),
        test_rows=sum(split.test_rows for split in kept),
        same_decisions=sum(same) if same else None,
        largest_error=max((split.largest_error for split in kept if split.largest_error is not None), default=None),
        levels=served.levels if served else None,
        ring=served.ring if served else None,
        rows_per_ciphertext=served.rows_per_ciphertext if served else None,
        row_seconds=served.row_seconds if served else None,
        batch_row_seconds=batch,
        scores=tuple(scores if served is None else [100 * (split.encrypted_accuracy or 0.0) for split in kept]),
    )


def mean_of(splits: list[SplitResult], name: str, factor: float) -> float | None:
    """The mean of what some splits have."""
    found = [getattr(split, name) for split in splits if getattr(split, name) is not None]
    return factor * fmean(found) if found else None
