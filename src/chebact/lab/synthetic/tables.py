"""The synthetic tables for people: cells with ours over the published one, as sheets for every medium."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from chebact.lab.functions import DATASETS
from chebact.lab.page.comparison import tone_of
from chebact.lab.page.sheet import Cell, Head, Mark, Sheet, Tone, as_markdown, plus_minus
from chebact.lab.synthetic.agreement import agreement_of
from chebact.lab.synthetic.published import PARAMETERS, SEEDS
from chebact.lab.synthetic.rows import Row, base_rows, decimals, has_mean, marks
from chebact.networks.residual_mlp import ARCHITECTURES, ResidualMLP

__all__ = [
    "FORMS",
    "LEGEND",
    "caption",
    "change_sheets",
    "half_sheets",
    "markdown",
    "our_text",
    "paper_text",
    "parameter_sheet",
    "settings_note",
    "sheet_of",
]

FEATURES = 3  # the paper counts parameters with three inputs
LEGEND = "{}: best two per column. {}: worst four. Models whose seeds mostly diverged are not ranked."
FORMS = {
    "released": "released recipes: the formulas of the authors' released code, which made the published figures",
    "paper": "paper recipes: the formulas as the paper prints them",
    "recommended": "recommended recipes: the released formulas, trained as docs/recipe.md recommends",
}
TIPS = {
    "cubic": "Cubic: a polynomial of degree 3 by its coefficients, no tails",
    "cl": "CL: Chebyshev-Lagrange, the polynomial through learned heights at Chebyshev nodes, no tails",
    "wcp": "WCP: weighted Chebyshev polynomials, a learned sum of T₀ to T₃, no tails",
    "pcs-cl": "PCS-CL: prototype cosine similarity, which maps into [-1, 1], then CL",
    "tanh-cl": "tanh-CL: tanh, which maps into [-1, 1], then CL",
    "cl-regression": "CL-regression: CL with straight tails fitted to the outermost nodes",
    "cl-extrapolate": "CL-extrapolate: CL with straight tails that continue its end slopes",
}


def caption(rows: Sequence[Row]) -> str:
    """What a table shows, in one line."""
    return (
        f"RMSE, noise {rows[0].noise:g}, {rows[0].recipes} recipes, {seeds_of(rows)} seeds: ours, and the published "
        f"figure in brackets{settings_note(rows)}"
    )


def settings_note(rows: Sequence[Row]) -> str:
    """What differs from the paper's settings, so that the two are not compared; empty where nothing does."""
    unlike = "; ".join(dict.fromkeys(row.unlike for row in rows if row.unlike))
    return f" (not comparable, {unlike})" if unlike else ""


def seeds_of(rows: Sequence[Row]) -> str:
    """The number of seeds, or from the least to the most."""
    return " to ".join(str(n) for n in dict.fromkeys((min(row.seeds for row in rows), max(row.seeds for row in rows))))


def our_text(row: Row, *, short: bool = False) -> str:
    """Our cell: mean and deviation of the seeds that stayed finite if they are most, and how many did not."""
    lost = f"{row.nan}/{row.seeds} NaN"
    if not has_mean(row) or row.mean is None:
        return lost
    std = None if short else row.std
    return plus_minus(row.mean, std, decimals(row.dataset, row.noise)) + (f", {lost}" if row.nan else "")


def paper_text(row: Row) -> str:
    """The paper's cell as printed, or an empty text."""
    if row.paper_nan is None:
        return ""
    if row.paper_mean is None:
        return f"{row.paper_nan}/{SEEDS} NaN"
    return plus_minus(row.paper_mean, row.paper_std, decimals(row.dataset, row.noise))


def cell_of(row: Row | None, mark: Mark) -> Cell:
    """One cell, ours over the published one."""
    if row is None:
        return Cell("not run")
    away, tone = comparison(row)
    return Cell(our_text(row), row.mean if has_mean(row) else None, paper_text(row), tone, mark, away)


