"""The random numbers of torch, Python and NumPy: kept, put back, and the same in every trial."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import torch

__all__ = ["random_states", "restore_random_states", "seeded"]


def random_states() -> tuple[Any, Any, Any]:
    """The states of the three generators."""
    return torch.get_rng_state(), random.getstate(), numpy.random.get_state()  # noqa: NPY002


def restore_random_states(states: tuple[Any, Any, Any]) -> None:
    """Put them back."""
    torch.set_rng_state(states[0])
    random.setstate(states[1])
    numpy.random.set_state(states[2])  # noqa: NPY002


@contextmanager
def seeded() -> Iterator[None]:
    """The same random numbers in every such block; those of the caller go on afterwards."""
    states = random_states()
    try:
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):  # without a list torch warns of many
            torch.manual_seed(0)
            random.seed(0)
            numpy.random.seed(0)  # noqa: NPY002
            yield
    finally:
        restore_random_states(states)
