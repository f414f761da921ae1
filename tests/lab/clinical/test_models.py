"""Clinical networks and baselines on folds: together as alone, counted as scikit-learn counts, and without leaks."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, recall_score
from sklearn.model_selection import KFold, PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from chebact.lab import LabError
from chebact.lab.clinical.boruta import boruta_choice
from chebact.lab.clinical.classification import Counts, count_cases, roc_auc, scores_of
from chebact.lab.clinical.cohorts import generated_cohort
from chebact.lab.clinical.fold_inputs import choose_in_folds, folds_of, prepare_folds
from chebact.lab.clinical.models import baseline_results, network_of, network_results, train_folds
from chebact.lab.clinical.run import ClinicalRequest
from chebact.lab.clinical.spec import ChoiceSpec, Trial
from chebact.lab.clinical.table import Recordings
from chebact.lab.spec import parts_of, stream

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def table():
    whole = generated_cohort()
    return whole.with_features([name for name in whole.features if name.startswith("signal")])


def cohort_of(table, model, **changes):
    request = ClinicalRequest(table, models=(model,), baselines=(), widths=(32,), **changes)
    return request.specs(table, "all")[0]


def choice_of(trial, **settings):
    return ChoiceSpec(**parts_of(trial, Trial), wanted_for="x", **settings)


def pooled(results, metric):
    return np.mean([scores_of([Counts(*fold) for fold in seed["folds"]])[metric] for seed in results["seeds"]])


PARAMETERS = {("relu", 32): 6_500, ("cl-extrapolate", 32): 7_000, ("relu", 64): 21_000, ("cl-extrapolate", 64): 22_000}
"""As the paper prints them."""


@pytest.mark.parametrize(
    ("model", "width", "exact"),
    [
        ("relu", 32, 6434),
        ("tanh", 32, 6434),
        ("cl-extrapolate", 32, 6946),
        ("relu", 64, 21058),
        ("cl-extrapolate", 64, 22082),
    ],
)
def test_the_papers_numbers_of_parameters(table, model, width, exact):
    network = network_of(replace(cohort_of(table, model), width=width), 66)
    count = sum(parameter.numel() for parameter in network.parameters())
    assert count == exact
    if (model, width) in PARAMETERS:
        assert round(count / 500) * 500 == PARAMETERS[model, width]  # the paper prints half thousands


def test_the_network_is_the_papers(table):
    """Linear, twice the mean of the input and [sigma, Linear, sigma, Linear] of it, Linear."""
    for shortcut, share in (("average", 0.5), ("add", 1.0)):
        network = network_of(replace(cohort_of(table, "tanh"), shortcut=shortcut), 66).double()
        w = [p.detach() for p in network.parameters()]
        x = torch.randn(5, 66, dtype=torch.float64)
        hidden = x @ w[0].T + w[1]
        for a, b, c, d in (w[2:6], w[6:10]):
            hidden = share * (hidden + torch.tanh(torch.tanh(hidden) @ a.T + b) @ c.T + d)
        torch.testing.assert_close(network(x), hidden @ w[10].T + w[11])


@pytest.mark.parametrize("model", ["relu", "tanh", "cl-extrapolate"])
def test_each_fold_is_what_it_is_alone(table, model):
    """All folds of two seeds at once, and some of them alone by torch and nothing else: float64, 1e-8."""
    cohort = replace(cohort_of(table, model, seeds=2, epochs=5), batch_size=16)
    folds = [fold for seed in range(2) for fold in prepare_folds(table, cohort, seed)]
    folds[3] = replace(folds[3], train_x=folds[3].train_x[:, :50], test_x=folds[3].test_x[:, :50])  # constant columns
    assert len({len(fold.train_y) for fold in folds}) > 5
    assert len({-(-len(fold.train_y) // 16) for fold in folds}) > 1  # so that some rest
    _, together = train_folds(cohort, range(2), folds, torch.float64)
    for place in (0, 3, 7, 12, min(range(20), key=lambda each: len(folds[each].train_y))):
        alone = trained_alone(cohort, place // 10, place % 10, folds[place])
        torch.testing.assert_close(together[place], alone, rtol=0, atol=1e-8)


def trained_alone(cohort, seed, number, fold):
    words = (cohort.model, cohort.width, seed, number)
    network = network_of(cohort, fold.train_x.shape[1], generator=stream("clinical", "start", *words)).double()
    order = stream("clinical", "order", *words)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, cohort.epochs)
    x, y = torch.from_numpy(fold.train_x), torch.from_numpy(fold.train_y)
    for _ in range(cohort.epochs):
        for batch in torch.randperm(len(y), generator=order).split(cohort.batch_size):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(x[batch]), y[batch]).backward()
            optimizer.step()
        schedule.step()
    return network(torch.from_numpy(fold.test_x)).detach()


def test_scores_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    truth, said, fold = random.integers(2, size=400), random.integers(2, size=400), np.arange(400) % 10
    folds = [count_cases(truth[fold == each], said[fold == each]) for each in range(10)]
    scores = scores_of(folds)
    assert scores["accuracy"] == pytest.approx(accuracy_score(truth, said))
    assert scores["sensitivity"] == pytest.approx(recall_score(truth, said))
    assert scores["specificity"] == pytest.approx(recall_score(truth, said, pos_label=0))
    assert scores["micro_f1"] == pytest.approx(f1_score(truth, said))
    assert scores["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(truth, said))
    each = [f1_score(truth[fold == one], said[fold == one]) for one in range(10)]
    assert scores["macro_f1"] == pytest.approx(np.mean(each))
    assert scores["macro_f1_spread"] == pytest.approx(np.std(each, ddof=1))
    assert count_cases([0, 0], [0, 0]).f1 == f1_score([0, 0], [0, 0], zero_division=0) == 0


def test_a_baseline_is_scikit_learns_own_cross_validation(table):
    cohort = cohort_of(table, "1-class", seeds=2)
    cohort = replace(cohort, model="logistic")
    results = baseline_results(table, cohort)
    for seed in range(2):
        number = np.zeros(407, dtype=int)
        for place, fold in enumerate(folds_of(table, cohort, seed)[1]):
            number[fold.test] = place
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
        said = cross_val_predict(model, table.x, table.y, cv=PredefinedSplit(number))
        theirs = [list(vars(count_cases(table.y[number == k], said[number == k])).values()) for k in range(10)]
        assert results["seeds"][seed]["folds"] == theirs


def test_the_one_class_model_is_the_papers(table):
    results = baseline_results(table, cohort_of(table, "1-class", seeds=2))
    assert pooled(results, "accuracy") == pytest.approx(229 / 407)
    assert pooled(results, "micro_f1") == 0
    assert pooled(results, "specificity") == 1


def test_the_area_under_the_roc_curve_is_that_of_scikit_learn(table):
    from sklearn.metrics import roc_auc_score

    random = np.random.default_rng(0)
    for ties in (False, True):
        truth = random.integers(0, 2, 60)
        scores = random.normal(size=60).round(0 if ties else 9)
        assert roc_auc(truth.tolist(), scores.tolist()) == pytest.approx(roc_auc_score(truth, scores), abs=1e-12)
    spec = replace(cohort_of(table, "1-class", seeds=1, folds=5), model="logistic")
    (seed,) = baseline_results(table, spec)["seeds"]
    fold = prepare_folds(table, spec, 0)[2]
    model = LogisticRegression(max_iter=5000).fit(fold.train_x, fold.train_y)
    wanted = roc_auc_score(fold.test_y, model.predict_proba(fold.test_x)[:, 1])
    assert seed["roc_auc"][2] == pytest.approx(wanted, abs=1e-6)
    (seed,) = network_results(table, cohort_of(table, "tanh", seeds=1, folds=5, epochs=20))["seeds"]
    assert len(seed["roc_auc"]) == 5
    assert min(seed["roc_auc"]) > 0.5  # it has learned something


def test_folds_are_shared_by_models_and_widths(table):
    one, two = cohort_of(table, "relu"), replace(cohort_of(table, "cl-extrapolate"), width=64)
    for first, second in zip(prepare_folds(table, one, 5), prepare_folds(table, two, 5), strict=True):
        np.testing.assert_array_equal(first.train_x, second.train_x)
        np.testing.assert_array_equal(first.test_y, second.test_y)


def test_the_training_side_never_sees_the_test_side(table):
    """Garbage in the test side of a fold changes nothing of what is learned from in that fold."""
    cohort = cohort_of(table, "relu")
    _, folds = folds_of(table, cohort, 0)
    spoiled = table.x.copy()
    spoiled[folds[2].test] = 1e9 * np.random.default_rng(0).standard_normal((len(folds[2].test), 66))
    other = replace(table, x=spoiled)
    np.testing.assert_array_equal(
        prepare_folds(other, cohort, 0)[2].train_x, prepare_folds(table, cohort, 0)[2].train_x
    )


def test_features_are_chosen_without_the_test_side(table):
    """The same for Boruta inside the folds: the fold with garbage on its test side chooses as before, others do not."""
    narrow = replace(table, x=table.x[:, :8], features=table.features[:8])
    spec = choice_of(cohort_of(narrow, "relu", folds=3), seed=0, trees=10, rounds=8)
    _, folds = folds_of(narrow, spec, 0)
    spoiled = narrow.x.copy()
    spoiled[folds[2].test] = narrow.y[folds[2].test, None] + 0.1 * np.random.default_rng(0).random((1, 8))
    mine, others = (choose_in_folds(each, spec) for each in (narrow, replace(narrow, x=spoiled)))
    assert mine[2] == others[2]
    assert mine[:2] != others[:2]


def test_shuffled_labels_give_chance(table):
    """Networks and logistic regression, ten and twelve draws of labels and folds."""
    network = replace(cohort_of(table, "cl-extrapolate", labels="shuffled", seeds=10, epochs=6), width=8)
    linear = replace(cohort_of(table, "1-class", labels="shuffled", seeds=12), model="logistic")
    assert abs(pooled(network_results(table, network), "balanced_accuracy") - 0.5) < 0.03
    assert abs(pooled(baseline_results(table, linear), "balanced_accuracy") - 0.5) < 0.03
    learned = network_results(table, replace(network, labels="true", seeds=1))
    assert pooled(learned, "balanced_accuracy") > 0.7


def numbered(table):
    """The table with the subject's number for its only feature."""
    subjects = list(dict.fromkeys(table.subjects))
    number = np.array([subjects.index(subject) for subject in table.subjects], dtype=float)
    return replace(table, x=number[:, None], features=("number",))


