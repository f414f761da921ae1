"""scikit-learn's own checks of estimators, every one of them, with no expected failure."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from chebact.estimators import CLClassifier, CLRegressor

SMALL = {"epochs": 30, "n_replicas": 2, "width": 16, "blocks": 1}


@parametrize_with_checks([CLRegressor(**SMALL), CLClassifier(**SMALL)], expected_failed_checks=lambda estimator: {})
def test_check_of_scikit_learn_passes(estimator, check):
    check(estimator)
