"""Run pieces of work on this machine's cores or on a Dask cluster. What comes out does not depend on which."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import joblib
import torch

from chebact.lab import LabError
from chebact.training.memory import keep_freed_memory

__all__ = ["cores", "run_all"]

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(
    work: Callable[[Piece], Result], pieces: Sequence[Piece], *, workers: int | None = None, dask: str | None = None
) -> Iterator[Result]:
    """Yield `work(piece)` of all pieces as they are done.

    `workers` processes of one thread each (all cores when None), or the cluster whose scheduler is at the address
    `dask`. One thread a worker is the fastest for many small matrices: the workers never wait for each other.
    """
    if dask is not None:
        yield from on_dask(work, pieces, dask)
    elif (count := min(workers or cores(), len(pieces))) > 1:
        yield from joblib.Parallel(**in_turn(count))(joblib.delayed(alone)(work, piece) for piece in pieces)
    else:
        yield from (alone(work, piece) for piece in pieces)


def alone(work: Callable[[Piece], Result], piece: Piece) -> Result:
    """Do one piece on one thread, and leave the process's number of threads as it was."""
    keep_freed_memory()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return work(piece)
    finally:
        torch.set_num_threads(threads)


def in_turn(count: int) -> dict[str, Any]:
    """Each worker takes the next piece when it has done one; the longest go first, so the last ones are short."""
    return {"n_jobs": count, "return_as": "generator_unordered", "batch_size": 1, "pre_dispatch": "all"}


def on_dask(work: Callable[[Piece], Result], pieces: Sequence[Piece], address: str) -> Iterator[Result]:
    with connected(address), joblib.parallel_config(backend="dask"):
        yield from joblib.Parallel(**in_turn(-1))(joblib.delayed(alone)(work, piece) for piece in pieces)


@contextlib.contextmanager
def connected(address: str, timeout: float = 5) -> Iterator[Any]:
    """A client of the scheduler at this address."""
    try:
        from distributed import Client
    except ImportError as error:
        raise LabError("--dask needs the extra 'dask': pip install 'chebact[dask]'") from error
    try:
        client = Client(address, timeout=timeout)
    except (OSError, ValueError, TimeoutError) as error:
        raise LabError(f"no Dask scheduler answers at {address!r}: start one with `dask scheduler`") from error
    with client:
        yield client
