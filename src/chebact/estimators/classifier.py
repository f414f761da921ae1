"""The classifier."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from chebact.estimators.ensemble import Fit
from chebact.estimators.network_estimator import Array, NetworkEstimator
from chebact.estimators.rows import distinct_rows
from chebact.training.losses import Loss, cross_entropy

__all__ = ["CLClassifier"]

TEMPERATURES = numpy.geomspace(0.5, 10, 25)  # to divide outputs by


class CLClassifier(ClassifierMixin, NetworkEstimator):  # type: ignore[misc]
    """A classifier of tables: an ensemble of residual networks with learned activations, trained by cross entropy.

    The parameters are those of `CLRegressor`, except that `loss` is "cross_entropy" ("auto" says the same) or a
    function. Probabilities are the ensemble's mean, after a temperature that suits the rows left out.

    After `fit`: `classes_`, `temperature_`, and those of `CLRegressor` that are not about targets.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(CLClassifier(n_replicas=2, epochs=30, random_state=0).fit(X, y).score(X, y) > 0.9)
    True
    """

    _losses: ClassVar[dict[str, Loss]] = {"cross_entropy": cross_entropy}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the classes y (row,) from X (row, column); `sample_weight` (row,) says how much each row counts."""
        X, y, weights = self._checked(X, y, sample_weight)
        check_classification_targets(y)
        if weights is not None:
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        classes, codes = numpy.unique(y, return_inverse=True)
        self._check_classes(classes)
        self.classes_ = classes
        rows = distinct_rows(X, codes.astype(numpy.float64)[:, None], weights)
        own = rows.y[:, 0].astype(numpy.int64)

        def stratified(order: Array) -> Array:
            return order[numpy.argsort(own[order], kind="stable")]

        def judged(fit: Fit) -> tuple[float, float]:
            """The least mean surprise at the classes of the rows left out, and its temperature."""
            return min((surprise(fit, own, rows.weights, each), float(each)) for each in TEMPERATURES)

        fit = self._learn(rows, own[:, None], len(classes), stratified, lambda fit: judged(fit)[0])
        self.temperature_ = judged(fit)[1] if fit.left_out.size else 1.0
        return self

    def _check_classes(self, classes: Array) -> None:
        if len(classes) < 2:
            raise ValueError(
                "CLClassifier needs samples of at least 2 classes in the data, but the data contains only one class: "
                f"{classes[0]!r}"
            )
        if self._goes_on() and not numpy.array_equal(classes, self.classes_):
            raise ValueError(f"warm_start must find the classes of the fit before, {self.classes_}, got {classes}")

    def predict_proba(self, X: Any) -> Array:
        """The probabilities (row, class), in the order of `classes_`: the mean of the ensemble's."""
        return numpy.exp(log_softmax(self._outputs(X) / self.temperature_, axis=2)).mean(axis=0)

    def predict(self, X: Any) -> Array:
        """The most probable class of each row, (row,)."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return self.classes_[chosen]

    def _units(self) -> list[tuple[float, float]]:
        return [(0.0, 1 / self.temperature_)] * len(self.classes_)


def surprise(fit: Fit, classes: Array, weights: Array, temperature: float) -> float:
    """The mean negative logarithm of the probability that a replica gives to the classes of the rows it left out."""
    own = classes[fit.left_out][..., None]
    found = numpy.take_along_axis(log_softmax(fit.outputs / temperature, axis=2), own, axis=2)[..., 0]
    return float(numpy.average(-found, weights=weights[fit.left_out]))
