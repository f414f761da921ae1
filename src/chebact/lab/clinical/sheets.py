"""The clinical tables as sheets: scores with arrows, the comparison with other systems, and the tests."""

from __future__ import annotations

from collections.abc import Sequence

from chebact.lab.clinical.baselines import BASELINES, MAJORITY
from chebact.lab.clinical.classification import METRICS, metrics_in
from chebact.lab.clinical.published import SYSTEMS
from chebact.lab.clinical.rows import FEWEST, Row, is_dementiabank, unlike_paper
from chebact.lab.page.comparison import tone_of
from chebact.lab.page.sheet import Cell, Head, Sheet, Tone, as_markdown, plain, plus_minus
from chebact.lab.starts import HE_UNIFORM, weight_words
from chebact.lab.stats import stars
from chebact.table import ACTIVATIONS

__all__ = [
    "arrows",
    "caption",
    "document_blocks",
    "format_signed",
    "make_heads",
    "markdown",
    "name_cells",
    "p_cell",
    "plain_cell",
    "score_metrics",
    "sheets_of",
    "title_of",
]

BEST = "best_macro_f1"
NOTE = (
    "mean ± standard deviation over the seeds, in percent; an arrow: better (↑) or worse (↓) than {} by Welch's t "
    "test, one for p < 0.01, two for p < 0.001; every seed refolds the same people, so p-values speak of folds, not of "
    "people"
)
WORDS = (
    "1-class: always predicts the more frequent class. Sensitivity: the share of class 1 that is found; specificity: "
    "the share of class 0 that is left alone; balanced accuracy: the mean of the two. Micro-F1: F1 of class 1 from the "
    "counts of all folds together. "
)
NO_AUC = "ROC AUC (the mean of the folds') is not recorded: these records keep counts, not scores."
TIPS = {MAJORITY: "always predicts the more frequent class"}


def caption(rows: Sequence[Row]) -> str:
    """What the data are, in one line; generated data are named so first."""
    row = rows[0]
    kind = "Generated data (nobody was recorded)" if row.generated else f"Data: {row.data}"
    labels = ", labels shuffled by subject (there is nothing to learn)" if row.labels == "shuffled" else ""
    joins = {each.shortcut for each in rows} - {None}
    join = f", shortcut and residual: {joins.pop()}" if joins else ""
    starts = "".join({weight_words(each.start) for each in rows if each.start is not None})
    size = f"{row.recordings} recordings of {row.subjects} subjects"
    features = f"{row.features} features" + ("" if row.choice == "all" else f" ({row.choice})")
    epochs = next((f", epochs: {each.epochs}" for each in rows if each.epochs is not None), "")
    return (
        f"{kind}{labels}: {size}, {features}; {row.seeds} seeds of {row.folds} folds{epochs}{join}{starts}; "
        f"digest of the table {row.spec.digest}"
    )


def sheets_of(rows: Sequence[Row], published: str = "in brackets", name: str = "clinical") -> list[Sheet]:
    """The paper's two tables, and that of the tests; `published` says where the published figures are."""
    against = reference_in_words(rows)
    sheets = [score_sheet(rows, against, published, f"{name}-sheet-0"), system_sheet(rows, f"{name}-sheet-1")]
    return sheets if against is None else [*sheets, test_sheet(rows, against, f"{name}-sheet-2")]


def score_sheet(rows: Sequence[Row], against: str | None, published: str, name: str) -> Sheet:
    """The table of the activations."""
    paper = is_dementiabank(rows[0].spec)
    note = NOTE.format(against) if against else "mean ± standard deviation over the seeds, in percent"
    shown = score_metrics(rows)
    heads = ("width", "parameters", *(METRICS[metric].title for metric in shown))
    body = tuple(
        (*name_cells(row), count_cell(row.parameters), *(score_cell(row, metric) for metric in shown)) for row in rows
    )
    unlike = unlike_paper(rows[0].spec)
    apart = f" (not comparable, {unlike})" if unlike else ""
    title = f"Scores ({note}{f'; the published figure {published}{apart}' if paper else ''})"
    return Sheet(
        name,
        title,
        make_heads(heads),
        body,
        toned=paper and not unlike,
        notes=(WORDS + ("" if "roc_auc" in shown else NO_AUC),),
    )


def score_metrics(rows: Sequence[Row]) -> list[str]:
    """The metrics that one of these rows has a score of, in the order of the table."""
    return [name for name in metrics_in("scores") if any(row.values.get(name) is not None for row in rows)]


def make_heads(heads: Sequence[str]) -> tuple[Head, ...]:
    """The model, then columns of numbers."""
    return Head("model"), *(Head(head, right=True) for head in heads)


def reference_in_words(rows: Sequence[Row]) -> str | None:
    """The model that the rows are tested against, with the width that is used for rows without a width."""
    model = next((row.against for row in rows if row.against), None)
    if model is None:
        return None
    chosen = {row.against_width for row in rows if row.width is None and row.against_width is not None}
    held = f" (models without a width: than {title_of(model)}, width {chosen.pop()})" if chosen else ""
    width = " of the same width" if any(row.width is not None and row.against_width is not None for row in rows) else ""
    return f"{title_of(model)}{width}{held}"


