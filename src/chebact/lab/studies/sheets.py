"""The studies as tables: a row per value of the axis, a column per line."""

from __future__ import annotations

import math
from collections.abc import Iterable

from chebact.lab.page.sheet import Cell, Head, Sheet, as_markdown
from chebact.lab.studies.plan import Line, Panel, label_of
from chebact.lab.studies.rows import Reading, Row

__all__ = ["format_error", "markdown_sheets", "sheets_of"]


def format_error(error: float) -> str:
    """An error with three significant digits.

    >>> format_error(0.012345), format_error(0.5), format_error(123.4), format_error(math.inf)
    ('0.0123', '0.500', '123', 'no number')
    """
    if not math.isfinite(error):
        return "no number"
    return f"{error:#.3g}".rstrip(".")


def sheets_of(reading: Reading) -> list[Sheet]:
    """A sheet for each panel that has records."""
    sheets = [sheet_of(reading, panel) for panel in reading.study.panels]
    return [sheet for sheet in sheets if sheet.rows]


def sheet_of(reading: Reading, panel: Panel) -> Sheet:
    """The errors of a panel; the least of every line is marked."""
    lines = [line for line in panel.lines if reading.line_rows(panel, line)]
    varied = [line for line in lines if not line.level]
    levels = [line for line in lines if line.level]
    found = {line.name: {label_of(value): row for value, row in reading.line_rows(panel, line)} for line in varied}
    body = []
    for value in panel.axis.values:
        cells = [error_cell(found[line.name].get(label_of(value)), least(found[line.name].values())) for line in varied]
        if any(cell.number is not None or cell.text != "-" for cell in cells):
            body.append((Cell(label_of(value), None if isinstance(value, str) else value), *cells))
    body += [level_row(reading, panel, line, len(varied)) for line in levels]
    name = "-".join(word for word in ("study", reading.study.name, panel.name) if word)
    caption = ": ".join(word for word in (reading.study.title, panel.title) if word)
    heads = [Head(panel.axis.label), *(Head(line.title, right=True) for line in varied)]
    heads = heads if varied else [Head("network"), Head("RMSE", right=True)]
    return Sheet(name, f"{caption}. Test RMSE, geometric mean of the functions", tuple(heads), tuple(body))


def level_row(reading: Reading, panel: Panel, line: Line, columns: int) -> tuple[Cell, ...]:
    """A reference, which has one number."""
    row = reading.line_rows(panel, line)[0][1]
    return (Cell(line.title), error_cell(row, None), *(Cell("") for _ in range(columns - 1)))


def least(rows: Iterable[Row]) -> float | None:
    """The least error of some rows."""
    return min((row.error for row in rows if row.error is not None), default=None)


def error_cell(row: Row | None, best: float | None) -> Cell:
    """An error with the number of diverged trainings where there are any."""
    if row is None:
        return Cell("-")
    lost = f"{row.diverged} of {row.trainings} diverged" if row.diverged else ""
    if row.error is None:
        return Cell(lost, None, tone="nan")
    spread = "" if row.low is None or row.high is None else f"{format_error(row.low)} to {format_error(row.high)}"
    text = format_error(row.error) + (f", {lost}" if lost else "")
    return Cell(text, row.error, mark="best" if row.error == best else "", tip=f"seeds from {spread}" if spread else "")


def markdown_sheets(reading: Reading) -> str:
    """All sheets of a study as Markdown, under their captions."""
    return "\n\n".join(f"{sheet.caption}.\n\n{as_markdown(sheet)}" for sheet in sheets_of(reading))
