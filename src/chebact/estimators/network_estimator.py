"""What both estimators share: their parameters, and the way from a checked table to a trained ensemble."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from chebact.estimators.ensemble import Fit, Lesson, fit_ensemble, outputs_of
from chebact.estimators.formula import formula_of
from chebact.estimators.rows import Rows, left_out_rows
from chebact.estimators.scaling import InputScaling
from chebact.initial import Init
from chebact.networks import ResidualMLP
from chebact.plotting import plot_activations
from chebact.table import Factory
from chebact.training import RECOMMENDED
from chebact.training.losses import Loss

__all__ = ["NetworkEstimator"]

Array = Any


@dataclass(frozen=True)
class Candidate:
    """What is tried: the degree, the weight decay, the share of the epochs, and that of the step size."""

    degree: int
    weight_decay: float
    epochs: float = 1.0
    step: float = 1.0


CANDIDATES = (
    Candidate(RECOMMENDED.degree, RECOMMENDED.weight_decay),
    Candidate(3, 2e-3, 1 / 4),
    Candidate(3, 1e-2, 1 / 12, 1 / 2),
)
"""What "auto" tries: the recommended recipe, then more decay in less time for noisy tables (docs/recipe.md)."""


class NetworkEstimator(BaseEstimator):  # type: ignore[misc]
    """The parameters of both estimators, and what their fits have in common."""

    _losses: ClassVar[dict[str, Loss]]  # by name, the first is that of "auto"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "activation": [str, callable],
        "width": [Interval(Integral, 1, None, closed="left")],
        "blocks": [Interval(Integral, 1, None, closed="left")],
        "degree": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "init": [str, callable, "array-like"],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "momentum": [Interval(Real, 0, 1, closed="left")],
        "weight_decay": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "curvature": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "loss": [str, callable],
        "n_replicas": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "polynomial": ["boolean"],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        activation: str | Factory = "cl-extrapolate",
        width: int = 32,
        blocks: int = 3,
        degree: int | str = "auto",
        init: Init = RECOMMENDED.init,
        epochs: int = 600,
        batch_size: int = RECOMMENDED.batch_size,
        learning_rate: float = RECOMMENDED.lr,
        momentum: float = RECOMMENDED.momentum,
        weight_decay: float | str = "auto",
        curvature: float | str = "auto",
        loss: str | Loss = "auto",
        n_replicas: int = 10,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        polynomial: bool = False,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.activation = activation
        self.width = width
        self.blocks = blocks
        self.degree = degree
        self.init = init
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.curvature = curvature
        self.loss = loss
        self.n_replicas = n_replicas
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.polynomial = polynomial
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    network_: ResidualMLP
    input_scaling_: InputScaling

    def _checked(self, X: Any, y: Any, sample_weight: Any, **about_y: Any) -> tuple[Array, Array, Array | None]:
        """X, y and weights as arrays; scikit-learn's errors for what cannot be learned from."""
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=numpy.float64, ensure_min_samples=2, **about_y)
        if sample_weight is None:
            return X, y, None
        options = {"dtype": numpy.float64, "ensure_non_negative": True, "allow_all_zero_weights": False}
        return X, y, _check_sample_weight(sample_weight, X, **options)

    def _goes_on(self) -> bool:
        """Whether this fit starts where the one before ended."""
        return bool(self.warm_start) and hasattr(self, "network_")

    def _learn(
        self,
        rows: Rows,
        y: Array,
        outputs: int,
        order: Callable[[Array], Array],
        score: Callable[[Fit], float],
    ) -> Fit:
        """Train on rows; y (row, target) is what the network is to give. `order` sorts a permutation of the rows before
        each replica gets those it leaves out, and the fit with the least `score` is taken.
        """
        start = self._start(rows.x.shape[1])
        if start is None:
            self.input_scaling_ = InputScaling.of(rows.x, rows.weights)
        replicas = self.n_replicas if start is None else len(start.first.weight)
        random = check_random_state(self.random_state)
        lesson = Lesson(
            x=torch.from_numpy(self.input_scaling_(rows.x).astype(numpy.float32)),
            y=torch.from_numpy(y),
            weights=relative_weights(rows.weights),
            left_out=self._left_out(order(random.permutation(len(rows.x))), replicas),
            seeds=[int(seed) for seed in random.randint(0, 2**31 - 2, size=replicas)],
            outputs=outputs,
            loss=self._loss(),
            settings=self,
            learning_rate=self.learning_rate,
        )
        candidates = self._candidates(start is not None, lesson.left_out.size > 0)
        fits = [fit_ensemble(self._lesson_of(lesson, each), start) for each in candidates]
        fit = fits[0] if len(fits) == 1 else min(fits, key=score)
        if self.polynomial:
            self.box_ = self._box_of(rows.x)
            self.polynomial_report_ = fit.report
        self.network_, self.degree_, self.weight_decay_ = fit.network, fit.degree, fit.weight_decay
        self.loss_curve_ = [float(each) for each in fit.losses.mean(axis=1)]
        self.n_iter_ = len(self.loss_curve_)
        return fit

    def _start(self, columns: int) -> ResidualMLP | None:
        """The network to go on from; a ValueError where it is of another kind than what is asked for."""
        if not self._goes_on():
            self._replicas_asked = self.n_replicas
            return None
        before = (self.network_.first.in_features, getattr(self, "_replicas_asked", self.n_replicas))
        if before != (columns, self.n_replicas):
            raise ValueError(
                f"warm_start must find the columns and n_replicas of the fit before, {before}, got "
                f"{(columns, self.n_replicas)}; fit a clone"
            )
        return self.network_

    def _left_out(self, order: Array, replicas: int) -> Array:
        left_out = left_out_rows(order, replicas, self.validation_fraction)
        if self.early_stopping and left_out.size == 0:
            raise ValueError(
                "validation_fraction must leave out one row or more for early_stopping, got "
                f"{self.validation_fraction} of {len(order)} rows; give more rows, or early_stopping=False"
            )
        return left_out

    def _candidates(self, warm: bool, comparable: bool) -> list[Candidate]:
        """What to try; a warm start goes on with what was chosen, and without rows left out nothing can be chosen."""
        several = self.weight_decay == "auto" and comparable and not warm
        found = CANDIDATES if several else CANDIDATES[:1]
        if warm:
            found = (Candidate(self.degree_, self.weight_decay_),)
        given = {name: getattr(self, name) for name in ("degree", "weight_decay") if getattr(self, name) != "auto"}
        return [replace(each, **given) for each in found]

    def _lesson_of(self, lesson: Lesson, candidate: Candidate) -> Lesson:
        """The same with the degree, decay, epochs and step of a candidate."""
        epochs, step = max(1, round(self.epochs * candidate.epochs)), self.learning_rate * candidate.step
        degree, decay = candidate.degree, float(candidate.weight_decay)
        return replace(lesson, epochs=epochs, learning_rate=step, degree=degree, weight_decay=decay)

    def _loss(self) -> Loss:
        if not isinstance(self.loss, str):
            return self.loss
        names = ["auto", *self._losses]
        if self.loss not in names:
            raise ValueError(f"loss must be one of {', '.join(names)} or a function, got {self.loss!r}")
        return next(iter(self._losses.values())) if self.loss == "auto" else self._losses[self.loss]

    def _box_of(self, x: Array) -> Array:
        """The least and the largest number of each column, (2, column)."""
        return numpy.stack([x.min(axis=0), x.max(axis=0)])

    def _scaled(self, X: Any) -> Array:
        """The rows of X as the network takes them; a polynomial gets those outside of `box_` moved to its border."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=numpy.float64, reset=False)
        return self.input_scaling_(X.clip(*self.box_) if hasattr(self, "box_") else X)

    def _outputs(self, X: Any) -> Array:
        """What the network gives for the rows of X, (replica, row, outputs)."""
        x = self._scaled(X)  # checks first that there is a network
        return outputs_of(self.network_, x)

    def plot_activations(self, X: Any, *, channels: int = 4, figure: Any = None) -> Any:
        """Draw the first learned activations of each layer with the inputs that X sends through them; the figure.

        The curves are those of the first network of the ensemble.
        """
        x = torch.from_numpy(self._scaled(X).astype(numpy.float32))
        replicas = self.network_.first.replicas or 1
        return plot_activations(self.network_, x.expand(replicas, *x.shape), channels=channels, figure=figure)

    def to_formula(self, replica: int = 0, digits: int = 6) -> str:
        """One network of the ensemble as Python code, the scaling of inputs and targets folded in: a function `predict`
        of the columns, which needs nothing but `math`. A fit with n_replicas=1 is written as a whole. A classifier's
        function gives what its probabilities are the softmax of.

        Args:
            replica: which network.
            digits: of every number.
        """
        check_is_fitted(self)
        replicas = len(self.network_.first.weight)
        if not 0 <= replica < replicas:
            raise ValueError(f"replica must be an integer from 0 to {replicas - 1}, got {replica!r}")
        names = getattr(self, "feature_names_in_", [f"x{column}" for column in range(self.n_features_in_)])
        box = getattr(self, "box_", None)
        return formula_of(self.network_, replica, self.input_scaling_, names, self._units(), digits, box)

    def _units(self) -> list[tuple[float, float]]:
        """Centre and scale of each output of the network."""
        raise NotImplementedError


def relative_weights(weights: Array) -> torch.Tensor | None:
    """Weights of mean 1, or None where all are equal."""
    if (weights == weights[0]).all():
        return None
    return torch.from_numpy((weights / weights.mean()).astype(numpy.float32))
