"""Folds by subject and scaling: against scikit-learn, and against every way to leak."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from chebact.lab.clinical.folds import Scaling, shuffle_by_subject, subject_folds
from chebact.lab.clinical.table import DataError


def seeded(seed):
    return torch.Generator().manual_seed(seed)


@given(st.lists(st.integers(0, 40), min_size=2, max_size=120), st.integers(2, 10), st.integers(0, 5))
def test_nobody_is_on_both_sides_and_everybody_is_tested_once(people, folds, seed):
    subjects = [str(person) for person in people]
    if len(set(subjects)) < folds:
        with pytest.raises(
            DataError, match=f"folds must be from 2 to {len(set(subjects))}, the number of subjects, got {folds}"
        ):
            subject_folds(subjects, folds, seeded(seed))
        return
    parts = subject_folds(subjects, folds, seeded(seed))
    assert sorted(place for fold in parts for place in fold.test.tolist()) == list(range(len(subjects)))
    sizes = []
    for fold in parts:
        assert sorted([*fold.train.tolist(), *fold.test.tolist()]) == list(range(len(subjects)))
        tested = {subjects[place] for place in fold.test}
        assert not tested & {subjects[place] for place in fold.train}
        sizes.append(len(tested))
    assert max(sizes) - min(sizes) <= 1


def test_folds_are_drawn_anew_each_seed_and_the_same_for_the_same():
    subjects = [str(place // 2) for place in range(80)]
    draws = [[fold.test.tolist() for fold in subject_folds(subjects, 10, seeded(seed))] for seed in (1, 2, 1)]
    assert draws[0] == draws[2] != draws[1]


@pytest.mark.parametrize("folds", [1, 0, -2, 4])
def test_folds_that_cannot_be(folds):
    with pytest.raises(DataError, match="folds must be from 2 to"):
        subject_folds(["a", "b", "c"], folds, seeded(0))


def test_scaling_is_that_of_scikit_learn_on_the_columns_that_vary():
    random = np.random.default_rng(0)
    train, test = random.lognormal(size=(50, 4)), random.lognormal(size=(9, 4))
    train[:, 2] = 3.25
    scaling, kept = Scaling.fit(train), [0, 1, 3]
    theirs = StandardScaler().fit(train[:, kept])
    assert scaling.columns.tolist() == kept
    np.testing.assert_allclose(scaling(test), theirs.transform(test[:, kept]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(scaling(train).std(axis=0), 1, rtol=1e-12)


def test_labels_are_shuffled_between_subjects():
    subjects = [str(place // 3) for place in range(300)]
    y = np.repeat(np.arange(100) < 40, 3).astype(np.int64)
    shuffled = shuffle_by_subject(y, subjects, seeded(3))
    assert shuffled.reshape(100, 3).std(axis=1).max() == 0
    assert shuffled.sum() == y.sum()
    assert abs(np.corrcoef(shuffled, y)[0, 1]) < 0.3
