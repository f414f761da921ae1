"""From cells to the numbers that a model takes: a number per cell, or for texts a column of 0 and 1 per value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy

from chebact.lab import LabError
from chebact.lab.columns.reading import Sheet, numbers_in

__all__ = ["Encoding", "Task"]

Task = Literal["regression", "classification"]
MOST_VALUES = 30  # of a column of texts
FEW_CLASSES = 10  # integers of so few values are classes, unless the task is given


@dataclass(frozen=True)
class Encoding:
    """What a fit has learned of the columns: the target and the task; each input with None for a column of numbers, or
    with the values that its texts had.
    """

    target: str
    task: Task
    inputs: dict[str, list[str] | None]

    @classmethod
    def of(cls, sheet: Sheet, target: str, task: str, drop: tuple[str, ...]) -> Encoding:
        """The encoding of a table to learn from; a LabError where a column cannot be used."""
        sheet.column(target)
        for name in drop:
            sheet.column(name)
        inputs = {name: values_of(sheet, name) for name in sheet.columns if name != target and name not in drop}
        if not inputs:
            raise LabError(f"{sheet.path} must have a column beside the target {target!r}, got none")
        return cls(target, task_of(sheet, target, task), inputs)

    def names(self) -> list[str]:
        """The names of the encoded columns."""
        return [
            name if value is None else f"{name}={value}"
            for name, values in self.inputs.items()
            for value in ([None] if values is None else values)
        ]

    def x(self, sheet: Sheet) -> Any:
        """The inputs (row, column) of a table with the same columns; others in it are not looked at."""
        parts = []
        for name, values in self.inputs.items():
            found = numbers_in(sheet, name)
            if values is None:
                if found is None:
                    raise LabError(f"{sheet.where(0, name)} must be a number, got {sheet.columns[name][0]!r}")
                parts.append(numpy.array(found)[:, None])
            else:
                parts.append(indicators(sheet, name, values))
        return numpy.concatenate(parts, axis=1)

    def y(self, sheet: Sheet) -> Any:
        """The target (row,): numbers, or the texts of classes."""
        found = numbers_in(sheet, self.target)
        if self.task == "classification":
            return numpy.array(sheet.column(self.target))
        if found is None:
            cell = sheet.columns[self.target][0]
            raise LabError(f"{sheet.where(0, self.target)} must be a number for regression, got {cell!r}")
        return numpy.array(found)

    def as_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Encoding:
        """The encoding whose JSON this is."""
        return cls(plain["target"], plain["task"], dict(plain["inputs"]))


def values_of(sheet: Sheet, name: str) -> list[str] | None:
    """None for a column of numbers; else its values, of which there must not be too many."""
    if numbers_in(sheet, name) is not None:
        return None
    values = sorted(set(sheet.columns[name]))
    if len(values) > MOST_VALUES:
        raise LabError(
            f"{sheet.path}, column {name!r} must be numbers or texts of {MOST_VALUES} values at most, got "
            f"{len(values)} values such as {values[0]!r}: leave it out with --drop {name}"
        )
    return values


def indicators(sheet: Sheet, name: str, values: list[str]) -> Any:
    """A column of 0 and 1 per value; a LabError for a value that the fit has not met."""
    cells = sheet.column(name)
    for row, cell in enumerate(cells):
        if cell not in values:
            raise LabError(f"{sheet.where(row, name)} must be one of {', '.join(values)}, got {cell!r}")
    return numpy.array([[float(cell == value) for value in values] for cell in cells])


def task_of(sheet: Sheet, target: str, task: str) -> Task:
    """The task that was asked for, or the one that the target looks like."""
    if task in ("regression", "classification"):
        return task  # type: ignore[return-value]
    found = numbers_in(sheet, target)
    whole = found is not None and all(number == int(number) for number in found)
    return "classification" if found is None or (whole and len(set(found)) <= FEW_CLASSES) else "regression"
