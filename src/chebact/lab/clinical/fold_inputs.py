"""The inputs of a model in each fold: features chosen and scaled on the training side only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chebact.lab import LabError
from chebact.lab.clinical.boruta import boruta_choice
from chebact.lab.clinical.cells import LARGEST
from chebact.lab.clinical.folds import Fold, Scaling, shuffle_by_subject, subject_folds
from chebact.lab.clinical.spec import ChoiceSpec, Trial
from chebact.lab.clinical.table import SMALLEST, Recordings
from chebact.lab.spec import stream

__all__ = ["Choices", "FoldInputs", "choose_in_folds", "choose_on_cohort", "prepare_folds"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Choices = Sequence[Sequence[Sequence[int]]]  # the columns of each fold of each seed


@dataclass(frozen=True, eq=False)
class FoldInputs:
    """One fold: x (recording, column) standardised, y (recording,), on either side."""

    train_x: Floats
    train_y: Integers
    test_x: Floats
    test_y: Integers


def folds_of(table: Recordings, trial: Trial, seed: int) -> tuple[Integers, list[Fold]]:
    """The labels and the folds of a seed: the same for every model."""
    folds = subject_folds(table.subjects, trial.folds, stream("clinical", "folds", trial.folds, seed))
    y = table.y
    if trial.labels == "shuffled":
        y = shuffle_by_subject(y, table.subjects, stream("clinical", "labels", seed))
    for number, fold in enumerate(folds):
        if len(np.unique(y[fold.train])) < 2:
            other = int(1 - y[fold.train][0])
            count = len({subject for subject, label in zip(table.subjects, y, strict=True) if label == other})
            why = (
                f"there are {count} subjects of the other in {trial.folds} folds, choose more `folds`"
                if count > 1
                else "there is one subject of the other, who cannot be both learned from and tested on"
            )
            raise LabError(f"fold {number} of seed {seed} leaves recordings of one class to learn from: {why}")
    return y, folds


def prepare_folds(table: Recordings, trial: Trial, seed: int, choices: Choices | None = None) -> list[FoldInputs]:
    """The folds of a seed, each with the columns chosen for it, or with all."""
    y, folds = folds_of(table, trial, seed)
    done = []
    for number, fold in enumerate(folds):
        x = table.x if choices is None else table.x[:, list(choices[seed][number])]
        scaling = Scaling.fit(x[fold.train])
        if len(scaling.columns) == 0:
            raise LabError(f"every feature is constant in the training side of fold {number} of seed {seed}")
        names = table.features if choices is None else [table.features[column] for column in choices[seed][number]]
        small = scaling.deviation < SMALLEST
        check_sides(small, [names[column] for column in scaling.columns], number, seed)
        train, test = scaling(x[fold.train]), scaling(x[fold.test])
        large = np.maximum(np.abs(train).max(axis=0), np.abs(test).max(axis=0)) > LARGEST
        check_sides(large, [names[column] for column in scaling.columns], number, seed)
        done.append(FoldInputs(train, y[fold.train], test, y[fold.test]))
    return done


def check_sides(wrong: NDArray[np.bool_], names: Sequence[str], number: int, seed: int) -> None:
    """A LabError for a column that varies little on the training side and much on the test side."""
    if wrong.any():
        raise LabError(
            f"the column {names[int(np.argmax(wrong))]!r} has numbers of very different sizes: scaled by the training "
            f"side of fold {number} of seed {seed} they are beyond single precision; leave it out with `drop`"
        )


def choose_in_folds(table: Recordings, spec: ChoiceSpec) -> list[tuple[list[int], str]]:
    """The columns that Boruta chooses on the training side of each fold of the spec's seed, and how."""
    assert spec.seed is not None
    y, folds = folds_of(table, spec, spec.seed)
    chosen = []
    for number, fold in enumerate(folds):
        seed = stream("clinical", "boruta", spec.seed, number).initial_seed() % 2**32
        choice = boruta_choice(table.x[fold.train], y[fold.train], seed=seed, trees=spec.trees, rounds=spec.rounds)
        chosen.append((list(choice.columns), choice.how))
    return chosen


def choose_on_cohort(table: Recordings, spec: ChoiceSpec, jobs: int = 1) -> tuple[list[str], str]:
    """The names of the features that Boruta chooses on a second cohort, and how: confirmed, or tentative."""
    seed = stream("clinical", "boruta").initial_seed() % 2**32
    choice = boruta_choice(table.x, table.y, seed=seed, trees=spec.trees, rounds=spec.rounds, jobs=jobs)
    if choice.how == "best":
        raise LabError(f"Boruta finds no useful feature in {table.name}: use `features` all, or more `rounds`")
    return [table.features[column] for column in choice.columns], choice.how
