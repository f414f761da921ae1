"""The fused trainer: one compiled call makes many training steps of a `ResidualMLP`, replica by replica.

Forward, loss, backward and update of a replica follow each other while its parameters and activations stay in the
nearest caches. `why_not` says what it does not serve; `train_replicas_` asks it and falls back to torch.
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
    """The fused trainer was asked for by name and cannot do this training; the message says why."""


def prepare(task: Task, *, by_name: bool) -> Trainer | None:
    """The trainer of a task, compiled, or None where torch is to train; asked for by name it raises its reason."""
    reason = why_not(task)
    if reason is None and not by_name and is_slower(task):
        reason = "its matrices are so large that torch is faster"
    if reason is not None:
        if by_name:
            raise TrainerUnavailableError(f"the fused trainer was asked for and cannot do this training: {reason}")
        _log.debug("torch trains, since of the fused trainer: %s", reason)
        return None
    try:
        start = time.perf_counter()
        from chebact.training.fused.run import Trainer

        trainer = Trainer(task)
        seconds = time.perf_counter() - start
        if seconds > 0.5:  # from the disk it takes a fraction of that
            _log.info("compiled the fused trainer for this kind of network in %.1f s; it is kept on disk", seconds)
        return trainer
    except Exception as error:  # as with a kernel: what goes wrong on this machine must not stop a training
        if by_name:
            raise
        _log.warning("the fused trainer failed (%s: %s); torch trains instead", type(error).__name__, error)
        return None
