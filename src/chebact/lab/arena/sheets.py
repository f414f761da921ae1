"""The arena for people: the standing of the models, ours against each, scores of all sets, times and parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, median

from chebact.lab.arena.entrants import ENTRANTS, OURS, SINGLE
from chebact.lab.arena.fields import FIELDS, in_order, small_field, title_of
from chebact.lab.arena.ranks import Standing, by_data, duel, holm, standing_of
from chebact.lab.arena.rows import Row
from chebact.lab.arena.spec import CORE, LEVELS
from chebact.lab.page.sheet import Cell, Head, Sheet, as_markdown

__all__ = ["blocks", "core_sheet", "coverage_sheet", "duel_sheet", "rank_sheet", "score_sheet", "sheets_of", "words_of"]

NINETY = LEVELS.index(0.9)
NOTHING = Cell("-")


def right(*texts: str) -> tuple[Head, ...]:
    """Heads of columns of numbers."""
    return tuple(Head(text, right=True) for text in texts)


def sheets_of(rows: Sequence[Row]) -> list[Sheet]:
    """All sheets that the rows have numbers for."""
    fields = [rank_sheet(rows, name) for name in FIELDS]
    duels = [duel_sheet(rows, ours) for ours in (OURS, SINGLE)]
    scores = [score_sheet(FIELDS[task].rows(rows), task) for task in ("regression", "classification")]
    found = (*fields, *duels, cost_sheet(rows), core_sheet(rows), *scores, coverage_sheet(rows))
    return [sheet for sheet in found if sheet.rows]


def rank_sheet(rows: Sequence[Row], field: str) -> Sheet:
    """The mean ranks of a field, the best first, and which models the critical difference tells from the first."""
    standing = standing_of(FIELDS[field].rows(rows))
    body = []
    if standing is not None:
        best = min(standing.ranks.values())
        for model, rank in standing.ranks.items():
            apart = rank - best > standing.difference
            cells = (Cell(title_of(model)), Cell(f"{rank:.2f}", rank, mark="best" if rank == best else ""))
            body.append((*cells, Cell("yes" if apart else "no")))
    caption = f"Mean ranks on {FIELDS[field].title}; {'' if standing is None else words_of(standing)}"
    heads = (Head("model"), *right("mean rank"), Head("apart from the first"))
    return Sheet(f"arena-ranks-{field}", caption.rstrip("; "), heads, tuple(body))


def words_of(standing: Standing) -> str:
    """What the ranks are of, the tests, and the models that have no rank."""
    left_out = "; ".join(f"{title_of(model)} lacks {count}" for model, count in standing.unranked.items())
    return (
        f"{len(standing.ranks)} models, {standing.sets} sets of {standing.families} families, {standing.splits} splits "
        f"at least; Friedman's F {standing.statistic:.1f}, p {p_text(standing.p)}; critical difference "
        f"{standing.difference:.2f} (Nemenyi, 5 %)" + (f". Without a rank: {left_out} of the sets" if left_out else "")
    )


def p_text(p: float | None) -> str:
    """A p-value for people.

    >>> p_text(0.0004), p_text(0.0321), p_text(None)
    ('below 0.001', '0.032', '-')
    """
    return "-" if p is None or math.isnan(p) else "below 0.001" if p < 0.001 else f"{p:.3f}"


def duel_sheet(rows: Sequence[Row], ours: str) -> Sheet:
    """Ours against each model that it is compared with: sets won, equal and lost, the ratio of the errors, the test."""
    models = [name for name in in_order(rows) if name != ours and (name == OURS or ENTRANTS[name].beside == ours)]
    duels = [found for found in (duel(rows, ours, model) for model in models) if found is not None]
    corrected = holm([found.p for found in duels])
    body = [
        (
            Cell(title_of(found.model)),
            Cell(str(found.wins), found.wins),
            Cell(str(found.ties), found.ties),
            Cell(str(found.losses), found.losses, mark="worst" if found.losses > found.wins else ""),
            NOTHING if found.ratio is None else Cell(f"{found.ratio:.2f}", found.ratio),
            Cell(str(found.families), found.families),
            Cell(p_text(p), p),
        )
        for found, p in zip(duels, corrected, strict=True)
    ]
    heads = right("sets won", "equal", "lost", "its error / ours, median", "families", "p")
    caption = (
        f"{title_of(ours)} against each model on the sets and splits that both have; p of Wilcoxon's signed rank test "
        "over families, after Holm's correction; marked where it loses more than it wins"
    )
    return Sheet(f"arena-duels-{ours}", caption, (Head("model"), *heads), tuple(body))


def cost_sheet(rows: Sequence[Row]) -> Sheet:
    """Times of one core, medians of the sets of `CORE`, the parameters there, and what all fits of a model took."""
    body = []
    for model in in_order(rows):
        own = [row for row in rows if row.model == model]
        part = [row for row in own if row.data in CORE] or own
        counts = [row.parameters for row in part if row.parameters is not None]
        total = sum(row.total_seconds for row in own)
        numbers = (median(row.seconds for row in part), 1000 * median(row.predict_seconds for row in part))
        body.append(
            (
                Cell(title_of(model)),
                Cell(f"{numbers[0]:.2f}", numbers[0]),
                Cell(f"{numbers[1]:.1f}", numbers[1]),
                Cell(f"{median(counts):,.0f}", median(counts)) if counts else NOTHING,
                Cell(str(len(own)), len(own)),
                Cell(str(sum(len(row.scores) for row in own)), sum(len(row.scores) for row in own)),
                Cell(str(sum(row.failed for row in own)), sum(row.failed for row in own)),
                Cell(f"{total / 60:.1f}", total),
            )
        )
    heads = right("s a fit", "ms a prediction", "parameters", "sets", "fits", "failed", "minutes in all")
    caption = "Processor time of one core and parameters, medians of the core sets; minutes of all fits of a model"
    return Sheet("arena-costs", caption, (Head("model"), *heads), tuple(body))


def core_sheet(rows: Sequence[Row]) -> Sheet:
    """A row per model and a column per set of `CORE`."""
    own = [row for row in rows if row.data in CORE]
    sets = [name for name in CORE if any(row.data == name for row in own)]
    found = by_data(own)
    best = {name: min(row.score for row in found[name].values()) for name in sets}
    body = [
        (Cell(title_of(model)), *(score_cell(found[name].get(model), best[name]) for name in sets))
        for model in in_order(own)
    ]
    caption = (
        "The core sets, all models: root mean square error in deviations of the target, accuracy in percent for the "
        "classes; ± is the deviation over the splits, the best is marked"
    )
    return Sheet("arena-core", caption, (Head("model"), *right(*sets)), tuple(body))


def score_sheet(rows: Sequence[Row], task: str, name: str = "arena") -> Sheet:
    """A row per data set, the best score of each marked."""
    own = [row for row in rows if row.task == task]
    models = in_order(own)
    body = []
    for data, found in by_data(own).items():
        best = min(row.score for row in found.values())
        size = next(iter(found.values()))
        cells = (score_cell(found.get(model), best) for model in models)
        body.append((Cell(data), Cell(f"{size.rows} × {size.columns}", size.rows), *cells))
    what = "root mean square error in deviations of the target" if task == "regression" else "accuracy in percent"
    caption = f"{task.capitalize()}: {what}, mean of the splits; the best is marked"
    heads = (Head("data"), *right("size", *map(title_of, models)))
    return Sheet(f"{name}-{task}", caption, heads, tuple(body))


def score_cell(row: Row | None, best: float) -> Cell:
    """A score with its deviation; a dash where the model was not fitted, NaN where a fit failed."""
    if row is None:
        return NOTHING
    if row.failed:
        return Cell("NaN", tip=f"{row.failed} of {len(row.scores)} fits failed")
    deviation = row.deviation
    regression = row.task == "regression"
    text = f"{row.score:.4f}" if regression else f"{100 - 100 * row.score:.1f}"
    spread = "" if deviation is None else f"± {deviation:.4f}" if regression else f"± {100 * deviation:.1f}"
    tip = f"{len(row.scores)} splits, {row.seconds:.2f} s a fit"
    return Cell(text, row.score, below=spread, mark="best" if row.score == best else "", tip=tip)


def coverage_sheet(rows: Sequence[Row]) -> Sheet:
    """How much of new measurements the 90 % interval holds, least, mean and most of all data sets."""
    body = []
    for model in in_order(rows):
        covered = [row.coverage[NINETY] for row in rows if row.model == model and row.coverage]
        if covered:
            numbers = (min(covered), fmean(covered), max(covered))
            body.append((Cell(title_of(model)), *(Cell(f"{100 * each:.1f}", each) for each in numbers)))
    heads = (Head("model"), *right("least", "mean", "most"))
    return Sheet("arena-coverage", "Coverage of the 90 % interval in percent, of all data sets", heads, tuple(body))


def small_sheets(rows: Sequence[Row]) -> list[Sheet]:
    """The sheets of the page on tables."""
    own = small_field(rows)
    scores = [score_sheet(own, task, "table") for task in ("regression", "classification")]
    duels = replace(duel_sheet(own, OURS), name="table-duels")
    return [sheet for sheet in (duels, *scores) if sheet.rows]


def blocks(rows: Sequence[Row]) -> dict[str, str]:
    """The generated blocks of documents: each sheet by its name, under its caption."""
    sheets = (*sheets_of(rows), *small_sheets(rows))
    return {sheet.name: f"{sheet.caption}.\n\n{as_markdown(sheet)}\n" for sheet in sheets}
