"""The regressor."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy
from sklearn.base import MultiOutputMixin, RegressorMixin

from chebact.estimators.ensemble import Fit, outputs_of
from chebact.estimators.network_estimator import Array, NetworkEstimator
from chebact.estimators.noise import Noise
from chebact.estimators.rows import distinct_rows
from chebact.estimators.scaling import TargetScaling
from chebact.training.losses import Loss, absolute_error, huber_error, scaled_huber_error, squared_error

__all__ = ["CLRegressor"]


class CLRegressor(MultiOutputMixin, RegressorMixin, NetworkEstimator):  # type: ignore[misc]
    """A regressor of tables: an ensemble of residual networks with learned activations, trained as one.

    Inputs and targets are scaled inside: columns and targets may have any units, and outliers do little harm. Each
    network leaves out a part of the rows, by which the noise is measured (`predict(X, return_std=True)`).

    Args:
        activation: a name of `chebact.ACTIVATIONS`, or a function of the number of channels that returns a module.
        width: channels of the hidden layers.
        blocks: residual blocks.
        degree: of the learned activations: a number, or "auto", see `weight_decay`; a function has its own.
        init: the shape at which learned activations start.
        epochs: passes over the rows.
        batch_size: rows of a step at the most; the batches of an epoch are of even size.
        learning_rate: of the first epoch; it falls to zero along a half cosine.
        momentum: of Nesterov's kind; 0 is plain gradient descent.
        weight_decay: of all but the learned heights: a number, or "auto", which fits three times and keeps the fit that
            is best on the rows left out: 0.0005 and degree 2 for all epochs (the recommended recipe), 0.002 and degree
            3 for a quarter of them, 0.01 and degree 3 for a twelfth with half the step, for noisy tables. A degree that
            is given is that of all fits.
        curvature: weight of `chebact.curvature_penalty`: a number, or "auto", 1e-5 from degree 3 on and 0 below.
        loss: "scaled_huber_error" ("auto" says the same), "absolute_error", "squared_error", "huber_error", or a
            function as `chebact.training.train_replicas_` takes it.
        n_replicas: networks of the ensemble.
        early_stopping: stop where the rows left out get no better for a tenth of the epochs, and take the best epoch.
        validation_fraction: the part of the rows that each network leaves out; 0 leaves out none, and then
            `return_std` knows the spread of the ensemble alone.
        polynomial: train so that the networks are polynomials of their scaled inputs, for inference on encrypted rows
            (docs/private.md): with `chebact.range_penalty`, without tails at the end, and with no training row outside
            an interval. Rows to predict are moved to the border of `box_` where they are outside, as a client does
            before it encrypts.
        warm_start: go on from the parameters and the scaling of the fit before.
        random_state: a seed, for the same result every time.
        verbose: say how the loss falls.

    After `fit`: `network_` (the torch module, which maps scaled (replica, row, column) to scaled (replica, row,
    target)), `loss_curve_` (the mean training loss of each epoch), `n_iter_`, `degree_` and `weight_decay_` (those
    of the fit that was kept), `input_scaling_`, `target_scaling_`, `noise_`, `n_features_in_`, `feature_names_in_`.
    With `polynomial=True` also `box_` (2, column), the least and the largest number of each column of X, and
    `polynomial_report_`, the report of `chebact.to_polynomial` on the training rows; its `largest_change` is the
    largest difference between the trained networks with tails and the polynomials, in units of their outputs.

    >>> import numpy
    >>> X = numpy.random.default_rng(0).uniform(-1, 1, (200, 2))
    >>> model = CLRegressor(n_replicas=2, epochs=100, random_state=0).fit(X, numpy.sin(3 * X[:, 0]) * X[:, 1])
    >>> mean, std = model.predict(X[:5], return_std=True)
    >>> mean.shape, std.shape, bool(model.score(X, numpy.sin(3 * X[:, 0]) * X[:, 1]) > 0.99)
    ((5,), (5,), True)
    """

    _losses: ClassVar[dict[str, Loss]] = {
        "scaled_huber_error": scaled_huber_error,
        "absolute_error": absolute_error,
        "squared_error": squared_error,
        "huber_error": huber_error,
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn y (row,) or (row, target) from X (row, column); `sample_weight` (row,) says what each row counts."""
        X, y, weights = self._checked(X, y, sample_weight, multi_output=True, y_numeric=True)
        self._one_target = y.ndim == 1
        y = y.reshape(len(y), -1).astype(numpy.float64)
        rows = distinct_rows(X, y, weights)
        if not self._goes_on():
            self.target_scaling_ = TargetScaling.of(rows.y, rows.weights)
        scaled = self.target_scaling_(rows.y)

        def errors(fit: Fit) -> Array:
            return fit.outputs - scaled[fit.left_out]

        def score(fit: Fit) -> float:
            squares = numpy.square(errors(fit)).mean(axis=2)
            return float(numpy.average(squares, weights=rows.weights[fit.left_out]))

        fit = self._learn(rows, scaled.astype(numpy.float32), scaled.shape[1], lambda order: order, score)
        targets, left_out = scaled.shape[1], fit.left_out.ravel()
        variances = variances_of(outputs_of(fit.network, self.input_scaling_(rows.x[left_out])))
        own = errors(fit).reshape(-1, targets)
        self.noise_ = Noise.of(own, variances, rows.weights[left_out], len(fit.left_out))
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The prediction (row,) or (row, target), the mean of the ensemble; with `return_std` also the deviation of a
        measurement from it, in the same shape.
        """
        outputs = self._outputs(X)
        results = [self.target_scaling_.back(outputs.mean(axis=0))]
        if return_std:
            results.append(self.noise_.deviations(variances_of(outputs)) * self.target_scaling_.scale)
        shaped = tuple(each[:, 0] if self._one_target else each for each in results)
        return shaped if return_std else shaped[0]

    def _units(self) -> list[tuple[float, float]]:
        return list(zip(self.target_scaling_.centre.tolist(), self.target_scaling_.scale.tolist(), strict=True))


def variances_of(outputs: Array) -> Array:
    """The unbiased variance of the replicas, (replica, row, target) -> (row, target); 0 of a single one."""
    return outputs.var(axis=0, ddof=1) if len(outputs) > 1 else numpy.zeros(outputs.shape[1:])