def comparison(row: Row) -> tuple[str, Tone]:
    """How far a cell is from the published one, in words and as a colour; a run with other settings gets neither."""
    if row.unlike:
        return "", ""
    if row.paper_mean is None or not row.paper_std:
        return "", "nan" if row.nan or row.paper_nan else ""
    if row.mean is None or not has_mean(row):
        return "", "far"
    away, tone = tone_of(row.mean, row.paper_mean, row.paper_std)
    if row.nan:  # the distance is that of the other seeds
        tone = "far" if tone == "far" else "worse"
    return away, tone


def columns_of(rows: Sequence[Row]) -> list[str]:
    """The data sets that there are rows of, in the order of the paper."""
    there = {row.dataset for row in rows}
    return [name for name in DATASETS if name in there]


def sheet_of(rows: Sequence[Row], datasets: Sequence[str], name: str = "", caption: str = "") -> Sheet:
    """One of the paper's tables, models down and data sets across."""
    marked, cells = marks(rows), {(row.model, row.dataset): row for row in rows}
    models = [model for model in ARCHITECTURES if any(row.model == model for row in rows)]
    body = tuple(
        (
            Cell(ARCHITECTURES[model].title, float(index), tip=TIPS.get(model, "")),
            *(cell_of(cells.get((model, dataset)), marked.get((model, dataset), "")) for dataset in datasets),
        )
        for index, model in enumerate(models)
    )
    heads = (Head("model"), *(Head(DATASETS[dataset].title, right=True) for dataset in datasets))
    toned = any(cell.tone for row in body for cell in row)
    notes = (". ".join(tip for model, tip in TIPS.items() if model in models) + ".",) if caption else ()
    return Sheet(name, caption, heads, body, toned, notes)


def half_sheets(rows: Sequence[Row]) -> dict[str, Sheet]:
    """The paper's two halves of one table, as far as there are rows for them."""
    halves = {
        title: [name for name in columns_of(rows) if DATASETS[name].smooth == smooth]
        for title, smooth in {"Smooth functions": True, "Non-smooth functions": False}.items()
    }
    return {title: sheet_of(rows, datasets) for title, datasets in halves.items() if datasets}


def markdown(rows: Sequence[Row]) -> str:
    """Both halves of one table's rows as Markdown tables, with a caption."""
    parts = [f"{caption(rows)}. {LEGEND.format('Bold', 'Italic')}", ""]
    for half in half_sheets(rows).values():
        parts += [as_markdown(half), ""]
    return "\n".join(parts)


def change_sheets(rows: Iterable[Row]) -> dict[str, Sheet]:
    """What each other choice changes where the paper leaves it open, by the name of the table: the rows of such runs
    above those of the same cells with the usual choice, where nothing else differs.
    """
    rows = list(rows)
    usual = {(row.recipes, row.noise, row.model, row.dataset): row for row in base_rows(rows)}
    tables: dict[tuple[str, str, float], list[Row]] = {}
    for row in rows:
        if row.changes:
            tables.setdefault((row.recipes, row.changes, row.noise), []).append(row)
    sheets = {}
    for (recipes, changes, noise), changed in tables.items():
        name = f"synthetic-{recipes}-{changes.replace(', ', '-').replace(' ', '-')}-{noise:g}"
        found = [usual.get((row.recipes, row.noise, row.model, row.dataset)) for row in changed]
        pairs = [
            (row, other if other and settings_of(row) == settings_of(other) else None)
            for row, other in zip(changed, found, strict=True)
        ]
        sheets[name] = change_sheet(pairs, name, change_caption(changed, pairs))
    return sheets


def settings_of(row: Row) -> set[str]:
    """Where a run differs from the paper's settings apart from the loss, which is a choice, and the number of seeds."""
    return {words for words in row.unlike.split(", ") if words and not words.startswith(("loss:", "seeds:"))}


Pairs = Sequence[tuple[Row, Row | None]]


