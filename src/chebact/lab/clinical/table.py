"""Tables of recordings: one row per recording, with a subject, a label and features.

As in the paper, columns with a missing value are left out, and so are recordings of other diagnoses. Any other fault
is an error that names the row (the header is row 1) and the column.
"""

from __future__ import annotations

import csv
import hashlib
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from chebact.lab.clinical.cells import DataError, is_missing, label_of, number_of
from chebact.lab.clinical.duplicates import describe_duplicates
from chebact.lab.clinical.features import PAPER_FEATURES

__all__ = [
    "PRESETS",
    "SMALLEST",
    "Columns",
    "DataError",
    "Recordings",
    "TwoLabels",
    "preset",
    "read_recordings",
    "rows_of",
]

TwoLabels = Literal["refuse", "keep", "drop"]
UNNAMED = re.compile(r"(Unnamed: \d+)?")  # the second is what pandas calls a column without a name
PUBLISHED = {
    "b31fde8385b198d3": "5477a6d0c70a7420",
    "9abe4b6e930b56b5": "36bf81fd9c2be748",
}  # generated tables with records: rounded, and in full
SMALLEST = 1e-150  # deviation of a column: the squares of smaller ones are lost
Row = tuple[int, list[str]]  # its number in the file, and its cells


@dataclass(frozen=True)
class Columns:
    """What the columns of a table mean.

    Recordings whose label is `positive` are class 1. `negative` lists the labels of class 0, and recordings of any
    other are left out; without it, there must be just one other label. `features` names the columns to learn from;
    without it, all that have a name but `subject`, `label` and `drop`. `two_labels` says what to do with a subject
    whose recordings have both labels.
    """

    subject: str
    label: str
    positive: str
    negative: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    two_labels: TwoLabels = "refuse"


EXPORT = Columns("original_subject_id", "diagnoses", "ad", ("hc",))
PRESETS: Mapping[str, Columns] = MappingProxyType(
    {
        "dementiabank": replace(EXPORT, features=PAPER_FEATURES),
        "famouspeople": EXPORT,
        "parkinson-replicated": Columns("ID", "Status", "1", ("0",), drop=("Recording", "Gender")),
        "parkinson-multiple": Columns("subject_id", "class_info", "1", ("0",), drop=("UPDRS",)),
    }
)
"""The columns of known tables: DementiaBank and FamousPeople as the paper's authors export them, and two open sets of
voices of people with Parkinson's disease (UCI 489 and 301; UPDRS is a score of the disease itself).
"""


def preset(name: str) -> Columns:
    """The columns of a known table, or a `DataError` that lists the names.

    >>> preset("dementiabank").subject
    'original_subject_id'
    """
    if name not in PRESETS:
        raise DataError(f"preset must be one of {', '.join(PRESETS)}, got {name!r} ({type(name).__name__})")
    return PRESETS[name]


@dataclass(frozen=True, eq=False)
class Recordings:
    """A table in memory: x (recording, feature), y (recording,) of 0 and 1, one subject per recording.

    `left_out` says in words what of the file is not there, `remarks` what is strange in it. `generated` is True for
    generated data.

    >>> table = Recordings("two", np.zeros((2, 1)), np.array([0, 1]), ("a", "b"), ("pause",))
    >>> table.size, table.positive
    ((2, 1), 1)
    """

    name: str
    x: NDArray[np.float64]
    y: NDArray[np.int64]
    subjects: tuple[str, ...]
    features: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    generated: bool = False
    remarks: tuple[str, ...] = ()

    @property
    def size(self) -> tuple[int, int]:
        """Recordings and features."""
        return self.x.shape[0], self.x.shape[1]

    @property
    def positive(self) -> int:
        """The number of recordings of class 1."""
        return int(self.y.sum())

    @property
    def digest(self) -> str:
        """The start of a SHA-256 of the data: names, subjects, labels and the bits of x.

        The last bits of generated numbers depend on the processor (exponentials, matrix products), so that those count
        to three decimals. A generated table that was published under the digest of all its bits keeps that one.
        """
        x = np.rint(1000 * self.x).astype("<i8") if self.generated else self.x
        shown = hashlib.sha256("\0".join((*self.features, "", *self.subjects)).encode())
        shown.update(np.ascontiguousarray(x).tobytes() + np.ascontiguousarray(self.y).tobytes())
        digest = shown.hexdigest()[:16]
        return PUBLISHED.get(digest, digest) if self.generated else digest

    def with_features(self, names: Sequence[str]) -> Recordings:
        """The same recordings with only these columns, in this order; a `DataError` names those that are missing."""
        missing = [name for name in names if name not in self.features]
        if missing or not names:
            raise DataError(f"{self.name} has no feature {quote_names(missing)}" if missing else "no feature is named")
        columns = [self.features.index(name) for name in names]
        return replace(self, x=self.x[:, columns], features=tuple(names))


