"""Private inference for people: a table per data set, and the means over the data sets."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from chebact.lab.page.sheet import Cell, Head, Sheet, as_markdown, plus_minus
from chebact.lab.private.paired import paired_sheet
from chebact.lab.private.rows import Row

__all__ = ["NAMES", "TITLES", "blocks", "data_sheet", "mean_sheet", "ordered", "served", "sheets_of"]

TITLES = {
    "relu": "ReLU, clear only",
    "cl-tails": "CL with tails, clear only",
    "square": "square",
    "relu-fit": "fixed fit of ReLU",
    "silu-fit": "fixed fit of SiLU",
    "cl": "CL, range penalty",
}
COSTS = ("decisions", "difference", "levels", "ring", "one row, s", "in a batch, ms")
NAMES = {"breast-cancer": "breast cancer", "wine": "wine", "voice": "Parkinson's from voice"}
NOTES = (
    "clear, encrypted: test accuracy in percent, mean and deviation over the splits; lost: splits with numbers that "
    "are not finite, left out of the mean",
    "decisions: test rows with the same class on ciphertexts as in the clear; difference: the largest of any output",
    "one row: processor seconds of encryption, evaluation and decryption of a row; in a batch: milliseconds of the "
    "server per row if the ciphertext is full",
)


def served(rows: Sequence[Row]) -> list[Row]:
    """Those that are evaluated on ciphertexts."""
    return [row for row in rows if TITLES[row.model].find("clear only") < 0]


def ordered(rows: Sequence[Row]) -> list[Row]:
    """By model in the order of `TITLES`, then by degree."""
    return sorted(rows, key=lambda row: (list(TITLES).index(row.model), row.degree))


def sheets_of(rows: Sequence[Row]) -> list[Sheet]:
    """The means, the differences on the same splits, then a sheet per data set."""
    found = [data for data in NAMES if any(row.data == data for row in rows)]
    found += sorted({row.data for row in rows} - set(found))
    sheets = [data_sheet([row for row in rows if row.data == data], data) for data in found]
    compared = paired_sheet(rows, found, TITLES, NAMES)
    return [mean_sheet(rows, found), *([compared] if compared.rows else []), *sheets] if rows else []


def name_cells(row: Row) -> tuple[Cell, Cell]:
    """The model and its degree."""
    return Cell(TITLES[row.model]), Cell(str(row.degree) if row.degree else "-", row.degree)


def accuracy_cell(mean: float | None, deviation: float | None = None, *, best: bool = False) -> Cell:
    """An accuracy in percent; a dash where there is none."""
    if mean is None:
        return Cell("-")
    return Cell(plus_minus(mean, deviation, 1), mean, mark="best" if best else "")


def data_sheet(rows: Sequence[Row], data: str) -> Sheet:
    """One data set: a row per model and degree, the best polynomial marked."""
    most = max((row.accuracy for row in served(rows) if row.accuracy is not None), default=None)
    body = []
    for row in ordered(rows):
        best = row in served(rows) and row.accuracy is not None and row.accuracy == most
        cells = (accuracy_cell(row.accuracy, row.deviation, best=best), accuracy_cell(row.encrypted_accuracy))
        body.append((*name_cells(row), *cells, Cell(f"{row.lost} of {row.splits}", row.lost), *cost_cells(row)))
    heads = ("degree", "clear", "encrypted", "lost", *COSTS)
    columns = (Head("activation"), *(Head(head, right=True) for head in heads))
    caption = f"{NAMES.get(data, data)}: accuracy in the clear and encrypted, and what the encryption takes"
    return Sheet(f"private-{data}", caption[0].upper() + caption[1:], columns, tuple(body), notes=NOTES)


def cost_cells(row: Row) -> tuple[Cell, ...]:
    """What the encryption takes; dashes where nothing is encrypted."""
    if row.levels is None or row.row_seconds is None or row.batch_row_seconds is None:
        return (Cell("-"),) * len(COSTS)
    error = row.largest_error
    return (
        Cell("-" if row.same_decisions is None else f"{row.same_decisions} of {row.test_rows}", row.same_decisions),
        Cell("-" if error is None else f"{error:.0e}", error),
        Cell(str(row.levels), row.levels),
        Cell(str(row.ring), row.ring),
        Cell(f"{row.row_seconds:.2f}", row.row_seconds),
        Cell(f"{1000 * row.batch_row_seconds:.1f}", row.batch_row_seconds),
    )


def mean_sheet(rows: Sequence[Row], datasets: Sequence[str]) -> Sheet:
    """The accuracy by data set and in the mean, on ciphertexts if a model is served; the best of these is marked."""
    kinds = list(dict.fromkeys((row.model, row.degree) for row in ordered(rows)))
    table = {kind: accuracies(rows, kind, datasets) for kind in kinds}
    polynomial = [numbers for (model, _), numbers in table.items() if "clear only" not in TITLES[model]]
    best = [
        max((each for each in column if each is not None), default=None) for column in zip(*polynomial, strict=True)
    ]
    body = []
    for (model, degree), numbers in table.items():
        own = [row for row in rows if (row.model, row.degree) == (model, degree)]
        is_polynomial = "clear only" not in TITLES[model]
        marks = [is_polynomial and each is not None and each == top for each, top in zip(numbers, best, strict=False)]
        cells = [accuracy_cell(each, best=mark) for each, mark in zip(numbers, marks, strict=False)]
        lost, splits = sum(row.lost for row in own), sum(row.splits for row in own)
        body.append((*name_cells(own[0]), *cells, Cell(f"{lost} of {splits}", lost)))
    heads = ("degree", *(NAMES.get(each, each) for each in datasets), "mean", "lost")
    columns = (Head("activation"), *(Head(head, right=True) for head in heads))
    caption = "Test accuracy in percent, of polynomials on ciphertexts; the best polynomial is marked"
    return Sheet("private-mean", caption, columns, tuple(body))


def accuracies(rows: Sequence[Row], kind: tuple[str, int], datasets: Sequence[str]) -> list[float | None]:
    """One per data set, then their mean, None where one is missing."""
    known = {row.data: row.used_accuracy for row in rows if (row.model, row.degree) == kind}
    numbers = [known.get(data) for data in datasets]
    there = [each for each in numbers if each is not None]
    return [*numbers, fmean(there) if len(there) == len(numbers) else None]


def blocks(rows: Sequence[Row]) -> dict[str, str]:
    """The generated blocks of documents: each sheet by its name, under its caption."""
    return {sheet.name: f"{sheet.caption}.\n\n{as_markdown(sheet)}\n" for sheet in sheets_of(rows)}
