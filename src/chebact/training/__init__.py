"""Ways to train networks."""

from chebact.training.memory import keep_freed_memory
from chebact.training.replicas import ReplicaRun, predict_replicas, train_replicas_

__all__ = ["ReplicaRun", "keep_freed_memory", "predict_replicas", "train_replicas_"]
