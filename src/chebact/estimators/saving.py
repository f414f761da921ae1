"""A fitted estimator as one file of plain numbers: numpy's npz, read without pickle, so that no code can hide in it."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any, cast

import numpy
import torch
from sklearn.utils.validation import check_is_fitted

from chebact.estimators.classifier import CLClassifier
from chebact.estimators.ensemble import make_network
from chebact.estimators.network_estimator import NetworkEstimator
from chebact.estimators.noise import Noise
from chebact.estimators.regressor import CLRegressor
from chebact.estimators.scaling import InputScaling, TargetScaling
from chebact.files import write_atomic
from chebact.networks import ResidualMLP
from chebact.ranges.polynomial import without_tails

__all__ = ["load_model", "save_model"]

FORMAT = 1
KINDS: dict[str, type[NetworkEstimator]] = {"CLRegressor": CLRegressor, "CLClassifier": CLClassifier}
PLAIN = (str, int, float, bool, type(None))
PARTS: dict[str, Any] = {"input_scaling_": InputScaling, "target_scaling_": TargetScaling, "noise_": Noise}
KEPT = ("n_features_in_", "n_iter_", "loss_curve_", "weight_decay_", "degree_", "temperature_", "_one_target")


def save_model(model: NetworkEstimator, path: str | Path) -> None:
    """Write a fitted estimator into a file, whole or not at all.

    >>> import tempfile
    >>> X = numpy.linspace(-1, 1, 40).reshape(-1, 1)
    >>> model = CLRegressor(n_replicas=1, epochs=5, random_state=0).fit(X, X[:, 0] ** 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.npz")
    ...     bool((load_model(f"{folder}/model.npz").predict(X) == model.predict(X)).all())
    True
    """
    check_is_fitted(model)
    parameters = model.get_params(deep=False) | {"random_state": None}
    odd = [name for name, value in parameters.items() if not isinstance(value, PLAIN)]
    if odd:
        raise ValueError(f"a model to be saved must have a name or a number as {odd[0]}, got {parameters[odd[0]]!r}")
    about = {"format": FORMAT, "kind": type(model).__name__, "parameters": parameters}
    about |= {name: getattr(model, name) for name in KEPT if hasattr(model, name)}
    arrays: dict[str, Any] = {
        f"network.{name}": each.detach().numpy() for name, each in model.network_.named_parameters()
    }
    for name in PARTS:
        found = vars(getattr(model, name)) if hasattr(model, name) else {}
        arrays |= {f"{name}.{field}": numbers for field, numbers in found.items()}
    if hasattr(model, "box_"):
        arrays["box_"] = model.box_
    for name in ("classes_", "feature_names_in_"):
        if hasattr(model, name):
            labels = getattr(model, name)
            arrays[name] = labels.astype(str) if labels.dtype == object else labels
    file = io.BytesIO()
    numpy.savez(file, about=numpy.array(json.dumps(about)), **arrays)
    write_atomic(Path(path), file.getvalue())


def load_model(path: str | Path) -> Any:
    """The estimator of a file that `save_model` wrote; a ValueError for any other file."""
    try:
        with numpy.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        about = json.loads(str(arrays.pop("about")))
        model = rebuilt(about, arrays) if about["format"] == FORMAT else None
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, RuntimeError, zipfile.BadZipFile) as error:
        raise ValueError(f"path must name a file of save_model, got {str(path)!r}, which is none") from error
    if model is None:
        raise ValueError(f"{path} must have format {FORMAT}, got {about['format']}; load it with a newer chebact")
    return model


def rebuilt(about: dict[str, Any], arrays: dict[str, Any]) -> NetworkEstimator:
    """The estimator of what a file holds."""
    model = KINDS[about["kind"]](**about["parameters"])
    about.setdefault("degree_", about["parameters"]["degree"])  # files from before the degree was chosen
    for name in KEPT:
        if name in about:
            setattr(model, name, about[name])
    for name, kind in PARTS.items():
        parts = {key.partition(".")[2]: each for key, each in arrays.items() if key.startswith(f"{name}.")}
        if parts:
            setattr(model, name, kind(**parts))
    for name in ("classes_", "feature_names_in_"):
        if name in arrays:
            setattr(model, name, arrays[name].astype(object) if name == "feature_names_in_" else arrays[name])
    outputs, replicas = arrays["network.last.weight"].shape[1], len(arrays["network.last.weight"])
    model.network_ = make_network(model, model.degree_, model.n_features_in_, outputs, range(replicas))
    if "box_" in arrays:
        model.box_ = arrays["box_"]
        model.network_ = cast(ResidualMLP, without_tails(model.network_))
    with torch.no_grad():
        for name, parameter in model.network_.named_parameters():
            parameter.copy_(torch.from_numpy(arrays[f"network.{name}"]))
    return model