def test_the_subjects_number_does_not_help(table):
    own = numbered(table)
    cohort = cohort_of(own, "relu", labels="shuffled", seeds=12)
    found = []
    for seed in range(12):
        counts = []
        for fold in prepare_folds(own, cohort, seed):
            said = DecisionTreeClassifier(random_state=0).fit(fold.train_x, fold.train_y).predict(fold.test_x)
            counts.append(count_cases(fold.test_y, said))
        found.append(scores_of(counts)["balanced_accuracy"])
    assert abs(np.mean(found) - 0.5) < 0.03
    split_at_random = KFold(10, shuffle=True, random_state=0)  # the subject's other recordings are in the training side
    said = cross_val_predict(DecisionTreeClassifier(random_state=0), own.x, own.y, cv=split_at_random)
    assert balanced_accuracy_score(own.y, said) > 0.8


def noise(subjects=50, features=40):
    random = np.random.default_rng(5)
    y = np.repeat(np.arange(subjects) % 2, 2)
    names = tuple(f"f{i}" for i in range(features))
    who = tuple(str(i // 2) for i in range(2 * subjects))
    return Recordings("noise", random.standard_normal((2 * subjects, features)), y, who, names)


def test_features_chosen_in_the_folds_leak_nothing_and_chosen_on_all_they_would():
    table = noise()
    cohort = replace(cohort_of(table, "1-class", seeds=4, folds=5), model="logistic")
    specs = [choice_of(cohort, seed=s, trees=15, rounds=8) for s in range(4)]
    choices = [[columns for columns, _ in choose_in_folds(table, spec)] for spec in specs]
    honest = pooled(baseline_results(table, cohort, choices), "balanced_accuracy")
    best = np.argsort(-np.abs(table.x[table.y == 1].mean(axis=0) - table.x[table.y == 0].mean(axis=0)))[:10]
    leaky = pooled(baseline_results(table, cohort, [[best.tolist()] * 5] * 4), "balanced_accuracy")
    assert honest < 0.57
    assert leaky > 0.62


def test_folds_with_different_features_train_together(table):
    cohort = cohort_of(table, "cl-extrapolate", seeds=1, epochs=2)
    choices = [[list(range(5 + number)) for number in range(10)]]
    results = network_results(table, cohort, choices)
    assert sum(sum(fold) for fold in results["seeds"][0]["folds"]) == 407


def test_a_training_that_explodes_is_told(table):
    huge = replace(cohort_of(table, "cubic", seeds=1, epochs=3, shortcut="add"), learning_rate=10.0)
    results = network_results(table, huge)
    assert None in results["seeds"][0]["folds"]
    assert results["seeds"][0]["loss"] is None


def test_boruta_finds_what_there_is_and_changes_nothing():
    random = np.random.default_rng(1)
    x, y = random.standard_normal((120, 12)), np.arange(120) % 2
    x[:, [2, 7]] += 1.5 * y[:, None]
    before, state = x.copy(), np.random.get_state()[1].copy()  # noqa: NPY002
    choice = boruta_choice(x, y, seed=3, trees=40, rounds=30)
    assert (choice.columns, choice.how) == ((2, 7), "confirmed")
    assert boruta_choice(x, y, seed=3, trees=40, rounds=30, jobs=2) == choice
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_boruta_without_signal_falls_back_and_says_so():
    random = np.random.default_rng(2)
    choice = boruta_choice(random.standard_normal((60, 6)), np.arange(60) % 2, seed=1, trees=20, rounds=20)
    assert choice.how in ("tentative", "best")
    assert len(choice.columns) >= 1
    with pytest.raises(LabError, match="one label"):
        boruta_choice(random.standard_normal((6, 2)), np.zeros(6, dtype=np.int64), seed=1)


def test_too_few_subjects_of_a_class_are_told():
    lonely = noise(subjects=10, features=3)
    y = (np.array(lonely.subjects) == "3").astype(np.int64)
    with pytest.raises(LabError, match="leaves recordings of one class to learn from"):
        prepare_folds(replace(lonely, y=y), cohort_of(lonely, "relu", folds=5), 0)
