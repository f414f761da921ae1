"""Hard tables: with the defaults no network diverges, not even before it is trained again with a smaller step."""

import numpy
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from chebact.estimators import CLClassifier, CLRegressor, ensemble

RANDOM = numpy.random.default_rng(11)
X = RANDOM.normal(size=(10_000, 60))
SMOOTH = numpy.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]


def with_outliers():
    x, y = X[:500, :8].copy(), SMOOTH[:500].copy()
    x[::40, 3], x[7, 0], y[::60], y[13] = 1e6, -1e30, 300.0, -1e12
    return x, y


def with_odd_columns():
    x = X[:300, :4]
    return numpy.concatenate([x, x[:, :2], 1e9 * x[:, :1], x @ numpy.ones((4, 1)), numpy.ones((300, 3))], axis=1)


TABLES = {
    "outliers": with_outliers,
    "constant and duplicated columns": lambda: (with_odd_columns(), SMOOTH[:300]),
    "100 x 60": lambda: (X[:100], SMOOTH[:100]),
    "10,000 x 20": lambda: (X[:, :20], SMOOTH + X[:, 40]),
    "heavy tails of target and inputs": lambda: (X[:600, :6] / X[:600, 10:16], SMOOTH[:600] / X[:600, 20] ** 2),
    "log-normal target": lambda: (X[:600, :6], numpy.exp(2 * X[:600, 0] + SMOOTH[:600])),
    "discrete inputs": lambda: (X[:800, :10].round().clip(-1, 1), numpy.abs(X[:800, 0].round()) + SMOOTH[:800]),
    "rare ones": lambda: ((X[:800, :30] > 2).astype(float), (X[:800, 0] > 2) * 5.0 + 0.1 * X[:800, 40]),
    "nothing but noise": lambda: (X[:400, :15], X[:400, 40]),
    "few values of the target": lambda: (X[:400, :5], SMOOTH[:400].round()),
    "diabetes": lambda: load_diabetes(return_X_y=True),
}
CLASSES = {
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "rare class": lambda: (X[:1000, :12], (X[:1000, 0] > 2).astype(int)),
    "ten classes, 60 columns": lambda: (X[:400], (2 * SMOOTH[:400]).round().clip(-5, 4).astype(int)),
    "separable": lambda: (X[:300, :5], (X[:300, 0] > 0).astype(int)),
}


@pytest.fixture(autouse=True)
def no_second_try(monkeypatch):
    monkeypatch.setattr(ensemble, "TRIES", 0)  # a network that diverges is a warning, and that is an error in tests


@pytest.mark.parametrize("name", TABLES)
def test_no_network_diverges_on_a_hard_table(name):
    x, y = TABLES[name]()
    mean, std = CLRegressor(n_replicas=2, epochs=48, random_state=0).fit(x, y).predict(x, return_std=True)
    assert numpy.isfinite(mean).all()
    assert numpy.isfinite(std).all()


@pytest.mark.parametrize("name", CLASSES)
def test_no_network_diverges_on_hard_classes(name):
    x, y = CLASSES[name]()
    model = CLClassifier(n_replicas=2, epochs=48, random_state=0).fit(x, y)
    assert numpy.isfinite(model.predict_proba(x)).all()
    assert model.score(x, y) >= numpy.unique(y, return_counts=True)[1].max() / len(y) - 0.01


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TABLES, *CLASSES])
def test_none_of_ten_networks_diverges_with_all_defaults(name):
    kind, (x, y) = (CLRegressor, TABLES[name]()) if name in TABLES else (CLClassifier, CLASSES[name]())
    model = kind(random_state=1).fit(x, y)
    assert len(model.network_.first.weight) == 10
    assert numpy.isfinite(model.predict(x)).all()
