"""How every run of a trial is made: the same random numbers, no fast paths, derivatives only where they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import nn

from chebact.copies import copy_tensors
from chebact.recording import run_once
from chebact.surgery.trials.kept_state import state_kept
from chebact.surgery.trials.random_states import seeded

__all__ = ["run_alike", "run_trial"]


def run_alike(model: nn.Module, example: Any, watch: Callable[[], AbstractContextManager[Any]] = nullcontext) -> Any:
    """A detached copy of what a model gives; `watch` is entered anew for every pass.

    There is a second pass, with derivatives, where one without raised a RuntimeError: force fields call
    torch.autograd.grad in forward.
    """
    try:
        return _run(model, example, watch, False)
    except RuntimeError:
        return _run(model, example, watch, True)


def run_trial(model: nn.Module, example: Any, watch: Callable[[], AbstractContextManager[Any]] = nullcontext) -> Any:
    """The same, and the model is afterwards what it was before each pass."""

    @contextmanager
    def watch_and_keep() -> Iterator[None]:
        with state_kept(model), watch():
            yield

    return run_alike(model, example, watch_and_keep)


def _run(model: nn.Module, example: Any, watch: Callable[[], AbstractContextManager[Any]], derivatives: bool) -> Any:
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # torch's fast transformer layers call no activation of their own
    try:
        with seeded(), watch():
            return copy_tensors(run_once(model, example, derivatives=derivatives))
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
