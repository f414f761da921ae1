"""What the paper prints of DementiaBank beside what was trained here: its table, its test of normality, its start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from chebact.lab.clinical.classification import METRICS
from chebact.lab.clinical.published import COLUMNS, RIGHT, printed_cell, released_seeds
from chebact.lab.clinical.rows import Row, unlike_paper
from chebact.lab.clinical.sheets import arrows, format_signed, make_heads, p_cell, plain_cell, title_of
from chebact.lab.clinical.spec import NetworkSpec
from chebact.lab.page.sheet import Cell, Head, Sheet, as_markdown, plain
from chebact.lab.spec import as_plain, canonical
from chebact.lab.starts import HE_UNIFORM, RELEASED
from chebact.lab.stats import lilliefors, paired

__all__ = ["paper_blocks", "paper_sheets"]

Rows = Mapping[tuple[str, int | None], Row]

MODELS = ("1-class", "relu", "tanh", "cl-extrapolate")
WIDTHS = (32, 64)
NORMAL = ("tanh", "cl-extrapolate")  # the models of which the paper tests it
LEVEL = 0.10
PUBLISHED = (
    "Published: the paper's table of DementiaBank as printed, whose recordings only its owners distribute. "
    "Mean ± standard deviation over 30 seeds of ten folds, in percent; the stars are the paper's, of Welch's t test "
    "against tanh (two: p < 0.01, three: p < 0.001)"
)
BESIDE = (
    ". Trained here: the columns on the right, the accuracy on the data that they name; of other data than the paper's "
    "compare the order of the models, not the numbers"
)
NORMALITY = (
    "p-values of Lilliefors' test that the seeds are normal. The paper says p > 0.10 for tanh and CL-extrapolate; the "
    "published rows are computed from the scores per seed that the authors released. p is above 0.10 in {} of {} "
    "published cells{}; the word no: it is not"
)
START = (
    "What He's uniform start of the linear layers (bound sqrt(6 / fan-in), the paper's word) changes, in percent; in "
    "brackets or smaller torch's own bound 1 / sqrt(fan-in), that of all other tables. p: of the accuracy, by the "
    "paired t test between the two starts on the same seeds and folds. Above tanh: the accuracy minus that of tanh of "
    "the same width and start; arrows as in the table of scores"
)


def paper_sheets(tables: Sequence[Sequence[Row]]) -> dict[str, Sheet]:
    """The sheets by the name of their block; that of the start only where there are records of it."""
    usual = usual_rows(tables)
    sheets = {"clinical-published": published_sheet(usual), "clinical-normality": normality_sheet(usual)}
    pairs = start_pairs(row for table in tables for row in table)
    return sheets | ({"clinical-start": start_sheet(pairs)} if pairs else {})


def paper_blocks(tables: Sequence[Sequence[Row]]) -> dict[str, str]:
    """The sheets as blocks of a document."""
    sheets = paper_sheets(tables).items()
    return {name: f"{plain(sheet.caption)}.\n\n{as_markdown(sheet)}\n" for name, sheet in sheets}


def usual_rows(tables: Sequence[Sequence[Row]]) -> dict[str, Rows]:
    """The rows with the paper's settings and true labels, by data, model and width; of two tables of one name the first
    counts.
    """
    found: dict[str, Rows] = {}
    for table in tables:
        rows = {(row.model, row.width): row for row in table if is_usual(row)}
        if any(row.width is not None for row in rows.values()):
            found.setdefault(table[0].data, rows)
    return found


def is_usual(row: Row) -> bool:
    return row.labels == "true" and row.start in (None, RELEASED) and not unlike_paper(row.spec)


def published_sheet(usual: Mapping[str, Rows]) -> Sheet:
    """The 32 published cells, and beside them the accuracy on each of the data that there are records of."""
    body = []
    for width in WIDTHS:
        for model in MODELS:
            printed = (Cell(printed_cell(model, width, metric)) for metric in COLUMNS)
            own = (rows.get((model, width), rows.get((model, None))) for rows in usual.values())
            beside = (Cell("-") if row is None else plain_cell(row, "accuracy") for row in own)
            body.append((Cell(title_of(model)), Cell(str(width), width), *printed, *beside))
    heads = ("width", *(METRICS[metric].title for metric in COLUMNS), *(data.replace("-", " ") for data in usual))
    return Sheet("clinical-published", PUBLISHED + (BESIDE if usual else ""), make_heads(heads), tuple(body))


def normality_sheet(usual: Mapping[str, Rows]) -> Sheet:
    """Lilliefors' p-values of tanh and CL-extrapolate: of the published seeds and of ours."""
    published = [
        ("DementiaBank (published)", model, width, lilliefors_of(released_seeds(model, width)))
        for model, width in RIGHT
        if model in NORMAL
    ]
    ours = [
        (data, row.model, row.width, lilliefors_of(row.by_seed))
        for data, rows in usual.items()
        for row in rows.values()
        if row.model in NORMAL
    ]
    body = [
        (Cell(data), Cell(title_of(model)), Cell(str(width), width), *map(normality_cell, found))
        for data, model, width, found in (*published, *ours)
    ]
    counts, (normal, tested) = (count_normal(p for *_, found in part for p in found) for part in (published, ours))
    here = f" and in {normal} of {tested} of the cells from here" if tested else ""
    heads = (Head("data"), *make_heads(("width", *(METRICS[metric].title for metric in COLUMNS))))
    return Sheet("clinical-normality", NORMALITY.format(*counts, here), heads, tuple(body))


