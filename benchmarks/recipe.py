"""The ladder of training recipes: python benchmarks/recipe.py trains what is missing in results/recipe and writes the
tables of docs/recipe.md; with --table it only writes the tables.

Every rung is the paper's synthetic network on all 14 cells (seven functions, two levels of noise) with ten seeds, on a
draw of our own that no setting was tuned on. A rung is a row of `RUNGS`.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch

from chebact import ChebyshevLagrange
from chebact.lab.engine import now
from chebact.lab.environment import environment, host
from chebact.lab.functions import DATASETS, target
from chebact.lab.spec import added, as_plain, stream
from chebact.lab.store import Record, holds, read_record, write_record
from chebact.networks import ResidualMLP
from chebact.training import (
    Sgd,
    absolute_error,
    predict_replicas,
    scaled_huber_error,
    squared_error,
    train_replicas_,
)

ROOT = Path(__file__).parents[1]
RESULTS, PAGE = ROOT / "results" / "recipe", ROOT / "docs" / "recipe.md"
SYNTHETIC = ROOT / "results" / "synthetic"
COLUMNS, POINTS = 5, 1000
LOSSES = {"absolute": absolute_error, "squared": squared_error, "scaled-huber": scaled_huber_error}
CELLS = [(dataset, noise) for noise in (0.01, 0.04) for dataset in DATASETS]


@dataclass(frozen=True)
class Rung:
    """A recipe; the defaults are the paper's. `heights_decay` is None where it is as for the rest."""

    name: str
    text: str
    activation: str = "cl-extrapolate"
    degree: int = 3
    width: int = 32
    init: str = "zeros"
    step: float = 0.01
    heights_step: float | None = None
    momentum: float = 0.99
    nesterov: bool = False
    decay: float = 1e-6
    heights_decay: float | None = None
    curvature: float = 0.0
    loss: str = "absolute"
    batch_size: int = 32
    epochs: int = 300
    seeds: int = 10
    draw: int = 2001
    clip_norm: float | None = added(None)

    def network(self, features: int, **options: Any) -> ResidualMLP:
        """The network of this rung."""
        learned: Any = partial(ChebyshevLagrange, degree=self.degree, init=self.init)
        activation = learned if self.activation == "cl-extrapolate" else self.activation
        return ResidualMLP(features, activation=activation, width=self.width, **options)


def climb() -> list[Rung]:
    """One change after the other, then single changes of what came out."""
    rungs = [Rung("published", "the published recipe")]

    def step(name: str, text: str, **changes: Any) -> None:
        rungs.append(replace(rungs[-1], name=name, text=text, **changes))

    step("nesterov", "+ Nesterov's momentum", nesterov=True)
    step("relu-start", "+ heights start at ReLU", init="relu")
    step("decay", "+ weight decay 3e-4", decay=3e-4)
    step("curvature", "+ curvature penalty 1e-5 in place of the heights' decay", heights_decay=0.0, curvature=1e-5)
    step("step", "+ step size 0.02", step=0.02)
    step("huber", "+ `scaled_huber_error`", loss="scaled-huber")
    step("degree-2", "+ degree 2", degree=2)
    step("more-decay", "+ weight decay 5e-4", decay=5e-4)
    short = rungs[-1]
    step("recommended", "+ 1,000 epochs: **the recommended recipe**", epochs=1000)
    best = rungs[-1]
    others = {
        "degree-3": ("the recommended recipe with degree 3", {"degree": 3}),
        "long-step-clip": (
            "with step size 0.03 and gradients bounded to a norm of 1",
            {"step": 0.03, "clip_norm": 1.0},
        ),
        "long-no-curvature": ("without the curvature penalty", {"curvature": 0.0}),
        "relu": ("with ReLU in place of learned shapes", {"activation": "relu", "curvature": 0.0}),
        "tanh": ("with tanh in place of learned shapes", {"activation": "tanh", "curvature": 0.0}),
    }
    alone: dict[str, tuple[str, dict[str, Any]]] = {
        "short-absolute": ("300 epochs, L1 loss", {"loss": "absolute"}),
        "short-squared": ("300 epochs, squared error", {"loss": "squared"}),
        "short-decay-1e-3": ("300 epochs, weight decay 1e-3", {"decay": 1e-3}),
        "short-batch-16": ("300 epochs, batches of 16", {"batch_size": 16}),
        "short-decay-2e-4": ("300 epochs, weight decay 2e-4", {"decay": 2e-4}),
        "short-heights-step": ("300 epochs, the heights' step size x 0.3", {"heights_step": 0.006}),
        "short-curvature-1e-4": ("300 epochs, curvature penalty 1e-4", {"curvature": 1e-4}),
        "short-no-curvature": ("300 epochs, no curvature penalty", {"curvature": 0.0}),
        "short-momentum": ("300 epochs, momentum 0.98", {"momentum": 0.98}),
        "short-step": ("300 epochs, step size 0.03", {"step": 0.03}),
    }
    rungs += [replace(best, name=name, text=text, **changes) for name, (text, changes) in others.items()]
    rungs += [replace(short, name=name, text=text, **changes) for name, (text, changes) in alone.items()]
    return rungs