def change_sheet(pairs: Pairs, name: str, caption: str) -> Sheet:
    """Models down, data sets across; the last column is the ratio of all errors of a model."""
    cells = {(row.model, row.dataset): (row, usual) for row, usual in pairs}
    models = [model for model in ARCHITECTURES if any(row.model == model for row, _ in pairs)]
    datasets = columns_of([row for row, _ in pairs])
    body = []
    for index, model in enumerate(models):
        own = [cells.get((model, dataset)) for dataset in datasets]
        texts = (Cell("not run") if pair is None else change_cell(*pair) for pair in own)
        ratio = error_ratio([pair for pair in own if pair])
        last = Cell("-" if ratio is None else f"{ratio:.2f}", ratio)
        body.append((Cell(ARCHITECTURES[model].title, float(index), tip=TIPS.get(model, "")), *texts, last))
    titles = (*(DATASETS[dataset].title for dataset in datasets), "ratio")
    return Sheet(name, caption, (Head("model"), *(Head(title, right=True) for title in titles)), tuple(body))


def change_cell(row: Row, usual: Row | None) -> Cell:
    """The mean error with the other choice, below it with the usual one; the deviations are among the rows."""
    return Cell(
        our_text(row, short=True), row.mean if has_mean(row) else None, our_text(usual, short=True) if usual else ""
    )


def error_ratio(pairs: Pairs) -> float | None:
    """The geometric mean of the ratios of errors, of the cells in which most seeds stayed finite on both sides."""
    ratios = [
        row.mean / usual.mean
        for row, usual in pairs
        if usual and row.mean and usual.mean and has_mean(row) and has_mean(usual)
    ]
    return statistics.geometric_mean(ratios) if ratios else None


def change_caption(changed: Sequence[Row], pairs: Pairs) -> str:
    """What was changed, how many seeds diverged and, where the paper's settings are kept, how many cells agree."""
    first, known = changed[0], [(row, usual) for row, usual in pairs if usual]
    sentence = (
        f"Mean RMSE with {first.changes}, noise {first.noise:g}, {first.recipes} recipes, {seeds_of(changed)} seeds"
    )
    if not known:
        return f"{sentence}; there are no records of the same settings with the usual choice."
    (lost, seeds), (usually, usual_seeds) = (
        (sum(row.nan for row in side), sum(row.seeds for row in side)) for side in zip(*known, strict=True)
    )
    of_usual = "" if usual_seeds == seeds else f" of {usual_seeds}"
    sentence = (
        f"{sentence}; in brackets or smaller that with the usual choice. Ratio: the geometric mean over the functions "
        f"on which most seeds stayed finite with both. {lost} of {seeds} seeds diverged, {usually}{of_usual} with the "
        "usual choice."
    )
    agreement = agreement_of(changed)
    printed = len(agreement.near) + len(agreement.far)
    if not printed:
        return sentence
    usual = agreement_of([usual for _, usual in known])
    return (
        f"{sentence} {len(agreement.near)} of {printed} cells agree with the paper ({len(agreement.within)} on either "
        f"side), with the usual choice {len(usual.near)} ({len(usual.within)} on either side)."
    )


def parameter_sheet() -> Sheet:
    """Blocks, layers and parameters of the networks; both forms counted by building them."""
    rows = []
    for index, (name, row) in enumerate(ARCHITECTURES.items()):
        counts = [count_parameters(name, form) for form in ("released", "paper")]
        numbers = (row.blocks, row.layers, *counts, PARAMETERS.get(name))
        cells = (Cell("-" if number is None else f"{number:,}", number) for number in numbers)
        rows.append((Cell(row.title, float(index), tip=TIPS.get(name, "")), *cells))
    heads = ("blocks", "layers per block", "parameters", "with σ before the last layer", "the paper says")
    caption = (
        "The networks of the synthetic experiment with three inputs, their parameters counted. The published figures "
        "were made without an activation before the last layer in CL, WCP, PCS-CL and tanh-CL."
    )
    return Sheet("parameters", caption, (Head("model"), *(Head(head, right=True) for head in heads)), tuple(rows))


def count_parameters(name: str, form: str) -> int:
    network = ResidualMLP.from_table(name, FEATURES, form=form)  # type: ignore[arg-type]
    return sum(parameter.numel() for parameter in network.parameters())
