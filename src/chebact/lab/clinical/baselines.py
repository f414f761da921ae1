"""The models that networks are compared with: a constant one, and four of scikit-learn with default settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["BASELINES", "MAJORITY", "make_baseline"]

MAJORITY = "1-class"
BASELINES = {
    MAJORITY: "1-class",
    "logistic": "Logistic regression",
    "svm": "SVM",
    "forest": "Random forest",
    "boosting": "Gradient boosting",
}
"""The models by name, with their titles."""


def make_baseline(name: str, seed: int, most: int = 0) -> Any:
    """The scikit-learn classifier of that name; 1-class always predicts `most`. The settings are
    scikit-learn's, except that boosting tries the square root of the features per split, which is four times as fast.

    >>> make_baseline("forest", seed=3).random_state
    3
    """
    from sklearn.dummy import DummyClassifier
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC

    makers: dict[str, Callable[[], Any]] = {
        MAJORITY: lambda: DummyClassifier(strategy="constant", constant=most),
        "logistic": lambda: LogisticRegression(max_iter=5000),
        "svm": lambda: SVC(),
        "forest": lambda: RandomForestClassifier(random_state=seed),
        "boosting": lambda: GradientBoostingClassifier(max_features="sqrt", random_state=seed),
    }
    return makers[name]()
