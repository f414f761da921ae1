"""What the estimators compute: units, outliers, weights, intervals, formulas and files."""

import numpy
import pytest
from sklearn.datasets import make_friedman1

from chebact import ChebyshevLagrange
from chebact.estimators import CLClassifier, CLRegressor, load_model, save_model
from chebact.estimators.noise import Noise
from chebact.estimators.rows import left_out_rows
from chebact.estimators.scaling import InputScaling, TargetScaling, weighted_quantiles
from chebact.training import RECOMMENDED

SMALL = {"epochs": 40, "n_replicas": 2, "width": 8, "blocks": 1, "random_state": 0}
X = numpy.random.default_rng(1).uniform(-1, 1, (150, 3))
Y = numpy.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]


def test_quantiles_of_equal_weights_are_numpys():
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    truth = numpy.quantile(X, levels, axis=0, method="inverted_cdf")
    assert (weighted_quantiles(X, numpy.ones(150), levels) == truth).all()


@pytest.mark.parametrize("unit", [1e-9, 1e9, 1e-200, 1e200])
def test_the_unit_of_a_column_or_of_the_target_changes_nothing(unit):
    plain = CLRegressor(**SMALL).fit(X, Y).predict(X)
    columns = numpy.array([unit, 1.0, 1 / unit])
    changed = CLRegressor(**SMALL).fit(X * columns, Y * unit).predict(X * columns)
    numpy.testing.assert_allclose(changed / unit, plain, rtol=1e-3, atol=1e-3)


def test_a_constant_column_and_a_wild_one_do_no_harm():
    wild = numpy.where(numpy.arange(150) % 50 == 0, 1e30, X[:, 0])
    table = numpy.stack([*X.T, numpy.full(150, 3.0), wild], axis=1)
    model = CLRegressor(**{**SMALL, "epochs": 150}).fit(table, Y)
    assert model.score(table, Y) > 0.95
    other = table.copy()
    other[:, 3] = -1e300
    assert (model.predict(other) == model.predict(table)).all()


def test_outliers_in_the_target_leave_the_rest_learnable():
    y = Y.copy()
    y[::50] = 1e6
    rest = numpy.arange(150) % 50 > 0
    model = CLRegressor(**{**SMALL, "epochs": 150, "n_replicas": 4}).fit(X, y)
    assert numpy.median(numpy.abs(model.predict(X)[rest] - Y[rest])) < 0.3


def test_scaled_inputs_stay_small_and_targets_come_back():
    scaling = InputScaling.of(X, numpy.ones(150))
    assert numpy.abs(scaling(numpy.full((1, 3), 1e308))).max() < 720
    target = TargetScaling.of(Y[:, None], numpy.ones(150))
    numpy.testing.assert_allclose(target.back(target(Y[:, None]))[:, 0], Y, atol=1e-12)


def test_every_row_is_left_out_equally_often():
    counts = numpy.bincount(left_out_rows(numpy.random.default_rng(0).permutation(137), 10, 0.1).ravel(), minlength=137)
    assert set(counts) <= {0, 1}
    assert counts.sum() == 130


def test_a_weight_of_three_is_the_row_three_times():
    weights = numpy.where(X[:, 0] > 0, 3.0, 1.0)
    repeated = numpy.repeat(numpy.arange(150), weights.astype(int))
    weighted = CLRegressor(**SMALL).fit(X, Y, sample_weight=weights)
    assert (weighted.predict(X) == CLRegressor(**SMALL).fit(X[repeated], Y[repeated]).predict(X)).all()


def test_intervals_cover_what_they_say_on_friedmans_function():
    x, y = make_friedman1(1200, noise=1.0, random_state=0)
    model = CLRegressor(n_replicas=5, epochs=200, width=16, random_state=0).fit(x[:400], y[:400])
    mean, std = model.predict(x[400:], return_std=True)
    assert 0.8 < (numpy.abs(mean - y[400:]) < 1.645 * std).mean() < 0.97


def test_noise_is_that_of_a_normal_distribution():
    errors = numpy.random.default_rng(0).normal(0, 2, (20_000, 1))
    found = Noise.of(errors, numpy.zeros((20_000, 1)), numpy.ones(20_000), 10)
    assert found.deviations(numpy.zeros((1, 1)))[0, 0] == pytest.approx(2, rel=0.02)


