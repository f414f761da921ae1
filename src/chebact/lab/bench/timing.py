"""Times contenders interleaved, so that other load on the machine affects all of them alike."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median, quantiles

import torch


@dataclass(frozen=True)
class Timing:
    """Seconds per call: the median of the rounds, and the quartiles as its spread."""

    seconds: float
    lower: float
    upper: float
    rounds: int

    def over(self, other: Timing) -> float:
        """This median as a multiple of another."""
        return self.seconds / other.seconds


def interleaved(
    calls: dict[str, Callable[[], object]], *, budget: float = 2.0, rounds: int | None = None
) -> dict[str, Timing]:
    """Each call's timing: rounds in which every contender is called once (many times if it is short).

    The order is drawn again for every round: a contender that always followed one that leaves the cache or the
    allocator in a good state would gain by it. `budget` is the time for all contenders together, in seconds; at
    least seven rounds are made.
    """
    repeats = {name: _repeats(call) for name, call in calls.items()}
    started = time.perf_counter()
    one_round = {name: [_timed(call, repeats[name])] for name, call in calls.items()}
    cost = time.perf_counter() - started
    count = rounds or max(7, min(101, int(budget / max(cost, 1e-9))))
    order = list(calls)
    shuffle = random.Random(0).shuffle
    gc.collect()
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(count):
            shuffle(order)
            for name in order:
                one_round[name].append(_timed(calls[name], repeats[name]))
    finally:
        if collecting:
            gc.enable()
    return {name: _summary(times[1:]) for name, times in one_round.items()}


def kept_bytes(call: Callable[[], torch.Tensor]) -> int:
    """How many bytes autograd keeps for the backward pass of `call`, every storage counted once."""
    storages: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = call()
    del result
    return sum(storages.values())


def _repeats(call: Callable[[], object]) -> int:
    """How many calls make a timing of about two milliseconds."""
    call()
    call()
    return max(1, min(200, int(0.002 / max(_timed(call, 1), 1e-7))))


def _timed(call: Callable[[], object], repeats: int) -> float:
    if repeats == 1:  # a long call: the one before may have freed memory, and allocating it again is not its work
        call()
    started = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - started) / repeats


def _summary(times: list[float]) -> Timing:
    lower, _, upper = quantiles(times, n=4)
    return Timing(median(times), lower, upper, len(times))
