"""The clinical tables as data: one row per model and width, with its scores, their tests and the published figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chebact.lab.clinical.baselines import BASELINES, MAJORITY
from chebact.lab.clinical.classification import METRICS, Counts, scores_of
from chebact.lab.clinical.published import COLUMNS, FEATURES, PATIENTS, RECORDINGS, published_cell
from chebact.lab.clinical.record import ClinicalRecord, Seed
from chebact.lab.clinical.spec import IN_FOLDS, ON_COHORT, ClinicalSettings, Trial
from chebact.lab.page.comparison import unlike
from chebact.lab.starts import HE_UNIFORM
from chebact.lab.stats import lilliefors, paired, summarize, welch
from chebact.table import ACTIVATIONS

__all__ = ["FEWEST", "REFERENCE", "Row", "is_dementiabank", "order_of", "rows_of", "tables_of", "unlike_paper"]

REFERENCE = "tanh"
USUAL = ClinicalSettings()
PAPER = {name: getattr(USUAL, name) for name in ("folds", "epochs", "shortcut")}
FEWEST = 5  # seeds that are tested, or compared with the paper's thirty

SPEC = ("data", "generated", "labels", "recordings", "subjects", "features", "choice", "model", "seeds", "folds")


@dataclass(frozen=True)
class Row:
    """One model at one width (None for those without). `by_seed` has the numbers of each seed in percent, None for a
    seed with a training that diverged; `values` is what the row shows, by name. `above` is how far its mean is above
    that of the model it is tested against, by metric; it is not part of the exported rows.
    """

    spec: Trial
    by_seed: Mapping[str, Sequence[float | None]]
    values: Mapping[str, Any]
    above: Mapping[str, float] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.values:
            raise AttributeError(name)
        return self.values[name]


def rows_of(records: Iterable[ClinicalRecord], against: str = REFERENCE) -> list[Row]:
    """The rows of clinical records, each tested against the model `against` of its width on the same folds."""
    records = list(records)
    metrics = metrics_of(records)
    found = [plain_row(record, metrics) for record in records]
    return [add_tests(row, reference_of(row, found, against)) for row in sorted(found, key=sort_key)]


def metrics_of(records: Sequence[ClinicalRecord]) -> list[str]:
    """The metrics of these records; a `recorded` one needs a record that holds it."""
    seeds = [seed for record in records for seed in record.results.seeds]
    return [
        name
        for name, metric in METRICS.items()
        if not metric.recorded or any(getattr(seed, name) is not None for seed in seeds)
    ]


def sort_key(row: Row) -> tuple[Any, ...]:
    kind = 0 if row.model == MAJORITY else 2 if row.model in BASELINES else 1
    table = (not row.generated, row.data, row.labels == "shuffled")
    return (*table, kind, row.shortcut == "add", row.start == HE_UNIFORM, row.width or 0, *order_of(row.model))


def order_of(model: str) -> tuple[int, str]:
    """The position of a model in the tables: as in the table of activations, then the baselines."""
    everyone = (*ACTIVATIONS, *BASELINES)
    return (everyone.index(model) if model in everyone else len(everyone)), model


def plain_row(record: ClinicalRecord, metrics: Sequence[str]) -> Row:
    """A row without tests."""
    spec = record.spec
    values: dict[str, Any] = {name: getattr(spec, name) for name in SPEC}
    values |= {name: getattr(spec, name, None) for name in ("width", "shortcut", "start", "epochs")}  # of networks only
    in_folds = spec.choice.startswith(IN_FOLDS)  # each fold has as many as its features ask for
    values["parameters"] = None if in_folds else record.results.parameters
    scores = [seed_scores(seed) for seed in record.results.seeds]
    by_seed = {name: [as_percent(each, name) for each in scores] for name in (*metrics, "macro_f1_spread")}
    values["nan"] = sum(each is None for each in scores)
    for metric in metrics:
        summary = summarize(by_seed[metric])
        values |= {metric: summary.mean, f"{metric}_std": summary.std}
    values |= best_seed(by_seed)
    for metric in COLUMNS:
        paper = published_cell(spec.model, values["width"], metric) if is_dementiabank(spec) else None
        values |= {f"paper_{metric}": paper and paper[0], f"paper_{metric}_std": paper and paper[1]}
    return Row(spec, by_seed, values)


def is_dementiabank(spec: Trial) -> bool:
    """Whether the paper's figures are of these data: of that name, of the paper's recordings and patients, and with its
    features or those that Boruta chose on another cohort.
    """
    named = spec.data == "dementiabank" and not spec.generated and spec.labels == "true"
    features = (spec.choice, spec.features) == ("all", FEATURES) or spec.choice.startswith(ON_COHORT)
    return named and features and (spec.recordings, spec.positive) == (RECORDINGS, PATIENTS)


def unlike_paper(spec: Trial) -> str:
    """Where a run differs from the paper's settings, in words; empty where it does not."""
    few = f"seeds: {spec.seeds} instead of {USUAL.seeds}" if spec.seeds < FEWEST else ""
    return ", ".join(words for words in (unlike(vars(spec), PAPER), few) if words)


