"""Estimators of scikit-learn: small tables learned by an ensemble of networks with learned activations."""

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ImportError("chebact.estimators needs scikit-learn: pip install 'chebact[sklearn]'")

from chebact.estimators.classifier import CLClassifier
from chebact.estimators.regressor import CLRegressor
from chebact.estimators.saving import load_model, save_model

__all__ = ["CLClassifier", "CLRegressor", "load_model", "save_model"]