@pytest.mark.parametrize("activation", ["cl-extrapolate", "cl-regression", "relu", "tanh"])
def test_the_formula_run_by_python_is_the_prediction(activation):
    model = CLRegressor(**{**SMALL, "n_replicas": 1, "epochs": 10}, activation=activation).fit(X, 1e3 * Y + 5)
    names = {}
    exec(model.to_formula(digits=17), names)
    truth = model.predict(3 * X[:20])
    numpy.testing.assert_allclose([names["predict"](*row) for row in (3 * X[:20]).tolist()], truth, rtol=1e-9)


def test_the_formula_of_a_classifier_has_the_odds():
    model = CLClassifier(**{**SMALL, "n_replicas": 1, "epochs": 10}).fit(X, Y > 0)
    names = {}
    exec(model.to_formula(digits=17), names)
    odds = numpy.exp([names["predict"](*row) for row in X[:20].tolist()])
    numpy.testing.assert_allclose(odds / odds.sum(axis=1, keepdims=True), model.predict_proba(X[:20]), rtol=1e-9)


def test_a_saved_model_predicts_the_same(tmp_path):
    model = CLRegressor(**SMALL).fit(X, Y)
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    for ours, theirs in zip(again.predict(X, return_std=True), model.predict(X, return_std=True), strict=True):
        assert (ours == theirs).all()
    classes = numpy.array(["low", "high"], dtype=object)[(Y > 0).astype(int)]
    model = CLClassifier(**SMALL).fit(X, classes)
    save_model(model, tmp_path / "classes.npz")
    assert (load_model(tmp_path / "classes.npz").predict(X) == model.predict(X)).all()


def test_a_file_that_is_no_model_is_refused(tmp_path):
    (tmp_path / "model.npz").write_bytes(b"\x80\x04N.")
    with pytest.raises(ValueError, match="path must name a file of save_model"):
        load_model(tmp_path / "model.npz")
    with pytest.raises(ValueError, match="must have a name or a number as activation"):
        save_model(CLRegressor(**{**SMALL, "epochs": 1}, activation=ChebyshevLagrange).fit(X, Y), tmp_path / "own.npz")


def test_a_warm_start_goes_on_where_the_fit_ended():
    model = CLRegressor(**{**SMALL, "weight_decay": 0.0}, warm_start=True).fit(X, Y)
    before = model.loss_curve_
    assert model.fit(X, Y).loss_curve_[-1] < before[-1]
    assert model.loss_curve_[0] < before[0]
    with pytest.raises(ValueError, match="warm_start must find the columns and n_replicas of the fit before"):
        model.fit(X[:, :2], Y)
    with pytest.raises(ValueError, match="warm_start must find the width"):
        model.set_params(blocks=2).fit(X, Y)


def test_early_stopping_ends_before_a_network_learns_noise_by_heart():
    noise = numpy.random.default_rng(2).normal(size=150)
    options = {**SMALL, "epochs": 120, "weight_decay": 0.0}
    stopped = CLRegressor(**options, early_stopping=True).fit(X, noise)
    assert stopped.n_iter_ < 120
    assert stopped.score(X, noise) < CLRegressor(**options).fit(X, noise).score(X, noise)


def test_a_fit_can_tell_how_far_it_is(capsys):
    CLRegressor(**{**SMALL, "epochs": 20, "weight_decay": 0.0}, verbose=True).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[-1].startswith("epoch 20 of 20: loss 0.")


def test_auto_decays_more_where_the_table_is_noise():
    noise = numpy.random.default_rng(3).normal(size=150)
    options = {**SMALL, "epochs": 200}
    noisy, smooth = CLRegressor(**options).fit(X, Y + noise), CLRegressor(**options).fit(X, Y)
    assert noisy.degree_ == 3
    assert noisy.weight_decay_ >= 0.002
    assert (smooth.degree_, smooth.weight_decay_) == (RECOMMENDED.degree, RECOMMENDED.weight_decay)


def test_a_degree_or_a_decay_that_is_given_is_that_of_the_fit():
    model = CLRegressor(**SMALL, degree=4).fit(X, Y)
    assert model.degree_ == 4
    assert {module.basis.degree for module in model.network_.modules() if hasattr(module, "basis")} == {4}
    model = CLRegressor(**SMALL, weight_decay=0.125).fit(X, Y)
    assert (model.degree_, model.weight_decay_) == (RECOMMENDED.degree, 0.125)


def test_the_defaults_are_those_of_the_recommended_recipe():
    found = CLRegressor().get_params()
    names = {"learning_rate": "lr", "momentum": "momentum", "batch_size": "batch_size", "init": "init"}
    assert {name: found[name] for name in names} == {name: getattr(RECOMMENDED, field) for name, field in names.items()}
    assert CLRegressor()._loss() is RECOMMENDED.loss