def seed_scores(seed: Seed) -> dict[str, float | None] | None:
    """The scores of a seed; None where one of its trainings diverged."""
    counts = [Counts(*fold) for fold in seed.folds if fold is not None]
    return scores_of(counts, seed.roc_auc or ()) if len(counts) == len(seed.folds) else None


def as_percent(scores: Mapping[str, float | None] | None, name: str) -> float | None:
    score = None if scores is None else scores[name]
    return None if score is None else 100 * score


def best_seed(by_seed: Mapping[str, Sequence[float | None]]) -> dict[str, float | None]:
    """The best seed's macro-F1, with its spread over that seed's folds."""
    pairs = [
        (macro, spread)
        for macro, spread in zip(by_seed["macro_f1"], by_seed["macro_f1_spread"], strict=True)
        if macro is not None
    ]
    best, spread = max(pairs, key=lambda pair: pair[0]) if pairs else (None, None)
    return {"best_macro_f1": best, "best_macro_f1_std": spread}


def reference_of(row: Row, rows: Sequence[Row], against: str) -> Row | None:
    """The row to test against: the same data, seeds and folds, and where both have them the same settings and width;
    for a model without, the smallest width.
    """
    fitting = [
        other
        for other in rows
        if other.model == against
        and is_comparable(row, other)
        and (None in (row.width, other.width) or row.width == other.width)
    ]
    fitting.sort(key=lambda other: (other.shortcut == "add", other.start == HE_UNIFORM, other.width or 0))
    return fitting[0] if fitting and fitting[0] is not row else None


def is_comparable(row: Row, other: Row) -> bool:
    """Whether two rows belong in one table: all fields that both specs have are equal, but model and width, and the
    start of heights, which some models have none of.
    """
    one, two = vars(row.spec), vars(other.spec)
    return all(one[name] == two[name] for name in (one.keys() & two.keys()) - {"model", "width", "init"})


def add_tests(row: Row, reference: Row | None) -> Row:
    """The row with the p-values of every metric; `p_welch`, `p_paired` and `lilliefors` are those of the accuracy."""
    values, above = dict(row.values), {}
    metrics = [name for name in METRICS if name in row.by_seed]
    for metric in metrics:
        values[f"lilliefors_{metric}"] = lilliefors(finite(row.by_seed[metric]))
    values["lilliefors"] = values["lilliefors_accuracy"]
    for metric in metrics:
        p_welch = p_paired = None
        if reference is not None:
            ours, theirs = row.by_seed[metric], reference.by_seed[metric]
            both = [pair for pair in zip(ours, theirs, strict=True) if None not in pair]
            p_welch = welch(finite(ours), finite(theirs))
            p_paired = paired(finite(one for one, _ in both), finite(other for _, other in both))
            if row.values[metric] is not None and reference.values[metric] is not None:
                above[metric] = row.values[metric] - reference.values[metric]
        values |= {f"p_welch_{metric}": p_welch, f"p_paired_{metric}": p_paired}
    for name, key in (("against", "model"), ("against_width", "width"), ("against_shortcut", "shortcut")):
        values[name] = reference and reference.values[key]
    values |= {name: values[f"{name}_accuracy"] for name in ("p_welch", "p_paired")}
    return Row(row.spec, row.by_seed, values, above)


def finite(values: Iterable[float | None]) -> list[float]:
    """The values of the seeds that did not diverge."""
    return [value for value in values if value is not None]


def tables_of(rows: Sequence[Row], against: str = REFERENCE) -> list[list[Row]]:
    """The rows of each table: networks of one data, choice, labels, shortcut and all other fields of a spec but model
    and width. Models without a shortcut are in every table of their data and folds, tested against its network.
    """
    tables: list[list[Row]] = []
    for row in sorted(rows, key=lambda each: each.shortcut is None):
        fitting = [table for table in tables if is_comparable(row, table[0])]
        for table in fitting:
            table.append(row)
        if not fitting:
            tables.append([row])
    return [
        [add_tests(row, reference_of(row, table, against)) for row in sorted(table, key=sort_key)] for table in tables
    ]
