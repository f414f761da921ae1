"""Learned polynomial activations for PyTorch: heights at Chebyshev nodes per channel, straight lines outside.

>>> import torch
>>> layer = torch.nn.Sequential(torch.nn.Linear(3, 32), ChebyshevLagrange(32), torch.nn.Linear(32, 1))
>>> layer(torch.zeros(5, 3)).shape
torch.Size([5, 1])
"""

from typing import TYPE_CHECKING, Any

from chebact import functional, kernels
from chebact.activations import ChebyshevLagrange, Cubic, PrototypeSimilarity, WeightedChebyshev
from chebact.curvature import curvature_penalty
from chebact.export import FoldedActivation, fold_, log_activations, to_c, to_sympy
from chebact.interpolation import coefficients_to_values, end_slopes, error_bound, polynomial, values_to_coefficients
from chebact.node_positions import nodes
from chebact.plotting import plot_activation, plot_activations
from chebact.ranges import (
    CertifiedRanges,
    InputRanges,
    NotPolynomialError,
    PolynomialModel,
    RangePenalty,
    certify_ranges,
    input_ranges,
    range_penalty,
    to_polynomial,
)
from chebact.recording import InputSample, materialize, record_inputs, share_outside
from chebact.states import load_state_
from chebact.surgery import Replacement, replace_activations
from chebact.table import ACTIVATIONS, make_activation, parameter_groups, register_activation

if TYPE_CHECKING:
    from chebact import private

__version__ = "0.1.0"

__all__ = [
    "ACTIVATIONS",
    "CertifiedRanges",
    "ChebyshevLagrange",
    "Cubic",
    "FoldedActivation",
    "InputRanges",
    "InputSample",
    "NotPolynomialError",
    "PolynomialModel",
    "PrototypeSimilarity",
    "RangePenalty",
    "Replacement",
    "WeightedChebyshev",
    "certify_ranges",
    "coefficients_to_values",
    "curvature_penalty",
    "end_slopes",
    "error_bound",
    "fold_",
    "functional",
    "input_ranges",
    "kernels",
    "load_state_",
    "log_activations",
    "make_activation",
    "materialize",
    "nodes",
    "parameter_groups",
    "plot_activation",
    "plot_activations",
    "polynomial",
    "private",
    "range_penalty",
    "record_inputs",
    "register_activation",
    "replace_activations",
    "share_outside",
    "to_c",
    "to_polynomial",
    "to_sympy",
    "values_to_coefficients",
]


def __getattr__(name: str) -> Any:
    """`chebact.private` is imported when it is first used, like much of what only some programs need."""
    if name == "private":
        import importlib

        return importlib.import_module("chebact.private")
    raise AttributeError(f"module 'chebact' has no attribute {name!r}")
