"""What a record of private inference holds: the splits of one model on one table, and what its encryption takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from chebact.lab import LabError
from chebact.lab.forms import between
from chebact.lab.private.spec import PrivateSpec
from chebact.lab.record import TypedRecord
from chebact.lab.spec import added

__all__ = ["RECORDS", "PrivateRecord", "PrivateResults", "Served", "SplitResult"]

Share = Annotated[float, between(0, 1)]


@dataclass(frozen=True)
class SplitResult:
    """One training. `accuracy` is that of the network that is trained, on the test rows, None where it was lost to
    numbers that are not finite; `cut_accuracy` that of learned activations without their tails, `headroom` what is
    left of the interval on the training rows (negative outside), `channels_outside` the share of channels that leave
    it on test rows. On ciphertexts: accuracy, rows with the decision of the clear, difference of outputs.
    `setting` is the one that was chosen on inner splits of the training rows.
    """

    test_rows: int
    lost: bool
    accuracy: Share | None = added(None)
    cut_accuracy: Share | None = added(None)
    headroom: float | None = added(None)
    channels_outside: Share | None = added(None)
    encrypted_accuracy: Share | None = added(None)
    same_decisions: int | None = added(None)
    largest_error: float | None = added(None)
    setting: str | None = added(None)


@dataclass(frozen=True)
class Served:
    """The costs of a plan, and processor seconds: of one row from end to end, of one ciphertext on the server."""

    levels: int
    ring: int
    scale_bits: int
    rows_per_ciphertext: int
    ciphertext_products: int
    plaintext_products: int
    rotations: int
    row_seconds: Annotated[float, between(0, 1e9)]
    ciphertext_seconds: Annotated[float, between(0, 1e9)]


@dataclass(frozen=True)
class PrivateResults:
    """The size of the table, the splits, and what serving takes, None where nothing is served."""

    rows: int
    columns: int
    classes: int
    splits: tuple[SplitResult, ...]
    served: Served | None = added(None)


@dataclass(frozen=True)
class PrivateRecord(TypedRecord):
    """One model at one degree on one table."""

    spec: PrivateSpec
    results: PrivateResults

    def __post_init__(self) -> None:
        if len(self.results.splits) != self.spec.splits:
            raise LabError(f"results must have {self.spec.splits} splits, got {len(self.results.splits)}")

    @property
    def trainings(self) -> int:
        """One per split."""
        return self.spec.splits


RECORDS = {"private": PrivateRecord}
