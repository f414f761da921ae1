"""What the records say: for each cell and model the step size that validation chose, and its test errors."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from settings import Model, Setting

from chebact.lab.store import Record, records_under

STALLED = 0.9  # of the best constant's error


@dataclass(frozen=True)
class Outcome:
    """One model at one step size: errors of all seeds as shares of the best constant's, None where not finite."""

    step: float
    constant: float
    result: Mapping[str, Any]

    @property
    def test(self) -> list[float | None]:
        return self.result["test"]

    @property
    def error(self) -> float:
        return geometric(self.test)

    @property
    def stalled(self) -> int:
        return sum(value is None or value > STALLED for value in self.test)


Cell = Setting  # with step 0 and no models: what a step size is chosen within
Outcomes = dict[Cell, dict[Model, list[Outcome]]]


def geometric(values: Iterable[float | None]) -> float:
    """The geometric mean; 1, the error of a constant, for what is more or not finite."""
    logs = [0.0 if value is None else min(0.0, math.log(value)) for value in values]
    return math.exp(sum(logs) / len(logs))


def read_outcomes(folder: Path) -> Outcomes:
    """All records below the folder by cell and model, every step size in order."""
    found: Outcomes = defaultdict(lambda: defaultdict(list))
    for record in records_under(folder):
        setting = setting_of(record)
        cell = replace(setting, step=0.0, models=())
        for model, result in zip(setting.models, record.results["models"], strict=True):
            found[cell][model].append(Outcome(setting.step, record.results["constant"], result))
    for rows in found.values():
        for of in rows.values():
            of.sort(key=lambda one: one.step)
    return found


def setting_of(record: Record) -> Setting:
    models = tuple(Model(**model) for model in record.spec["models"])
    return Setting(**{**record.spec, "models": models})


def chosen(outcomes: list[Outcome]) -> Outcome:
    """The step size with the lowest geometric mean error on validation points."""
    return min(outcomes, key=lambda one: geometric(one.result["valid"]))


def at_step(outcomes: list[Outcome], step: float) -> Outcome:
    return next(one for one in outcomes if one.step == step)


def kind_of(cell: Cell) -> str:
    return "paper" if cell.optimizer == "paper" else cell.network


def cells_of(outcomes: Outcomes, study: str, **wanted: object) -> list[Cell]:
    """The cells of a study in which these fields have these values, in order of depth."""
    there = [
        cell
        for cell in outcomes
        if cell.study == study and all(getattr(cell, name) == value for name, value in wanted.items())
    ]
    return sorted(there, key=lambda cell: (cell.network, cell.depth, cell.optimizer, cell.scale, cell.noise))


@dataclass(frozen=True)
class Standing:
    """How one start of the heights did over all cells of the study `init`.

    `error` weighs the kinds of networks alike, `adam` is the same over the cells with Adam, `worst` the largest ratio
    to the best start of a cell.
    """

    model: Model
    stalled: int
    trainings: int
    error: float
    adam: float
    worst: float


def standings(outcomes: Outcomes) -> list[Standing]:
    """All models of the study, candidates and fixed functions, in the order of the study."""
    cells = cells_of(outcomes, "init")
    models = list(outcomes[cells[0]])
    best = {cell: min(chosen(outcomes[cell][model]).error for model in models if model.learned) for cell in cells}
    return [standing(outcomes, cells, model, best) for model in models]


def standing(outcomes: Outcomes, cells: list[Cell], model: Model, best: Mapping[Cell, float]) -> Standing:
    own = {cell: chosen(outcomes[cell][model]) for cell in cells}
    return Standing(
        model,
        stalled=sum(one.stalled for one in own.values()),
        trainings=sum(len(one.test) for one in own.values()),
        error=over_kinds(own),
        adam=over_kinds({cell: one for cell, one in own.items() if cell.optimizer == "adam"}),
        worst=max(one.error / best[cell] for cell, one in own.items()),
    )


def over_kinds(own: Mapping[Cell, Outcome]) -> float:
    """The geometric mean error of the cells of each kind of network, then of the kinds."""
    kinds = defaultdict(list)
    for cell, one in own.items():
        kinds[kind_of(cell)].append(one.error)
    return geometric(map(geometric, kinds.values()))


def choose_default(rows: list[Standing]) -> Standing:
    """The rule of docs/decisions/0036."""
    learned = [row for row in rows if row.model.learned]
    fewest = min(row.stalled for row in learned)
    left = [row for row in learned if row.stalled <= fewest + 0.01 * row.trainings]
    lowest = min(row.error for row in left)
    return min((row for row in left if row.error <= 1.05 * lowest), key=lambda row: row.worst)
