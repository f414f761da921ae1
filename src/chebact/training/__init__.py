"""Training of many replicas of a network at once."""

from chebact.training.fused import TrainerUnavailableError
from chebact.training.losses import absolute_error, cross_entropy, huber_error, scaled_huber_error, squared_error
from chebact.training.memory import keep_freed_memory
from chebact.training.optimizers import AdamW, Sgd, paper_sgd
from chebact.training.recipe import RECOMMENDED, Recipe
from chebact.training.replicas import ReplicaRun, constant_rate, cosine_by_epoch, predict_replicas, train_replicas_

__all__ = [
    "RECOMMENDED",
    "AdamW",
    "Recipe",
    "ReplicaRun",
    "Sgd",
    "TrainerUnavailableError",
    "absolute_error",
    "constant_rate",
    "cosine_by_epoch",
    "cross_entropy",
    "huber_error",
    "keep_freed_memory",
    "paper_sgd",
    "predict_replicas",
    "scaled_huber_error",
    "squared_error",
    "train_replicas_",
]
