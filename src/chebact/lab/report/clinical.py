"""The clinical tables as data: one row a model and width, with its scores, their tests and the published figures."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chebact.lab.baselines import BASELINES, MAJORITY
from chebact.lab.classification import METRICS, Counts, scores_of
from chebact.lab.published_clinical import COLUMNS, published_cell
from chebact.lab.stats import lilliefors, paired, summarize, welch
from chebact.lab.store import Record
from chebact.table import ACTIVATIONS

__all__ = ["REFERENCE", "Row", "as_csv", "as_json", "is_dementiabank", "order_of", "rows_of", "tables_of"]

REFERENCE = "tanh"
SPEC = ("data", "generated", "labels", "recordings", "subjects", "features", "choice", "model", "seeds", "folds")


@dataclass(frozen=True)
class Row:
    """One model at one width (None for those without). `by_seed` has the numbers of each seed in percent, None for a
    seed with a training that turned NaN; `values` is what the row shows, by name.
    """

    spec: Mapping[str, Any]
    by_seed: Mapping[str, Sequence[float | None]]
    values: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.values:
            raise AttributeError(name)
        return self.values[name]


def rows_of(records: Iterable[Record], against: str = REFERENCE) -> list[Row]:
    """The rows of clinical records, each tested against the model `against` of its width on the same folds."""
    found = [plain_row(record) for record in records if record.experiment == "clinical"]
    return [with_tests(row, reference_of(row, found, against)) for row in sorted(found, key=place)]


def place(row: Row) -> tuple[Any, ...]:
    kind = 0 if row.model == MAJORITY else 2 if row.model in BASELINES else 1
    table = (not row.generated, row.data, row.labels == "shuffled")
    return (*table, kind, row.shortcut or "", row.width or 0, *order_of(row.model))


def order_of(model: str) -> tuple[int, str]:
    """Where a model stands in the tables: that of the table of activations, or of the baselines."""
    everyone = (*ACTIVATIONS, *BASELINES)
    return (everyone.index(model) if model in everyone else len(everyone)), model


def plain_row(record: Record) -> Row:
    """A row without tests."""
    spec = record.spec
    values = {name: spec[name] for name in SPEC}
    values |= {"width": spec.get("width"), "shortcut": spec.get("shortcut"), "epochs": spec.get("epochs")}
    values["parameters"] = record.results["parameters"]
    scores = [seed_scores(seed["folds"]) for seed in record.results["seeds"]]
    names = (*METRICS, "macro_f1_spread")
    by_seed = {name: [None if each is None else 100 * each[name] for each in scores] for name in names}
    values["nan"] = sum(each is None for each in scores)
    for metric in METRICS:
        summary = summarize(by_seed[metric])
        values |= {metric: summary.mean, f"{metric}_std": summary.std}
    values |= best_of(by_seed)
    for metric in COLUMNS:
        paper = published_cell(spec["model"], spec.get("width"), metric) if is_dementiabank(values) else None
        values |= {f"paper_{metric}": paper and paper[0], f"paper_{metric}_std": paper and paper[1]}
    return Row(spec, by_seed, values)


def is_dementiabank(values: Mapping[str, Any]) -> bool:
    """Whether the paper's figures are of these data."""
    return values["data"] == "dementiabank" and not values["generated"] and values["labels"] == "true"


def seed_scores(folds: Sequence[Sequence[int] | None]) -> dict[str, float] | None:
    whole = [Counts(*fold) for fold in folds if fold is not None]
    return scores_of(whole) if len(whole) == len(folds) else None


def best_of(by_seed: Mapping[str, Sequence[float | None]]) -> dict[str, float | None]:
    """The best seed's macro-F1, with its spread over that seed's folds."""
    pairs = [
        (macro, spread)
        for macro, spread in zip(by_seed["macro_f1"], by_seed["macro_f1_spread"], strict=True)
        if macro is not None
    ]
    best, spread = max(pairs, key=lambda pair: pair[0]) if pairs else (None, None)
    return {"best_macro_f1": best, "best_macro_f1_std": spread}


def reference_of(row: Row, rows: Sequence[Row], against: str) -> Row | None:
    """The row to test against: the same data, seeds and folds, the same shortcut and width; the smallest width for a
    model that has none.
    """
    same = ("digest", "labels", "choice", "seeds", "folds")
    fitting = [
        other
        for other in rows
        if other.model == against
        and all(other.spec[name] == row.spec[name] for name in same)
        and row.width in (None, other.width)
        and row.shortcut in (None, other.shortcut)
        and row.epochs in (None, other.epochs)
    ]
    fitting.sort(key=lambda other: (other.shortcut == "add", other.width or 0))
    return fitting[0] if fitting and fitting[0] is not row else None


def with_tests(row: Row, reference: Row | None) -> Row:
    """The row with the p-values of every metric; `p_welch`, `p_paired` and `lilliefors` are those of the accuracy."""
    values = dict(row.values)
    for metric in METRICS:
        normal = lilliefors([value for value in row.by_seed[metric] if value is not None])
        p_welch = p_paired = None
        if reference is not None:
            pairs = list(zip(row.by_seed[metric], reference.by_seed[metric], strict=True))
            both = [(one, other) for one, other in pairs if one is not None and other is not None]
            mine, others = [one for one, _ in pairs], [other for _, other in pairs]
            p_welch = welch([v for v in mine if v is not None], [v for v in others if v is not None])
            p_paired = paired([one for one, _ in both], [other for _, other in both])
        values |= {f"lilliefors_{metric}": normal, f"p_welch_{metric}": p_welch, f"p_paired_{metric}": p_paired}
    values["against"] = None if reference is None else reference.model
    values["against_width"] = None if reference is None else reference.width
    for name in ("lilliefors", "p_welch", "p_paired"):
        values[name] = values[f"{name}_accuracy"]
    return Row(row.spec, row.by_seed, values)


def tables_of(rows: Sequence[Row]) -> dict[tuple[str, str, str], list[Row]]:
    """The rows of each table, by data, labels and shortcut; the baselines stand in each table of their data."""
    tables: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.shortcut is not None:
            tables.setdefault((row.data, row.labels, row.shortcut), [])
    for row in rows:
        same = [key for key in tables if key[:2] == (row.data, row.labels) and row.shortcut in (None, key[2])]
        for key in same or [(row.data, row.labels, "average")]:
            tables.setdefault(key, []).append(row)
    return tables


def as_json(rows: Sequence[Row]) -> str:
    """A JSON list, one object a row, in percent, null where there is nothing."""
    return json.dumps([dict(row.values) for row in rows], indent=1, allow_nan=False) + "\n"


def as_csv(rows: Sequence[Row]) -> str:
    """Comma-separated rows under a line of names, empty where there is nothing."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0].values), lineterminator="\n")
    writer.writeheader()
    writer.writerows(dict(row.values) for row in rows)
    return text.getvalue()
