"""Networks with learned activations, with or without a leading replica axis."""

from chebact.networks.linear import ReplicaLinear
from chebact.networks.residual_mlp import ARCHITECTURES, ResidualMLP

__all__ = ["ARCHITECTURES", "ReplicaLinear", "ResidualMLP"]
