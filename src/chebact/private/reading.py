"""What a model under encryption may be made of, and what to do about the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
from torch import nn

from chebact.activations import Cubic
from chebact.checks import check_module
from chebact.export.folding import FoldedActivation
from chebact.export.program import Curve, Program, Step
from chebact.export.reading import read_program
from chebact.learned import LearnedActivation
from chebact.networks.linear import ReplicaLinear

__all__ = ["MOST_DEGREE", "read_polynomial"]

MOST_DEGREE = 15
"""Above this degree the powers of a polynomial need more digits than the encryption keeps."""

ALLOWED = (nn.Linear, ReplicaLinear, nn.Identity, nn.Dropout, nn.Flatten, Cubic, LearnedActivation, FoldedActivation)
WHAT = "made of linear layers, sums, factors and polynomial activations"
TRAIN = "take chebact.replace_activations, train with chebact.range_penalty, then chebact.to_polynomial"
INSTEAD: dict[str, str] = {
    "BatchNorm": "fold it into the linear layer with torch.nn.utils.fusion.fuse_linear_bn_eval",
    "Norm": "leave it out, since a division is no polynomial",
    "Softmax": "leave it out, and let the client take it after decryption",
    "Conv": "write it as a linear layer",
}
"""What to do about layers by a part of their names."""


def read_polynomial(model: Any) -> Program:
    """The steps of a model; a TypeError or ValueError that names the first part that is no polynomial.

    >>> from chebact import ChebyshevLagrange
    >>> network = nn.Sequential(nn.Linear(2, 3), ChebyshevLagrange(3, degree=2, tails="none"), nn.Linear(3, 1))
    >>> [step.kind for step in read_polynomial(network).steps]
    ['linear', 'curve', 'linear']
    """
    check_module("model", model)
    for name, part in model.named_modules():
        if not any(True for _ in part.children()) or isinstance(part, ALLOWED):
            _check_part(name or "model", part)
    program = read_program(model)
    for step in program.steps:
        if step.kind not in ("linear", "add", "scale", "curve", "cubic"):
            raise ValueError(f"model must be {WHAT}, got {step.kind}; {TRAIN}")
    return replace(program, steps=tuple(map(_with_all_channels, program.steps)))


def _with_all_channels(step: Step) -> Step:
    """A step whose curve has a row for each number of the vector."""
    if step.curve is None:
        return step
    outer, _, inner = step.layout
    heights = numpy.tile(step.curve.heights.repeat(inner, axis=0), (outer, 1))
    return replace(step, curve=Curve(heights, step.curve.basis))


def _check_part(name: str, part: nn.Module) -> None:
    kind = type(part).__name__
    if not isinstance(part, ALLOWED):
        do = next((do for key, do in INSTEAD.items() if key in kind), TRAIN)
        raise ValueError(f"model must be {WHAT}, got {name} ({kind}); {do}")
    if getattr(part, "replicas", None) is not None:
        raise ValueError(f"model must be one network, got {part.replicas} replicas in {name}; copy one replica out")
    basis = getattr(part, "basis", None)
    if basis is None:
        return
    if basis.has_tails:
        raise ValueError(
            f"model must have activations with tails='none', got tails={basis.tails!r} in {name}; "
            "take chebact.to_polynomial, which checks that no input reaches the tails"
        )
    if basis.degree > MOST_DEGREE:
        raise ValueError(
            f"model must have degrees up to {MOST_DEGREE}, got {basis.degree} in {name}; train it with degree 2 or 3"
        )
