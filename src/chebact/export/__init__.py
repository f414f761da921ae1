"""What was learned leaves Python: folded for inference, as formulas, as C, as tables, as pictures of a training."""

from chebact.export.c_source import to_c
from chebact.export.folding import FoldedActivation, fold_
from chebact.export.logs import log_activations
from chebact.export.symbolic_network import to_sympy

__all__ = ["FoldedActivation", "fold_", "log_activations", "to_c", "to_sympy"]
