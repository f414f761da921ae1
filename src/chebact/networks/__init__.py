"""Networks built from the activations. Those of linear layers take a leading replica axis, or none."""

from chebact.networks.linear import ReplicaLinear
from chebact.networks.residual_mlp import ARCHITECTURES, ResidualMLP

__all__ = ["ARCHITECTURES", "ReplicaLinear", "ResidualMLP"]
