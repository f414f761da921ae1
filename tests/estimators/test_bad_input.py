"""What cannot be learned gets the exception and the message that users of scikit-learn know."""

import warnings

import numpy
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from chebact.estimators import CLClassifier, CLRegressor

SMALL = {"epochs": 5, "n_replicas": 2, "width": 4, "blocks": 1, "random_state": 0}
X = numpy.random.default_rng(0).normal(size=(30, 2))
Y = X[:, 0] * X[:, 1]
BOTH = pytest.mark.parametrize("kind", [CLRegressor, CLClassifier])


@BOTH
def test_a_missing_value_is_named_as_scikit_learn_does(kind):
    x = X.copy()
    x[3, 1] = numpy.nan
    with pytest.raises(ValueError, match=f"Input X contains NaN.\n{kind.__name__} does not accept missing values"):
        kind(**SMALL).fit(x, Y > 0)


@BOTH
def test_texts_are_refused(kind):
    with pytest.raises(ValueError, match="could not convert string to float: 'a'"):
        kind(**SMALL).fit([["a", "b"]] * 4, [0, 1, 0, 1])


@BOTH
def test_other_columns_and_no_fit_are_refused(kind):
    with pytest.raises(NotFittedError, match=f"This {kind.__name__} instance is not fitted yet"):
        kind().predict(X)
    with pytest.raises(ValueError, match="X has 3 features, but"):
        kind(**SMALL).fit(X, Y > 0).predict(numpy.zeros((4, 3)))


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("width", -1, r"an int in the range \[1, inf\)"),
        ("n_replicas", 0, r"an int in the range \[1, inf\)"),
        ("learning_rate", 0, r"a float in the range \(0.0, inf\)"),
        ("momentum", 1.0, r"a float in the range \[0.0, 1.0\)"),
        ("weight_decay", "much", r"a str among {'auto'} or a float in the range \[0.0, inf\)"),
        ("curvature", -1e-5, r"a str among {'auto'} or a float in the range \[0.0, inf\)"),
        ("degree", "high", r"a str among {'auto'} or an int in the range \[1, inf\)"),
        ("early_stopping", "yes", "an instance of 'bool'"),
    ],
)
def test_a_wrong_parameter_is_named_with_its_range(name, value, wanted):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of CLRegressor must be {wanted}"):
        CLRegressor(**{**SMALL, name: value}).fit(X, Y)


def test_an_unknown_name_is_refused_with_the_names_there_are():
    with pytest.raises(ValueError, match="loss must be one of auto, scaled_huber_error, absolute_error, squared_error"):
        CLRegressor(**SMALL, loss="cubed").fit(X, Y)
    with pytest.raises(ValueError, match="name must be one of relu, tanh"):
        CLRegressor(**SMALL, activation="sin").fit(X, Y)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="at least 2 classes in the data, but the data contains only one class"):
        CLClassifier(**SMALL).fit(X, numpy.ones(30, int))


def test_numbers_as_classes_are_refused():
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        CLClassifier(**SMALL).fit(X, Y)


def test_one_row_is_refused_and_three_are_learned():
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        CLRegressor(**SMALL).fit(X[:1], Y[:1])
    mean, std = CLRegressor(**SMALL).fit(X[:3], Y[:3]).predict(X, return_std=True)
    assert numpy.isfinite(mean).all()
    assert numpy.isfinite(std).all()


@pytest.mark.parametrize("constant", [0.0, 7.5, 1e9])
def test_a_constant_target_is_predicted_exactly(constant):
    mean, std = CLRegressor(**SMALL).fit(X, numpy.full(30, constant)).predict(5 * X, return_std=True)
    assert (mean == constant).all()
    assert (std == 0).all()


def test_early_stopping_needs_rows():
    with pytest.raises(ValueError, match="validation_fraction must leave out one row or more"):
        CLRegressor(**SMALL, early_stopping=True).fit(X[:5], Y[:5])


def test_a_step_that_no_network_survives_is_an_error_and_never_nan():
    model = CLRegressor(**{**SMALL, "epochs": 40}, learning_rate=1e6, loss="squared_error", weight_decay=0.0)
    with pytest.raises(ValueError, match="learning_rate must be smaller for these data, got 1000000"):
        model.fit(X, Y)


def test_networks_that_diverge_are_trained_again_with_a_smaller_step():
    options = {**SMALL, "epochs": 40, "learning_rate": 0.3, "loss": "squared_error", "weight_decay": 0.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = CLRegressor(**options).fit(X, Y)
    assert numpy.isfinite(model.predict(X)).all()