RUNGS = climb()
FRESH = [
    replace(rung, name=f"{rung.name}-2002", draw=2002) for rung in RUNGS if rung.name in ("published", "recommended")
]
"""Both ends of the ladder on a draw that nobody looked at before the recipe was settled."""
FIRST = ("published", "recommended", "relu", "tanh", "degree-3")  # what the page is about


def split(dataset: str, noise: float, draw: int) -> tuple[torch.Tensor, ...]:
    """x and y of the training points with noise, then of the test points without."""
    generator = torch.Generator().manual_seed(draw)
    x = torch.rand(2 * POINTS, DATASETS[dataset].features, generator=generator) * 2 - 1
    y = target(dataset, x, "released")
    disturbance = torch.randn(POINTS, 1, generator=generator) * noise
    wide = torch.nn.functional.pad(x, (0, COLUMNS - x.shape[1]))
    return wide[:POINTS], y[:POINTS] + disturbance, wide[POINTS:], y[POINTS:]


def train_rung(rung: Rung) -> dict[str, Any]:
    """RMSE of each seed and of the mean of all seeds, cell by cell; None where a seed left the finite numbers."""
    cells = [cell for cell in CELLS for _ in range(rung.seeds)]
    keys = [(*cell, seed) for cell in CELLS for seed in range(rung.seeds)]
    parts = [torch.stack(each) for each in zip(*(split(*cell, rung.draw) for cell in cells), strict=True)]
    x, y, test_x, test_y = parts
    used = [DATASETS[dataset].features for dataset, _ in cells]
    start = [stream("recipe", "start", *key) for key in keys]
    network = rung.network(COLUMNS, replicas=len(cells), used_features=used, generator=start)
    own = {"heights_lr": rung.heights_step, "heights_weight_decay": rung.heights_decay}
    if rung.activation != "cl-extrapolate":
        own = {}
    run = train_replicas_(
        network,
        x,
        y,
        order=[stream("recipe", "order", *key) for key in keys],
        epochs=rung.epochs,
        clip_norm=rung.clip_norm,
        batch_size=rung.batch_size,
        loss=LOSSES[rung.loss],
        optimizer=Sgd(rung.step, rung.momentum, rung.nesterov, rung.decay, **own),
        curvature=rung.curvature,
    )
    wrong = (predict_replicas(network, test_x, len(cells)) - test_y).double()
    failed = run.failed | ~wrong.isfinite().all(dim=2).all(dim=1)
    return {"parameters": sum(p.numel() for p in rung.network(3).parameters()), "trainer": run.trainer} | {
        "cells": [
            cell_results(cell, wrong[first : first + rung.seeds], failed[first : first + rung.seeds])
            for cell, first in zip(CELLS, range(0, len(cells), rung.seeds), strict=True)
        ]
    }


