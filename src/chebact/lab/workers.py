"""Run pieces of work on this machine's cores or on a Dask cluster. The results do not depend on which."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, TypeVar

import joblib
import torch
from joblib.externals.loky.process_executor import TerminatedWorkerError

from chebact.lab import LabError
from chebact.lab.spec import check_count
from chebact.training.memory import keep_freed_memory

__all__ = ["check_workers", "cores", "run_all"]

Piece = TypeVar("Piece")
Result = TypeVar("Result")

WAIT = 10  # seconds until a cluster without workers is an error
WATCH = 0.5  # seconds between two checks that the parent is alive


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_workers(workers: int | None, dask: str | None) -> None:
    """A LabError for a number of workers below 1, or for one together with a cluster."""
    if workers is None:
        return
    check_count("workers", workers)
    if dask is not None:
        raise LabError(
            "`workers` (processes of this machine) and `dask` (workers of a cluster) exclude each other; give one"
        )


def run_all(
    work: Callable[[Piece], Result], pieces: Sequence[Piece], *, workers: int | None = None, dask: str | None = None
) -> Iterator[Result]:
    """Yield `work(piece)` of all pieces as they are done.

    `workers` processes of one thread each (all cores when None), or the cluster whose scheduler is at the address
    `dask`. One thread per worker is the fastest for many small matrices: the workers never wait for each other.
    """
    if dask is not None:
        yield from run_on_dask(work, pieces, dask)
    elif (count := min(workers or cores(), len(pieces))) > 1:
        yield from run_in_processes(work, pieces, count)
    else:
        yield from (run_on_one_thread(work, piece) for piece in pieces)


def run_in_processes(work: Callable[[Piece], Result], pieces: Sequence[Piece], count: int) -> Iterator[Result]:
    """The results of `count` worker processes. An error or a signal that ends this early ends them too."""
    parallel = joblib.Parallel(**parallel_options(count))
    results = parallel(joblib.delayed(run_as_worker)(os.getpid(), work, piece) for piece in pieces)
    try:
        for result in results:  # noqa: UP028 - `yield from` would close it where its warning cannot be caught
            yield result
    except TerminatedWorkerError as error:
        raise LabError(
            "a worker process was killed, perhaps because the memory was full: the same command continues from "
            "there; a smaller number with `workers` needs less memory"
        ) from error
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about work that was not done, which is intended here
            results.close()


def run_as_worker(parent: int, work: Callable[[Piece], Result], piece: Piece) -> Result:
    """Do one piece in a worker process."""
    end_with_parent(parent)
    return run_on_one_thread(work, piece)


@cache
def end_with_parent(parent: int) -> None:
    """Have this process end soon after its parent, even if the parent was killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH)
        os._exit(1)

    threading.Thread(target=watch, name="watch the parent", daemon=True).start()


def run_on_one_thread(work: Callable[[Piece], Result], piece: Piece) -> Result:
    """Do one piece on one thread, then restore the process's number of threads."""
    keep_freed_memory()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return work(piece)
    finally:
        torch.set_num_threads(threads)


def parallel_options(count: int) -> dict[str, Any]:
    """Each worker takes the next piece when it has done one; the longest go first, so the last ones are short."""
    return {"n_jobs": count, "return_as": "generator_unordered", "batch_size": 1, "pre_dispatch": "all"}


def run_on_dask(work: Callable[[Piece], Result], pieces: Sequence[Piece], address: str) -> Iterator[Result]:
    with dask_client(address), joblib.parallel_config(backend="dask", wait_for_workers_timeout=WAIT):
        try:
            results = joblib.Parallel(**parallel_options(-1))(
                joblib.delayed(run_on_one_thread)(work, piece) for piece in pieces
            )
        except TimeoutError as error:
            raise LabError(f"the Dask scheduler at {address!r} has no workers: start one with `dask worker`") from error
        yield from results


@contextlib.contextmanager
def dask_client(address: str, timeout: float = 5) -> Iterator[Any]:
    """A client of the scheduler at this address."""
    try:
        from distributed import Client
    except ImportError as error:
        raise LabError("`dask` needs the extra 'dask': pip install 'chebact[dask]'") from error
    try:
        client = Client(address, timeout=timeout)
    except (OSError, ValueError, TimeoutError) as error:
        raise LabError(f"no Dask scheduler answers at {address!r}: start one with `dask scheduler`") from error
    with client:
        yield client
