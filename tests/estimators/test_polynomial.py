"""Estimators that end as polynomials: scikit-learn's checks, the guarantee on the training rows, the box."""

import numpy
import pytest
import torch
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

import chebact
from chebact.estimators import CLClassifier, CLRegressor, load_model, save_model

SMALL = {"epochs": 20, "n_replicas": 2, "width": 8, "blocks": 1, "polynomial": True, "weight_decay": 1e-3, "degree": 2}


@parametrize_with_checks([CLRegressor(**SMALL), CLClassifier(**SMALL)], expected_failed_checks=lambda estimator: {})
def test_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


def scaled(model, X):
    x = torch.from_numpy(model.input_scaling_(X.clip(*model.box_)).astype(numpy.float32))
    return x.expand(len(model.network_.first.weight), *x.shape)


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_no_training_row_is_outside_and_a_polynomial_is_left(load):
    X, y = load(return_X_y=True)
    model = CLClassifier(**{**SMALL, "epochs": 40, "width": 16}, random_state=0).fit(X[::2], y[::2])
    ranges = chebact.input_ranges(model.network_, scaled(model, X[::2]))
    assert all(each.headroom >= 0.05 for each in ranges.values())
    assert model.polynomial_report_.headroom == pytest.approx(min(each.headroom for each in ranges.values()), abs=1e-6)
    kinds = [part for part in model.network_.modules() if isinstance(part, chebact.ChebyshevLagrange)]
    assert kinds
    assert all(part.tails == "none" for part in kinds)
    assert model.score(X[1::2], y[1::2]) > 0.93
    chebact.to_polynomial(model.network_, calibration=scaled(model, X[::2]))


def test_rows_outside_are_moved_to_the_box_and_files_and_formulas_keep_it(tmp_path):
    X = numpy.random.default_rng(0).normal(size=(120, 2))
    model = CLRegressor(**{**SMALL, "epochs": 60}, random_state=0).fit(X, numpy.sin(X[:, 0]) + X[:, 1])
    assert (model.box_ == [X.min(axis=0), X.max(axis=0)]).all()
    far = numpy.array([[50.0, -60.0], [0.1, 0.2]])
    assert (model.predict(far) == model.predict(far.clip(*model.box_))).all()
    save_model(model, tmp_path / "model.npz")
    assert (load_model(tmp_path / "model.npz").predict(far) == model.predict(far)).all()
    functions = []
    for replica in range(2):
        place = {}
        exec(model.to_formula(replica, digits=12), place)
        functions.append(place["predict"])
    mean = [numpy.mean([each(*row) for each in functions]) for row in far.tolist()]
    numpy.testing.assert_allclose(mean, model.predict(far), rtol=1e-5, atol=1e-5)


def test_a_channel_that_is_made_smaller_leaves_the_polynomial_as_it_is():
    from chebact.estimators.polynomials import polynomial_of
    from chebact.networks import ResidualMLP
    from chebact.ranges.polynomial import without_tails

    torch.manual_seed(0)
    network = ResidualMLP(2, width=4, blocks=2, degree=2, replicas=2).double()
    with torch.no_grad():
        for part in network.modules():
            if isinstance(part, chebact.ChebyshevLagrange):
                part.heights.normal_()
    x = torch.randn(30, 2, dtype=torch.float64)
    found = polynomial_of(network, x)
    plain = without_tails(network)(x.expand(2, 30, 2))
    torch.testing.assert_close(found.model(x.expand(2, 30, 2)), plain, rtol=1e-9, atol=1e-9)
    assert found.report.headroom >= 0.05
    cut = (network(x.expand(2, 30, 2)) - plain).abs().max().item()  # what the tails were worth
    assert cut > 0.1
    assert found.report.largest_change == pytest.approx(cut, rel=1e-6)
    assert min(each.headroom for each in chebact.input_ranges(network, x.expand(2, 30, 2)).values()) < -0.5


def test_a_second_fit_goes_on_and_other_activations_are_refused():
    X = numpy.random.default_rng(0).normal(size=(60, 2))
    y = X[:, 0] * X[:, 1]
    model = CLRegressor(**SMALL, random_state=0, warm_start=True).fit(X, y)
    before = model.score(X, y)
    assert model.fit(X, y).score(X, y) >= before - 0.05
    with pytest.raises(ValueError, match="activation must be cl-extrapolate or another ChebyshevLagrange"):
        CLRegressor(**SMALL, activation="relu").fit(X, y)