def lilliefors_of(by_seed: Mapping[str, Sequence[float | None]]) -> list[float | None]:
    """The p-value of each of the paper's metrics, over the seeds that did not diverge."""
    return [lilliefors([score for score in by_seed[metric] if score is not None]) for metric in COLUMNS]


def normality_cell(p: float | None) -> Cell:
    """A p-value, with the word no where it is not above the paper's level."""
    cell = p_cell(p)
    return cell if p is None or p > LEVEL else replace(cell, text=f"no, {cell.text}")


def count_normal(found: Iterable[float | None]) -> tuple[int, int]:
    """How many of the p-values are above the paper's level, of how many.

    >>> count_normal([0.5, 0.05, None])
    (1, 2)
    """
    known = [p for p in found if p is not None]
    return sum(p > LEVEL for p in known), len(known)


def start_pairs(rows: Iterable[Row]) -> list[tuple[Row, Row]]:
    """The rows with He's uniform start, each with that of torch's own start that agrees in everything else."""
    by_spec = {canonical(as_plain(row.spec)): row for row in rows}
    pairs = []
    for row in by_spec.values():
        if isinstance(row.spec, NetworkSpec) and row.spec.start == HE_UNIFORM:
            usual = by_spec.get(canonical(as_plain(replace(row.spec, start=RELEASED))))
            pairs += [] if usual is None else [(row, usual)]
    return pairs


def start_sheet(pairs: Sequence[tuple[Row, Row]]) -> Sheet:
    """Accuracy and micro-F1 with He's uniform start, in brackets with torch's own, and what is above tanh in each."""
    body = [
        (
            Cell(row.data),
            Cell(title_of(row.model)),
            Cell(str(row.width), row.width),
            Cell(str(row.seeds), row.seeds),
            start_cell(row, usual, "accuracy"),
            p_cell(start_test(row, usual)),
            start_cell(row, usual, "micro_f1"),
            Cell(above_text(row), row.above.get("accuracy"), above_text(usual) if row.above else ""),
        )
        for row, usual in pairs
    ]
    heads = ("width", "seeds", "Accuracy", "p", "Micro-F1", "above tanh")
    return Sheet("clinical-start", START, (Head("data"), *make_heads(heads)), tuple(body))


def start_cell(row: Row, usual: Row, metric: str) -> Cell:
    """A score with He's uniform start, and in brackets with torch's own."""
    return replace(plain_cell(row, metric), below=plain_cell(usual, metric).text)


def start_test(row: Row, usual: Row) -> float | None:
    """The p-value that the start does not change the accuracy, over the seeds that diverged with neither."""
    scores = zip(row.by_seed["accuracy"], usual.by_seed["accuracy"], strict=True)
    both = [(ours, theirs) for ours, theirs in scores if ours is not None and theirs is not None]
    return paired([ours for ours, _ in both], [theirs for _, theirs in both])


def above_text(row: Row) -> str:
    """How far the accuracy is above that of tanh, with arrows; a dash for tanh itself."""
    above = row.above.get("accuracy")
    return "-" if above is None else format_signed(above) + arrows(row, "accuracy")
