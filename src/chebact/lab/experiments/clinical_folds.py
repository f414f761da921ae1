"""What a model is given in each fold: features chosen and scaled by the training side alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chebact.data.clinical import Recordings
from chebact.data.folds import Fold, Scaling, shuffled_by_subject, subject_folds
from chebact.lab import LabError
from chebact.lab.boruta import boruta_choice
from chebact.lab.experiments.clinical_spec import ChoiceOfFeatures, Trial
from chebact.lab.spec import stream

__all__ = ["Choices", "Prepared", "chosen_in_folds", "chosen_on_cohort", "prepared"]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Choices = Sequence[Sequence[Sequence[int]]]  # the columns of each fold of each seed


@dataclass(frozen=True, eq=False)
class Prepared:
    """One fold: x (recording, column) standardised, y (recording,), on either side."""

    train_x: Floats
    train_y: Whole
    test_x: Floats
    test_y: Whole


def folds_of(table: Recordings, trial: Trial, seed: int) -> tuple[Whole, list[Fold]]:
    """The labels and the folds of a seed: the same for every model."""
    folds = subject_folds(table.subjects, trial.folds, stream("clinical", "folds", trial.folds, seed))
    y = table.y
    if trial.labels == "shuffled":
        y = shuffled_by_subject(y, table.subjects, stream("clinical", "labels", seed))
    for number, fold in enumerate(folds):
        if len(np.unique(y[fold.train])) < 2:
            raise LabError(
                f"fold {number} of seed {seed} leaves recordings of one class to learn from: "
                "there are too few subjects of the other, choose more --folds"
            )
    return y, folds


def prepared(table: Recordings, trial: Trial, seed: int, choices: Choices | None = None) -> list[Prepared]:
    """The folds of a seed, each with the columns chosen for it, or with all."""
    y, folds = folds_of(table, trial, seed)
    done = []
    for number, fold in enumerate(folds):
        x = table.x if choices is None else table.x[:, list(choices[seed][number])]
        scaling = Scaling.fitted(x[fold.train])
        if len(scaling.columns) == 0:
            raise LabError(f"every feature is constant in the training side of fold {number} of seed {seed}")
        done.append(Prepared(scaling(x[fold.train]), y[fold.train], scaling(x[fold.test]), y[fold.test]))
    return done


def chosen_in_folds(table: Recordings, spec: ChoiceOfFeatures) -> list[tuple[list[int], str]]:
    """The columns that Boruta chooses on the training side of each fold of the spec's seed, and how."""
    assert spec.seed is not None
    y, folds = folds_of(table, spec, spec.seed)
    chosen = []
    for number, fold in enumerate(folds):
        seed = stream("clinical", "boruta", spec.seed, number).initial_seed() % 2**32
        choice = boruta_choice(table.x[fold.train], y[fold.train], seed=seed, trees=spec.trees, rounds=spec.rounds)
        chosen.append((list(choice.columns), choice.how))
    return chosen


def chosen_on_cohort(table: Recordings, spec: ChoiceOfFeatures, jobs: int = 1) -> list[str]:
    """The names of the features that Boruta confirms on a cohort of its own."""
    seed = stream("clinical", "boruta").initial_seed() % 2**32
    choice = boruta_choice(table.x, table.y, seed=seed, trees=spec.trees, rounds=spec.rounds, jobs=jobs)
    if choice.how == "best":
        raise LabError(f"Boruta finds no useful feature in {table.name}: use --features all, or more --rounds")
    return [table.features[column] for column in choice.columns]