def system_sheet(rows: Sequence[Row], name: str) -> Sheet:
    """The comparison with other systems: ours, and the published rows where they have something to do with ours."""
    shown = (*metrics_in("systems"), BEST)
    heads = ("width", *(METRICS[metric].title for metric in shown[:-1]), "Best macro-F1")
    body = [(*name_cells(row), *(plain_cell(row, metric) for metric in shown)) for row in rows]
    title = "Comparison (macro-F1: mean of the folds' F1; best macro-F1: of the best seed, ± over its folds)"
    if is_dementiabank(rows[0].spec) or rows[0].generated:
        title += "; rows marked published are printed in the paper"
        title += ", of DementiaBank, and not to be compared with generated data" if rows[0].generated else ""
        for each in SYSTEMS:
            printed = (Cell(getattr(each, metric, "") or "-") for metric in shown)
            body.append((Cell(f"{each.model} (published, DementiaBank)"), Cell(""), *printed))
    return Sheet(name, title, make_heads(heads), tuple(body))


def test_sheet(rows: Sequence[Row], against: str, name: str) -> Sheet:
    """p-values: Lilliefors' of each model, Welch's and the paired t test against the reference."""
    kinds = {"lilliefors": "Lilliefors", "p_welch": "Welch", "p_paired": "paired"}
    columns = [(metric, kind) for metric in metrics_in("tests") for kind in kinds]
    heads = ("width", *(f"{METRICS[metric].title}: {kinds[kind]}" for metric, kind in columns))
    body = tuple(
        (*name_cells(row), *(p_cell(row.values[f"{kind}_{metric}"]) for metric, kind in columns)) for row in rows
    )
    title = (
        "p-values (Lilliefors: that the seeds are normal; Welch's and the paired t test: of a difference from "
        f"{against})"
    )
    return Sheet(name, title, make_heads(heads), body)


def title_of(model: str) -> str:
    """The name of a model as the tables write it."""
    return BASELINES.get(model) or (ACTIVATIONS[model].label if model in ACTIVATIONS else model)


def name_cells(row: Row) -> tuple[Cell, Cell]:
    """Model and width."""
    return Cell(title_of(row.model), tip=TIPS.get(row.model, "")), count_cell(row.width)


def count_cell(count: int | None) -> Cell:
    return Cell("-" if count is None else f"{count:,}", count)


def plain_cell(row: Row, metric: str) -> Cell:
    """A score."""
    mean, std = row.values[metric], row.values[f"{metric}_std"]
    if row.nan:
        return Cell(f"{row.nan}/{row.seeds} NaN", row.nan)
    missing = "not recorded" if metric in METRICS and METRICS[metric].recorded else "-"
    return Cell(missing if mean is None else plus_minus(mean, std, 1), mean)


def score_cell(row: Row, metric: str) -> Cell:
    """A score with its arrows, over the published one, coloured by the distance."""
    plain = plain_cell(row, metric)
    mean, paper, spread = (row.values.get(each) for each in (metric, f"paper_{metric}", f"paper_{metric}_std"))
    printed = "" if paper is None or spread is None else plus_minus(paper, spread, 1)
    away = ""
    tone: Tone = ""
    if not row.nan and mean is not None and paper is not None and spread and not unlike_paper(row.spec):
        away, tone = tone_of(mean, paper, spread, higher_is_better=True)
    return Cell(plain.text + arrows(row, metric), plain.number, printed, tone, away=away)


def arrows(row: Row, metric: str) -> str:
    """Which way a score differs from that of the reference, where a test with enough seeds finds a difference."""
    p, above = row.values[f"p_welch_{metric}"], row.above.get(metric)
    if p is None or above is None or row.seeds < FEWEST or row.nan:
        return ""
    return " " + ("↑" if above > 0 else "↓") * len(stars(p)[1:]) if stars(p) else ""


def format_signed(number: float) -> str:
    """One decimal with its sign; a difference that rounds to zero has none.

    >>> format_signed(1.24), format_signed(-0.04)
    ('+1.2', '0.0')
    """
    text = f"{number:+.1f}"
    return "0.0" if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")


def p_cell(p: float | None) -> Cell:
    """A p-value in three digits, a dash where there is none."""
    return Cell("-" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}", p)


def markdown(rows: Sequence[Row]) -> str:
    """All sheets of one table's rows as Markdown."""
    parts = [f"**{caption(rows)}.**", ""]
    for sheet in sheets_of(rows):
        parts += [f"{plain(sheet.caption)}.", "", as_markdown(sheet), ""]
    return "\n".join(parts)


def document_blocks(tables: Sequence[Sequence[Row]]) -> dict[str, str]:
    """The generated blocks of a document by name: `clinical-<data>`, with `-add`, `-he-uniform` and `-shuffled` where
    it is so. Tables of one name that differ in something else follow each other.
    """
    found: dict[str, list[str]] = {}
    for rows in tables:
        kinds = {
            "add": any(row.shortcut == "add" for row in rows),
            HE_UNIFORM: any(row.start == HE_UNIFORM for row in rows),
            "shuffled": rows[0].labels == "shuffled",
        }
        name = "-".join(["clinical", rows[0].data, *(kind for kind, there in kinds.items() if there)])
        found.setdefault(name, []).append(markdown(rows))
    return {name: "\n".join(texts) for name, texts in found.items()}
