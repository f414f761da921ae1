"""Ways to train networks."""

from chebact.training.memory import keep_freed_memory
from chebact.training.replicas import ReplicaRun, cross_entropy, predict_replicas, train_replicas_

__all__ = ["ReplicaRun", "cross_entropy", "keep_freed_memory", "predict_replicas", "train_replicas_"]
