"""The fused trainer: one compiled call makes many training steps of a `ResidualMLP`, replica by replica.

Forward, loss, backward and update of a replica run in sequence while its parameters and activations stay in the L1 and
L2 caches. `why_not` gives the reason if a training is not supported; then `train_replicas_` falls back to torch.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from chebact.training.fused.readings import steps_elementwise
from chebact.training.fused.reasons import is_slower, why_not, why_not_here
from chebact.training.task import Task

if TYPE_CHECKING:
    from chebact.training.fused.run import Trainer

__all__ = ["TrainerUnavailableError", "prepare", "steps_elementwise", "why_not", "why_not_here"]

_log = logging.getLogger("chebact")


class TrainerUnavailableError(RuntimeError):
    """The fused trainer was requested by name and does not support this training; the message gives the reason."""


def prepare(task: Task, *, by_name: bool) -> Trainer | None:
    """The compiled trainer of a task, or None if torch is to train; requested by name it raises its reason."""
    reason = why_not(task)
    if reason is None and not by_name and is_slower(task):
        reason = "its matrices are so large that torch is faster"
    if reason is not None:
        if by_name:
            raise TrainerUnavailableError(f"the fused trainer was requested and cannot do this training: {reason}")
        _log.debug("torch trains; the fused trainer cannot: %s", reason)
        return None
    try:
        start = time.perf_counter()
        from chebact.training.fused.run import Trainer

        trainer = Trainer(task)
        seconds = time.perf_counter() - start
        if seconds > 0.5:  # loading from the cache is much faster
            _log.info("compiled the fused trainer for this kind of network in %.1f s; it is cached on disk", seconds)
        return trainer
    except Exception as error:  # as with a kernel, a failure must not stop a training
        if by_name:
            raise
        _log.warning("the fused trainer failed (%s: %s); torch trains instead", type(error).__name__, error)
        return None
