"""The estimators among scikit-learn's tools."""

import pickle
import subprocess
import sys
from functools import partial

import numpy
import pandas
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.inspection import partial_dependence
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from chebact import ChebyshevLagrange
from chebact.estimators import CLClassifier, CLRegressor

SMALL = {"epochs": 20, "n_replicas": 2, "width": 8, "blocks": 1, "random_state": 0}
X = numpy.random.default_rng(0).uniform(-1, 1, (120, 3))
Y = numpy.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
NAMES = ["a", "b", "c"]


def test_a_grid_search_in_two_processes_finds_the_better_width():
    search = GridSearchCV(CLRegressor(**SMALL), {"epochs": [1, 40]}, cv=2, n_jobs=2).fit(X, Y)
    assert search.best_params_ == {"epochs": 40}


def test_a_pipeline_a_clone_and_a_pickle_predict_the_same():
    pipeline = make_pipeline(StandardScaler(), CLRegressor(**SMALL)).fit(X, Y)
    again = clone(pipeline).fit(X, Y)
    assert (again.predict(X) == pipeline.predict(X)).all()
    assert (pickle.loads(pickle.dumps(pipeline)).predict(X) == pipeline.predict(X)).all()


def test_a_pipeline_with_frames_as_output_keeps_the_names():
    pipeline = make_pipeline(StandardScaler(), CLRegressor(**SMALL)).set_output(transform="pandas")
    pipeline.fit(pandas.DataFrame(X, columns=NAMES), Y)
    assert pipeline[-1].feature_names_in_.tolist() == NAMES


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_comes_in_and_other_columns_are_refused(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame(dict(zip(NAMES, X.T, strict=True)))
    model = CLRegressor(**SMALL).fit(frame, Y)
    assert (model.predict(frame) == CLRegressor(**SMALL).fit(X, Y).predict(X)).all()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frames.DataFrame(dict(zip("abd", X.T, strict=True))))


def test_sample_weights_are_routed_to_the_fit():
    weights = numpy.where(X[:, 0] > 0, 1.0, 0.5)
    with config_context(enable_metadata_routing=True):
        model = CLRegressor(**SMALL).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        routed = cross_validate(model, X, Y, cv=2, params={"sample_weight": weights}, return_estimator=True)
    half = slice(60, 120)
    alone = CLRegressor(**SMALL).fit(X[half], Y[half], sample_weight=weights[half])
    assert (routed["estimator"][0].predict(X) == alone.predict(X)).all()


def test_partial_dependence_of_scikit_learn_follows_the_function():
    model = CLRegressor(**{**SMALL, "epochs": 150}).fit(X, X[:, 0] ** 2)
    found = partial_dependence(model, X, [0], grid_resolution=5)
    numpy.testing.assert_allclose(found["average"][0], found["grid_values"][0] ** 2, atol=0.05)


def test_a_notebook_shows_the_parameters():
    assert "CLClassifier" in CLClassifier()._repr_html_()
    assert repr(CLRegressor(width=5)) == "CLRegressor(width=5)"


def test_several_targets_have_a_column_each_with_deviations():
    targets = numpy.stack([Y, 1e6 * X[:, 0]], axis=1)
    model = CLRegressor(**{**SMALL, "epochs": 60}).fit(X, targets)
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == (120, 2)
    assert (std > 0).all()
    assert model.score(X, targets) > 0.9


def test_an_activation_may_be_a_name_or_a_factory():
    for activation in ("relu", partial(ChebyshevLagrange, init="gelu")):
        assert CLRegressor(**SMALL, activation=activation).fit(X, Y).predict(X).shape == (120,)


def test_the_network_and_its_activations_can_be_looked_at():
    from matplotlib.figure import Figure

    model = CLRegressor(**SMALL).fit(X, Y)
    assert isinstance(model.network_, nn.Module)
    assert len(model.loss_curve_) == model.n_iter_
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    assert len(model.plot_activations(X, channels=2, figure=Figure()).axes) == 4


def test_probabilities_are_calibrated_classes_keep_their_type():
    labels = numpy.where(Y > 0, "up", "down")
    model = CLClassifier(**{**SMALL, "epochs": 60}).fit(X, labels)
    shares = model.predict_proba(X)
    assert shares.shape == (120, 2)
    numpy.testing.assert_allclose(shares.sum(axis=1), 1)
    assert set(model.predict(X)) <= {"up", "down"}
    assert cross_val_score(CLClassifier(**{**SMALL, "epochs": 60}), X, labels, cv=2).mean() > 0.8


def test_without_scikit_learn_one_sentence_says_what_to_install():
    code = (
        "import sys; sys.modules['sklearn'] = None; import importlib.util as u; find = u.find_spec;"
        "u.find_spec = lambda name, *a: None if name == 'sklearn' else find(name, *a)\n"
        "try:\n    import chebact.estimators\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "chebact.estimators needs scikit-learn: pip install 'chebact[sklearn]'"