def cell_results(cell: tuple[str, float], wrong: torch.Tensor, failed: torch.Tensor) -> dict[str, Any]:
    """One cell: wrong (seed, point, 1), the differences from the target without noise."""
    rmse = wrong.square().mean(dim=(1, 2)).sqrt()
    together = wrong[~failed].mean(dim=0).square().mean().sqrt()
    return {
        "dataset": cell[0],
        "noise": cell[1],
        "rmse": [None if lost else float(f"{value:.6g}") for value, lost in zip(rmse, failed, strict=True)],
        "ensemble": None if failed.all() else float(f"{together:.6g}"),
    }


def path_of(rung: Rung) -> Path:
    return RESULTS / f"{rung.name}.json"


def train_missing() -> None:
    """Train and record every rung that has no record."""
    for rung in sorted([*RUNGS, *FRESH], key=lambda rung: rung.name not in FIRST):
        plain = {name: value for name, value in as_plain(rung).items() if name != "text"}
        if holds(path_of(rung), plain):
            continue
        created, start = now(), time.perf_counter()
        results = train_rung(rung)
        times = {"host": host(), "created": created, "seconds": round(time.perf_counter() - start, 1)}
        write_record(path_of(rung), Record("recipe", plain, results, environment(), times))
        print(f"{rung.name}: {times['seconds']} s", file=sys.stderr, flush=True)


def singles(results: Any, noise: float | None = None) -> list[float]:
    """The median of the seeds, for each cell."""
    cells = [cell for cell in results["cells"] if noise in (None, cell["noise"])]
    return [median(value for value in cell["rmse"] if value is not None) for cell in cells]


def ratio(values: list[float], others: list[float]) -> float:
    """The geometric mean of the ratios."""
    return math.exp(sum(math.log(a / b) for a, b in zip(values, others, strict=True)) / len(values))


def table(rungs: list[Rung]) -> str:
    """Rungs as Markdown, from the records, relative to the first."""
    base = read_record(path_of(rungs[0])).results
    lines = [
        "| recipe | parameters | single | noise 0.01 | noise 0.04 | ensemble of ten | diverged |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for rung in rungs:
        found = read_record(path_of(rung)).results
        numbers = [ratio(singles(found, noise), singles(base, noise)) for noise in (None, 0.01, 0.04)]
        numbers.append(ratio([cell["ensemble"] for cell in found["cells"]], singles(base)))
        lost = sum(value is None for cell in found["cells"] for value in cell["rmse"])
        shown = " | ".join(f"{number:.3f}" for number in numbers)
        total = len(found["cells"]) * rung.seeds
        lines.append(f"| {rung.text} | {found['parameters']:,} | {shown} | {lost} of {total} |")
    return "\n".join(lines)


def published_table() -> str:
    """The recommended recipe on the published draw, from the records of the lab: medians of ten seeds."""
    lines = [
        "| function, noise | published recipe | recommended | ensemble of ten | diverged |",
        "|---|--:|--:|--:|--:|",
    ]
    columns: list[tuple[float, float, float]] = []
    for dataset, noise in CELLS:
        old, new = (
            read_record(SYNTHETIC / form / f"{noise:g}" / f"cl-extrapolate-{dataset}.json").results
            for form in ("released-fixed-columns", "recommended")
        )
        ours = [seed["rmse"] for seed in new["seeds"]]
        before, after = (median(seed["rmse"] for seed in each["seeds"] if not seed["nan"]) for each in (old, new))
        columns.append((before, after, new["ensemble"]))
        shown = " | ".join(f"{value:.4f}" for value in columns[-1])
        lines.append(f"| {DATASETS[dataset].title}, {noise:g} | {shown} | {ours.count(None)} of {len(ours)} |")
    base, single, together = (list(column) for column in zip(*columns, strict=True))
    lines.append(f"| geometric mean of the ratios | 1 | {ratio(single, base):.3f} | {ratio(together, base):.3f} | |")
    return "\n".join(lines)


def write_tables() -> None:
    """Put both tables between the marks of the page."""
    page = PAGE.read_text("utf-8")
    for name, text in (
        ("ladder", table(RUNGS)),
        ("fresh-draw", table(FRESH)),
        ("published-draw", published_table()),
    ):
        begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->"
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}{text}\n{end}{rest.partition(end)[2]}"
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    if "--table" not in sys.argv:
        train_missing()
    write_tables()