def read_recordings(path: Path | str, columns: Columns, *, name: str | None = None) -> Recordings:
    r"""Read a CSV file with a header, in UTF-8.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("who,ill,pause,rate\nann,yes,0.5,3\nbob,no,0.1,\n")
    ...     file.flush()
    ...     table = read_recordings(file.name, Columns("who", "ill", "yes"))
    >>> table.features, table.y.tolist(), table.left_out
    (('pause',), [1, 0], ("1 column with missing values: 'rate'",))
    """
    path = Path(path)
    if columns.two_labels not in get_args(TwoLabels):
        raise DataError(f"two_labels must be one of {', '.join(get_args(TwoLabels))}, got {columns.two_labels!r}")
    header, rows = rows_of(path)
    check_header(path, header, columns)
    kept, labels, other = split_by_label(path, header, rows, columns)
    subjects = subjects_of(path, header, kept, columns)
    kept, labels, subjects, mixed = settle_two_labels(path, kept, labels, subjects, columns.two_labels)
    wanted, unnamed = features_of(header, columns)
    x, missing = numbers_of(path, header, kept, wanted)
    names = tuple(x)
    if not names:
        raise DataError(f"{path} has no column without missing values to learn from")
    table = np.array([x[each] for each in names], dtype=np.float64).T.copy()
    check_duplicates(path, table, names)
    check_deviations(path, table, names)
    y, notes, remarks = (
        np.array(labels, dtype=np.int64),
        (*other, *mixed, *unnamed, *missing),
        describe_duplicates(table, subjects),
    )
    return Recordings(name or path.stem, table, y, tuple(subjects), names, notes, remarks=remarks)


def features_of(header: Sequence[str], columns: Columns) -> tuple[list[str], list[str]]:
    """The columns to learn from, and in words those that have no name: a number of the row, as `to_csv` of pandas
    writes it, may give the label away.
    """
    if columns.features:
        return [each for each in columns.features if each not in columns.drop], []
    free = [each for each in header if each not in (columns.subject, columns.label, *columns.drop)]
    unnamed = [str(index) for index, each in enumerate(header, 1) if each in free and UNNAMED.fullmatch(each)]
    note = [f"{count_words(len(unnamed), 'column')} without a name: number {', '.join(unnamed)}"] if unnamed else []
    return [each for each in free if not UNNAMED.fullmatch(each)], note


