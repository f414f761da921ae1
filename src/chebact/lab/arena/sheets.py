"""The comparison on tables for people: a score per model and data set, who is ahead how often, and the times."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from chebact.lab.page.sheet import Cell, Head, Sheet, as_markdown
from chebact.lab.arena.rows import Row
from chebact.lab.arena.spec import LEVELS

__all__ = ["OURS", "blocks", "counts", "coverage_sheet", "score_sheet", "sheets_of", "smooth", "standing_sheet"]

OURS = "cl"
TITLES = {
    OURS: "chebact",
    "mlp": "MLP",
    "linear": "ridge, logistic",
    "forest": "random forest",
    "boosting": "gradient boosting",
    "svm": "SVM",
    "kernel-ridge": "kernel ridge",
    "gaussian-process": "Gaussian process",
}
NINETY = LEVELS.index(0.9)


def smooth(rows: Sequence[Row]) -> list[Row]:
    """Those of the generated sets: functions without a jump, and noise of a hundredth of their deviation."""
    return [row for row in rows if row.data.startswith(("friedman", "feynman"))]


def by_data(rows: Sequence[Row]) -> dict[str, dict[str, Row]]:
    """The rows by data set and model."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(row.data, {})[row.model] = row
    return found


def sheets_of(rows: Sequence[Row]) -> list[Sheet]:
    """All sheets that the rows have numbers for."""
    sheets = [score_sheet(rows, task) for task in ("regression", "classification")]
    return [sheet for sheet in (*sheets, standing_sheet(rows), coverage_sheet(rows)) if sheet.rows]


def score_sheet(rows: Sequence[Row], task: str) -> Sheet:
    """A row per data set, the best score of each marked."""
    own = [row for row in rows if row.task == task]
    models = [model for model in TITLES if any(row.model == model for row in own)]
    body = []
    for data, found in by_data(own).items():
        best = min(row.score for row in found.values())
        size = next(iter(found.values()))
        cells = (score_cell(found.get(model), best, task) for model in models)
        body.append((Cell(data), Cell(f"{size.rows} × {size.columns}", size.rows), *cells))
    heads = (Head("data"), Head("size", right=True), *(Head(TITLES[model], right=True) for model in models))
    what = (
        "root mean square error, in deviations of the target" if task == "regression" else "wrong classes, in percent"
    )
    return Sheet(
        f"tables-{task}", f"{task.capitalize()}: {what}, mean of all folds; the least is marked", heads, tuple(body)
    )


def score_cell(row: Row | None, best: float, task: str) -> Cell:
    """A score; a dash where the model was not fitted."""
    if row is None:
        return Cell("-")
    text = f"{row.score:.4f}" if task == "regression" else f"{100 * row.score:.1f}"
    tip = f"± {row.deviation:.4f} over {row.fits} folds, {row.seconds:.2f} s a fit"
    return Cell(text, row.score, mark="best" if row.score == best else "", tip=tip)


def counts(rows: Sequence[Row], model: str) -> tuple[int, int]:
    """On how many data sets ours has the lesser error than a model, and how many have both."""
    pairs = [(found[OURS], found[model]) for found in by_data(rows).values() if {OURS, model} <= set(found)]
    return sum(ours.score < other.score for ours, other in pairs), len(pairs)


def standing_sheet(rows: Sequence[Row]) -> Sheet:
    """Against each model: on how many sets ours is ahead, the median ratio of the errors, and the time of a fit."""
    body = []
    for model in TITLES:
        own = [row for row in rows if row.model == model]
        if not own:
            continue
        cells = [Cell(TITLES[model])]
        for part in (smooth(rows), [row for row in rows if row not in smooth(rows)]):
            ahead, of = counts(part, model)
            cells.append(Cell("-" if model == OURS or not of else f"{ahead} of {of}", ahead))
        ratios = ratios_to(smooth(rows), model)
        cells.append(Cell(f"{median(ratios):.2f}" if ratios else "-", median(ratios) if ratios else None))
        seconds = fmean(row.seconds for row in smooth(own) or own)
        cells.append(Cell(f"{seconds:.2f}", seconds))
        body.append(tuple(cells))
    heads = ("chebact ahead, smooth sets", "chebact ahead, other sets", "its error / chebact's, median", "s a fit")
    caption = "chebact against each model; seconds of one processor core per fit, mean of the smooth sets"
    return Sheet("tables-standing", caption, (Head("model"), *(Head(head, right=True) for head in heads)), tuple(body))


def ratios_to(rows: Sequence[Row], model: str) -> list[float]:
    """The error of a model in units of ours, for every data set that both have."""
    return [found[model].score / found[OURS].score for found in by_data(rows).values() if {OURS, model} <= set(found)]


def coverage_sheet(rows: Sequence[Row]) -> Sheet:
    """How much of new measurements the 90 % interval holds, least, mean and most of all data sets."""
    body = []
    for model in TITLES:
        covered = [row.coverage[NINETY] for row in rows if row.model == model and row.coverage]
        if covered:
            numbers = (min(covered), fmean(covered), max(covered))
            body.append((Cell(TITLES[model]), *(Cell(f"{100 * each:.1f}", each) for each in numbers)))
    heads = (Head("model"), *(Head(each, right=True) for each in ("least", "mean", "most")))
    return Sheet("tables-coverage", "Coverage of the 90 % interval in percent, of all data sets", heads, tuple(body))


def blocks(rows: Sequence[Row]) -> dict[str, str]:
    """The generated blocks of documents: each sheet by its name, under its caption."""
    return {sheet.name: f"{sheet.caption}.\n\n{as_markdown(sheet)}\n" for sheet in sheets_of(rows)}
