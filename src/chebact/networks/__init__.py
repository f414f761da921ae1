"""Networks built from the activations. Every one takes a leading replica axis, or none."""

from chebact.networks.linear import ReplicaLinear
from chebact.networks.residual_mlp import ARCHITECTURES, ResidualMLP

__all__ = ["ARCHITECTURES", "ReplicaLinear", "ResidualMLP"]
