"""The defaults of the estimators against those before them: python benchmarks/defaults.py fits what is missing in
results/defaults and writes the table of docs/recipe.md; with --table it only writes the table.

The 28 tables are generated, or splits of diabetes and iris; none is a set of the comparison with other models. The
defaults were chosen on other draws of the same tables. A way to fit is a row of `WAYS`.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy
from numpy import abs as size_of
from numpy import cos, exp, sign, sin, sqrt, tanh
from sklearn import datasets

from chebact.estimators import CLClassifier, CLRegressor, ensemble, network_estimator
from chebact.estimators.network_estimator import CANDIDATES, Candidate
from chebact.lab.engine import now
from chebact.lab.environment import environment, host
from chebact.lab.store import Record, holds, read_record, write_record

ROOT = Path(__file__).parents[1]
RESULTS, PAGE = ROOT / "results" / "defaults", ROOT / "docs" / "recipe.md"
DRAW, NETWORKS, TEST = 2002, 5, 1000
Array = Any
Split = tuple[Array, Array, Array, Array]  # X and y to learn from, X and y to test on


def uniform(*ranges: tuple[float, float]) -> Callable[[Any, int], Array]:
    low, high = numpy.array(ranges, float).T
    return lambda random, rows: low + (high - low) * random.random((rows, len(ranges)))


def normal(columns: int) -> Callable[[Any, int], Array]:
    return lambda random, rows: random.normal(size=(rows, columns))


def teacher(inputs: int) -> Callable[[Array, Any], Array]:
    """A network of twelve tanh units of the first columns."""

    def values(x: Array, random: Any) -> Array:
        weights = random.normal(size=(inputs, 12)) / sqrt(min(5, inputs))
        return tanh(x[:, :inputs] @ weights + random.normal(size=12) * 0.5) @ random.normal(size=12)

    return values


@dataclass(frozen=True)
class Table:
    """Rows to learn from, the deviation of the noise in deviations of the target, inputs, and the target of x."""

    name: str
    rows: int
    noise: float
    inputs: Callable[[Any, int], Array]
    target: Callable[[Array, Any], Array]
    heavy: bool = False

    def split(self, random: Any) -> Split:
        """The rows to learn from with noise, the test rows without."""
        x = self.inputs(random, self.rows + TEST)
        y = self.target(x, random)
        drawn = 0.5 * random.standard_t(2, self.rows) if self.heavy else random.normal(size=self.rows)
        return x[: self.rows], y[: self.rows] + self.noise * y.std() * drawn, x[self.rows :], y[self.rows :]


def with_copies(random: Any, rows: int) -> Array:
    x = random.normal(size=(rows, 4))
    return numpy.concatenate([x, x[:, :2], numpy.ones((rows, 1)), 1e6 * x[:, :1] + random.normal(size=(rows, 1))], 1)


def of(function: Callable[..., Array]) -> Callable[[Array, Any], Array]:
    """A target that is a function of the columns."""
    return lambda x, random: function(*x.T)


BY_ONE = (1.0, 3.0)
TABLES = [
    Table("II.6.11", 1000, 0.01, uniform(*[BY_ONE] * 4), of(lambda e, p, t, r: p * cos(t) / (e * r**2))),
    Table("II.11.27", 300, 0.05, uniform((0, 1), (0, 1), (1, 2), (1, 2)),
          of(lambda n, a, e, f: n * a * e * f / (1 - n * a / 3))),
    Table("II.35.18", 600, 0.2, uniform(*[BY_ONE] * 5),
          of(lambda n, m, b, k, t: n / (exp(m * b / (k * t)) + exp(-m * b / (k * t))))),
    Table("I.50.26", 300, 0.01, uniform(*[BY_ONE] * 4), of(lambda x, w, t, a: x * (cos(w * t) + a * cos(w * t) ** 2))),
    Table("II.24.17", 600, 0.05, uniform((4, 6), (1, 2), (2, 4)),
          of(lambda w, c, d: sqrt(w**2 / c**2 - numpy.pi**2 / d**2))),
    Table("III.9.52", 1000, 0.2, uniform(*[BY_ONE] * 4, (1, 2.9), (3, 5)),
          of(lambda p, e, t, h, w, v: p * e * t / h * (sin((w - v) * t / 2) / ((w - v) * t / 2)) ** 2)),
    Table("I.39.22", 600, 0.01, uniform(*[(1, 5)] * 4), of(lambda n, k, t, v: n * k * t / v)),
    Table("I.48.2", 1000, 0.05, uniform((1, 5), (1, 2), (3, 10)),
          of(lambda m, v, c: m * c**2 / sqrt(1 - v**2 / c**2))),
    Table("linear", 500, 1.0, normal(8), lambda x, random: x @ random.normal(size=8)),
    Table("linear, 5 of 30 columns", 400, 0.5, normal(30), lambda x, _: x[:, :5].sum(1) + x[:, 0] * x[:, 1]),
    Table("tanh network, 20 columns", 1000, 0.1, normal(20), teacher(20)),
    Table("tanh network, 6 of 60 columns", 2000, 0.1, normal(60), teacher(6)),
    Table("tanh network, 5 columns", 100, 0.05, normal(5), teacher(5)),
    Table("tanh network, 10 columns", 3000, 0.3, normal(10), teacher(10)),
    Table("discrete inputs", 800, 0.1, lambda random, rows: random.integers(0, 4, (rows, 8)).astype(float),
          lambda x, _: size_of(x[:, 0] - x[:, 1]) + (x[:, 2] == 2) * x[:, 3] + x[:, 4]),
    Table("steps", 1000, 0.1, uniform(*[(-1, 1)] * 6),
          lambda x, _: 2.0 * (x[:, 0] > 0) + 3 * (x[:, 1] > 0.3) * (x[:, 2] > -0.3) + x[:, 3]),
    Table("heavy-tailed inputs", 800, 0.1, lambda random, rows: random.standard_t(1.5, (rows, 7)),
          lambda x, _: numpy.log1p(size_of(x[:, 0])) * sign(x[:, 1]) + tanh(x[:, 2])),
    Table("heavy-tailed noise", 800, 0.3, normal(6), lambda x, _: sin(2 * x[:, 0]) + x[:, 1] * x[:, 2], heavy=True),
    Table("log-normal target", 600, 0.02, normal(6), lambda x, _: exp(1.2 * x[:, 0] + 0.5 * x[:, 1] * x[:, 2])),
    Table("duplicated columns", 600, 0.05, with_copies, lambda x, _: sin(x[:, 0]) + x[:, 1] * x[:, 2]),
]  # fmt: skip


def parts(x: Array, y: Array, rows: int) -> Split:
    return x[:rows], y[:rows], x[rows:], y[rows:]


def shuffled(loaded: tuple[Array, Array], rows: int, random: Any) -> Split:
    order = random.permutation(len(loaded[1]))
    return parts(loaded[0][order], loaded[1][order], rows)


def spirals(random: Any) -> Split:
    angle, arm = random.uniform(0.5, 10, 1600), random.integers(0, 2, 1600)
    x = angle[:, None] * numpy.stack([cos(angle + arm * numpy.pi), sin(angle + arm * numpy.pi)], axis=1)
    return parts(x + 0.3 * random.normal(size=x.shape), arm, 600)


def classes(random: Any) -> dict[str, Split]:
    """The tables of classes."""
    seeds = [int(seed) for seed in random.integers(0, 2**31, 4)]
    made = datasets.make_classification
    return {
        "moons": parts(*datasets.make_moons(1500, noise=0.25, random_state=seeds[0]), 500),
        "three classes, 20 columns": parts(
            *made(1800, 20, n_informative=6, n_redundant=4, n_classes=3, flip_y=0.05, random_state=seeds[1]), 800
        ),
        "two classes, 40 columns": parts(
            *made(1300, 40, n_informative=5, n_redundant=0, flip_y=0.1, class_sep=0.7, random_state=seeds[2]), 300
        ),
        "shells": parts(
            *datasets.make_gaussian_quantiles(n_samples=1600, n_features=6, n_classes=3, random_state=seeds[3]), 600
        ),
        "spirals": spirals(random),
        "iris": shuffled(datasets.load_iris(return_X_y=True), 90, random),
    }


def splits(draw: int) -> Iterator[tuple[str, str, Split]]:
    """The kind, the name and the split of every table."""
    for table in TABLES:
        yield "regression", table.name, table.split(numpy.random.default_rng([draw, len(table.name), table.rows]))
    random = numpy.random.default_rng(draw)
    for rows in (300, 150):
        yield "regression", f"diabetes, {rows}", shuffled(datasets.load_diabetes(return_X_y=True), rows, random)
    for name, split in classes(random).items():
        yield "classes", name, split


@dataclass(frozen=True)
class Way:
    """A way to fit: what "auto" tries, the bound of the gradient, and parameters of the estimators."""

    name: str
    text: str
    candidates: tuple[Candidate, ...] = CANDIDATES
    clip_norm: float | None = ensemble.BOUND
    parameters: tuple[tuple[str, Any], ...] = ()
    loss: str = "auto"
    draw: int = DRAW
    networks: int = NETWORKS

    def fit(self, kind: str, x: Array, y: Array) -> Any:
        """The fitted estimator."""
        options = dict(self.parameters) | {"n_replicas": self.networks, "random_state": 0}
        with ExitStack() as stack:
            stack.enter_context(patch.object(network_estimator, "CANDIDATES", self.candidates))
            stack.enter_context(patch.object(ensemble, "BOUND", self.clip_norm))
            if kind == "classes":
                return CLClassifier(**options).fit(x, y)
            return CLRegressor(**options, loss=self.loss).fit(x, y)


BEFORE = (("epochs", 300), ("learning_rate", 0.01), ("curvature", 0.0))
WAYS = [
    Way("before", "the defaults before", (Candidate(3, 3e-4), Candidate(3, 1e-2, 1 / 6)), None, BEFORE,
        "absolute_error"),
    Way("alone", "the recommended recipe alone, 600 epochs", CANDIDATES[:1]),
    Way("now", "**the defaults now**: three fits"),
]  # fmt: skip


def error_of(kind: str, model: Any, x: Array, y: Array) -> float:
    """The root mean square error in deviations of the target, or the mean surprise at the classes."""
    if kind == "regression":
        return float(sqrt(numpy.mean((model.predict(x) - y) ** 2)) / y.std())
    shares = model.predict_proba(x)[numpy.arange(len(y)), numpy.searchsorted(model.classes_, y)]
    return float(-numpy.log(numpy.maximum(shares, 1e-12)).mean())


def fit_all(way: Way) -> list[dict[str, Any]]:
    """Fit every table; `diverged` counts the trainings that had to be repeated."""
    results = []
    for kind, name, (x, y, test_x, test_y) in splits(way.draw):
        lost: list[int] = []
        with patch.object(ensemble, "diverged", counting(lost)):
            start = time.process_time()
            model = way.fit(kind, x, y)
            seconds = round(time.process_time() - start, 2)
        error = float(f"{error_of(kind, model, test_x, test_y):.5g}")
        chosen = {"degree": model.degree_, "decay": model.weight_decay_}
        results.append(
            {"table": name, "kind": kind, "error": error, "seconds": seconds, "diverged": len(lost)} | chosen
        )
    return results


def counting(lost: list[int], diverged: Any = ensemble.diverged) -> Callable[[Array], list[int]]:
    """The test for divergence, which adds what it finds to a list."""

    def watched(losses: Array) -> list[int]:
        found: list[int] = diverged(losses)
        lost.extend(found)
        return found

    return watched


def path_of(way: Way) -> Path:
    return RESULTS / f"{way.name}.json"


def fit_missing() -> None:
    """Fit and record every way that has no record."""
    for way in WAYS:
        fields = {name: value for name, value in vars(way).items() if name not in ("text", "candidates", "parameters")}
        plain = fields | {"candidates": [vars(each) for each in way.candidates], "parameters": dict(way.parameters)}
        if holds(path_of(way), plain):
            continue
        created, start = now(), time.perf_counter()
        results = {"tables": fit_all(way)}
        times = {"host": host(), "created": created, "seconds": round(time.perf_counter() - start, 1)}
        write_record(path_of(way), Record("defaults", plain, results, environment(), times))
        print(f"{way.name}: {times['seconds']} s", file=sys.stderr, flush=True)


def table() -> str:
    """The ways as Markdown, from the records."""
    base = {each["table"]: each for each in read_record(path_of(WAYS[0])).results["tables"]}
    lines = [
        "| fit | regression, 22 tables | classes, 6 tables | worst table | better on | diverged | time |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for way in WAYS:
        found = read_record(path_of(way)).results["tables"]
        ratios = {each["table"]: each["error"] / base[each["table"]]["error"] for each in found}
        means = [
            math.exp(numpy.mean([math.log(ratios[each["table"]]) for each in found if each["kind"] == kind]))
            for kind in ("regression", "classes")
        ]
        seconds = sum(each["seconds"] for each in found[1:]) / sum(each["seconds"] for each in list(base.values())[1:])
        better = "-" if way is WAYS[0] else f"{sum(ratio < 1 for ratio in ratios.values())} of {len(ratios)}"
        lost = sum(each["diverged"] for each in found)
        lines.append(
            f"| {way.text} | {means[0]:.3f} | {means[1]:.3f} | {max(ratios.values()):.2f} | {better} | {lost} | "
            f"{seconds:.1f} |"
        )
    return "\n".join(lines)


def write_table() -> None:
    """Put the table between the marks of the page."""
    page = PAGE.read_text("utf-8")
    begin, end = "<!-- begin: defaults -->\n", "<!-- end: defaults -->"
    before, _, rest = page.partition(begin)
    PAGE.write_text(f"{before}{begin}{table()}\n{end}{rest.partition(end)[2]}", "utf-8")


if __name__ == "__main__":
    if "--table" not in sys.argv:
        fit_missing()
    write_table()
