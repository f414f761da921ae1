"""`export` and `load`: a polynomial network as a JSON file of numbers, for the server and for other tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy

from chebact.checks import check_integer, must_be
from chebact.export.program import Curve, Program, Step
from chebact.files import write_atomic
from chebact.private.folding import Stage, check_stages, fold_program
from chebact.private.forms import FORMS
from chebact.private.planning import Plan
from chebact.private.reading import read_polynomial

__all__ = ["FORMAT", "export", "load"]

Array = Any
FORMAT = "chebact-private-1"


def export(model: Any, path: Path | str) -> Plan:
    """Write a polynomial network as JSON, atomically; returns its plan.

    The file has the network as it is under `layers` and folded under `stages`, and what `plan` says of it. Vector 0 is
    the input and vector k + 1 the result of layer k. An activation has, per channel, its coefficients of T_0 ...
    T_degree on `interval` in NumPy's convention (`chebyshev_numpy`) and in OpenFHE's, which halves the first one, so it
    is doubled (`chebyshev_openfhe`), and its coefficients of powers of x from the constant up (`powers`).

    >>> import tempfile, torch
    >>> from chebact import ChebyshevLagrange
    >>> network = torch.nn.Sequential(torch.nn.Linear(2, 3), ChebyshevLagrange(3, degree=2, tails="none"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = export(network, Path(folder) / "model.json")
    ...     load(Path(folder) / "model.json").levels == made.levels
    True
    """
    program = read_polynomial(model)
    plan = Plan(program.inputs, fold_program(program))
    document = {
        "format": FORMAT,
        "levels": plan.levels,
        "agreement": plan.agreement.numbers,
        "layers": _layers(program),
        "stages": [_stage_numbers(stage) for stage in plan.stages],
    }
    write_atomic(Path(path), json.dumps(document, allow_nan=False, indent=1).encode())
    return plan


def load(path: Path | str) -> Plan:
    """The plan of a file of `export`."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        if document["format"] != FORMAT:
            raise ValueError(must_be("format", FORMAT, document["format"]))
        inputs = check_integer("inputs", document["agreement"]["inputs"], least=1)
        stages = tuple(_stage(each) for each in document["stages"])
        check_stages(inputs, stages)
        return Plan(inputs, stages)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"path must be a file of chebact.private.export ({FORMAT}), got {path} ({type(error).__name__}: {error})"
        ) from error


def _stage_numbers(stage: Stage) -> dict[str, Any]:
    weights = {str(k): each.tolist() for k, each in stage.weights.items()}
    numbers = {"bias": stage.bias.tolist(), "form": stage.form, "degree": stage.degree}
    return {"weights": weights, **numbers, "numbers": stage.numbers.tolist()}


def _stage(given: dict[str, Any]) -> Stage:
    if given["form"] not in FORMS:
        raise ValueError(must_be("form", f"one of {', '.join(FORMS)}", given["form"]))
    weights = {int(k): numpy.array(each, dtype=float) for k, each in given["weights"].items()}
    numbers = [numpy.array(given[name], dtype=float) for name in ("bias", "numbers")]
    return Stage(weights, numbers[0], given["form"], int(given["degree"]), numbers[1])


def _layers(program: Program) -> list[dict[str, Any]]:
    return [_layer(step) for step in program.steps]


def _layer(step: Step) -> dict[str, Any]:
    head = {"kind": step.kind, "inputs": list(step.inputs), "size": step.size}
    if step.kind == "linear":
        bias = numpy.zeros(step.size) if step.bias is None else step.bias
        return {**head, "weight": step.weight.tolist(), "bias": bias.tolist()}
    if step.kind == "scale":
        return {**head, "factor": step.factor}
    if step.kind == "add":
        return head
    series, interval = _series(step.curve)
    openfhe = series * numpy.where(numpy.arange(series.shape[1]) == 0, 2.0, 1.0)
    powers = [_powers(each, interval) for each in series]
    return {
        **head,
        "kind": "activation",
        "degree": series.shape[1] - 1,
        "interval": list(interval),
        "chebyshev_numpy": series.tolist(),
        "chebyshev_openfhe": openfhe.tolist(),
        "powers": powers,
    }


def _series(curve: Curve | None) -> tuple[Array, tuple[float, float]]:
    """The coefficients (channel, degree + 1) of the Chebyshev polynomials on an interval; None is the cube."""
    if curve is None:
        return numpy.array([[0.0, 0.75, 0.0, 0.25]]), (-1.0, 1.0)
    return curve.heights @ curve.basis.series.T, curve.basis.interval


def _powers(series: Array, interval: tuple[float, float]) -> list[float]:
    """The coefficients of powers of x, as many as of the series."""
    polynomial = numpy.polynomial.Chebyshev(series, domain=interval).convert(kind=numpy.polynomial.Polynomial)
    found = numpy.zeros(len(series))
    found[: len(polynomial.coef)] = polynomial.coef
    return [float(each) for each in found]