def rows_of(path: Path) -> tuple[list[str], list[Row]]:
    """The header, and the rows that are not empty."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [(number, cells) for number, cells in enumerate(csv.reader(file, strict=True), 1) if any(cells)]
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} is not a CSV file in UTF-8: {error}") from error
    if len(rows) < 2:
        raise DataError(f"{path} must have a header and one recording or more, got {len(rows)} rows")
    check_separator(path, ",".join(rows[0][1]))
    header = [cell.strip() for cell in rows[0][1]]
    for number, cells in rows[1:]:
        if len(cells) != len(header):
            raise DataError(f"{path}, row {number} must have {len(header)} cells as the header has, got {len(cells)}")
    return header, rows[1:]


def check_separator(path: Path, header: str) -> None:
    """A `DataError` where the columns are separated by something other than commas."""
    for mark, name in ((";", "semicolons"), ("\t", "tabs")):
        if header.count(mark) > header.count(","):
            raise DataError(
                f"{path} must have commas between its columns, got {name} in its header; save it as CSV with commas, "
                "and with points in its numbers"
            )


def check_header(path: Path, header: Sequence[str], columns: Columns) -> None:
    """A `DataError` unless each name is there once, and all that `columns` names are there."""
    twice = [each for position, each in enumerate(header) if each and each in header[:position]]
    if twice:
        raise DataError(f"{path} has the column {quote_names(twice)} more than once in its header")
    asked = [columns.subject, columns.label, *columns.drop, *(columns.features or ())]
    missing = [each for each in dict.fromkeys(asked) if each not in header]
    if missing:
        shown = quote_names(header[:8]) + (" and more" if len(header) > 8 else "")
        raise DataError(f"{path} has no column {quote_names(missing)}; its columns are {shown}")
    if columns.subject == columns.label:
        raise DataError(f"{path}: the column {columns.label!r} cannot be both the subject and the label")
    inside = [each for each in columns.features or () if each in (columns.subject, columns.label)]
    if inside:
        raise DataError(f"{path}: the column {quote_names(inside)} is the subject or the label and cannot be a feature")


def split_by_label(
    path: Path, header: Sequence[str], rows: Sequence[Row], columns: Columns
) -> tuple[list[Row], list[int], list[str]]:
    """The rows of either class, their labels, and in words how many are of neither."""
    index, negative = header.index(columns.label), columns.negative
    if columns.positive in (negative or ()):
        raise DataError(f"{path}: the label {columns.positive!r} cannot be both positive and negative")
    known = (columns.positive, *(negative or ()))
    found = [label_of(path, number, columns.label, cells[index], known) for number, cells in rows]
    others = sorted({each for each in found if each is not None} - {columns.positive})
    if negative is None and len(others) != 1:
        raise DataError(
            f"{path}, column {columns.label!r} must have one label beside {columns.positive!r}, got "
            f"{quote_names(others) if others else 'none'}; name the other class with `negative`"
        )
    classes = {**dict.fromkeys(negative or others, 0), columns.positive: 1}
    for label in classes:
        if label not in found:
            raise DataError(f"{path}, column {columns.label!r}: no row has the label {label!r}")
    pairs = [(row, classes[each]) for row, each in zip(rows, found, strict=True) if each in classes]
    left = len(rows) - len(pairs)
    note = [f"{count_words(left, 'recording')} of other diagnoses"] if left else []
    return [row for row, _ in pairs], [label for _, label in pairs], note


def subjects_of(path: Path, header: Sequence[str], rows: Sequence[Row], columns: Columns) -> list[str]:
    index = header.index(columns.subject)
    for number, cells in rows:
        if is_missing(cells[index]):
            said = f" ({cells[index].strip()!r})" if cells[index].strip() else ""
            raise DataError(f"{path}, row {number}, column {columns.subject!r}: the subject is missing{said}")
    return [cells[index].strip() for _, cells in rows]


def settle_two_labels(
    path: Path, rows: list[Row], labels: list[int], subjects: list[str], rule: TwoLabels
) -> tuple[list[Row], list[int], list[str], list[str]]:
    """Refuse, keep or drop subjects whose recordings have both labels."""
    first: dict[str, tuple[int, int]] = {}
    mixed: dict[str, tuple[int, int]] = {}
    for (number, _), label, subject in zip(rows, labels, subjects, strict=True):
        row, known = first.setdefault(subject, (number, label))
        if label != known:
            mixed.setdefault(subject, (row, number))
    if not mixed or rule == "keep":
        return rows, labels, subjects, []
    if rule == "refuse":
        subject, (row, number) = next(iter(mixed.items()))
        more = f" ({len(mixed) - 1} more like that)" if len(mixed) > 1 else ""
        raise DataError(
            f"{path}: subject {subject!r} has one label in row {row} and the other in row {number}{more}; "
            "choose `two_labels` keep or drop"
        )
    kept = [index for index, subject in enumerate(subjects) if subject not in mixed]
    note = f"{count_words(len(mixed), 'subject')} with both labels"
    return [rows[i] for i in kept], [labels[i] for i in kept], [subjects[i] for i in kept], [note]


def numbers_of(
    path: Path, header: Sequence[str], rows: Sequence[Row], names: Sequence[str]
) -> tuple[dict[str, list[float]], list[str]]:
    """The columns without a missing value, as numbers, and in words those with one."""
    full: dict[str, list[float]] = {}
    missing = []
    for name in names:
        index = header.index(name)
        column = [number_of(path, number, name, cells[index]) for number, cells in rows]
        if any(value is None for value in column):
            missing.append(name)
        else:
            full[name] = [value for value in column if value is not None]
    count = count_words(len(missing), "column")
    return full, [f"{count} with missing values: {quote_names(missing)}"] if missing else []


def check_duplicates(path: Path, x: NDArray[np.float64], names: Sequence[str]) -> None:
    """A `DataError` for two columns of the same numbers; constant columns are left out of every fold anyway."""
    seen: dict[bytes, str] = {}
    pairs = []
    for name, column in zip(names, x.T, strict=True):
        if np.ptp(column) > 0 and (known := seen.setdefault(column.tobytes(), name)) != name:
            pairs.append((known, name))
    if pairs:
        shown = ", ".join(f"{one!r} and {other!r}" for one, other in pairs)
        raise DataError(
            f"{path} has the same numbers in every row of the columns {shown}; "
            f"leave one of each out with `drop` {' '.join(shlex.quote(other) for _, other in pairs)}"
        )


def check_deviations(path: Path, x: NDArray[np.float64], names: Sequence[str]) -> None:
    """A `DataError` for columns whose deviation is too small to compute."""
    small = [name for name, column in zip(names, x.T, strict=True) if np.ptp(column) > 0 and np.std(column) < SMALLEST]
    if small:
        raise DataError(
            f"{path}: the numbers of the column {quote_names(small)} differ by less than {SMALLEST:g}; give them in "
            f"another unit, or leave it out with `drop` {' '.join(map(shlex.quote, small))}"
        )


def count_words(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def quote_names(names: Collection[str], most: int = 8) -> str:
    """The names in quotes, the first few of many."""
    shown = ", ".join(repr(name) for name in list(names)[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
