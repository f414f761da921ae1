"""Runs a compiled C function on the threads that torch itself computes with.

torch's own OpenMP library starts the team, so there is no second pool of threads to fight with the first. Where its
entry point is not to be found (macOS, Windows), Python threads do the same work: the functions release the GIL.
A forked child has no team (torch's own hangs there): it works on its one thread.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch


def _is_forked_copy() -> bool:
    """Whether this process was forked from another and runs no program of its own; known on Linux alone."""
    try:
        flags = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[6])
    except (OSError, ValueError, IndexError):
        return False
    return bool(flags & 0x40)  # PF_FORKNOEXEC


_forked = _is_forked_copy()


def _note_fork() -> None:
    global _forked
    _forked = True


def is_forked() -> bool:
    """Whether this process is a forked child, whose parent's threads it does not have."""
    return _forked


@contextmanager
def torch_on_one_thread() -> Iterator[None]:
    """Let torch's own operations stay on this thread: in a forked child they would wait for threads that are gone."""
    before = torch.get_num_threads()
    if before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


class Program:
    """A compiled C function of one address; `run` calls it on one thread or on several at once."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled  # keeps the machine code alive
        self._entry = compiled.address
        self._call: Callable[[int], None] = ctypes.CFUNCTYPE(None, ctypes.c_int64)(compiled.address)

    def run(self, block: int, threads: int) -> None:
        """Call the function with `block`, on `threads` threads at once; returns when all are done."""
        if threads <= 1 or _forked:
            self._call(block)
        elif (team := _openmp_team()) is not None:
            team(self._entry, block, threads, 0)
        else:
            self.run_on_python_threads(block, threads)

    def run_on_python_threads(self, block: int, threads: int) -> None:
        """As `run`, for calls of a tenth of a second and more: who waits sleeps, where a thread of the team would spin.

        The others are waited for whatever happens, since they write to memory that is given back next. One that has not
        begun when this thread is done has nothing left to do.
        """
        if threads <= 1 or _forked:
            self._call(block)
            return
        others: list[Future[None]] = []
        try:
            with suppress(RuntimeError):  # no more threads are to be had: those that there are do all of the work
                others.extend(_python_threads().submit(self._call, block) for _ in range(threads - 1))
            self._call(block)
        finally:
            _wait_for([other for other in others if not other.cancel()])


def _wait_for(others: list[Future[None]]) -> None:
    """Wait until all are done; an interrupt is raised after that."""
    try:
        wait(others)
    except KeyboardInterrupt:
        _wait_for(others)
        raise


def threading_layer() -> str:
    """What the threads of the CPU kernel are, in words."""
    if _forked:
        return "one thread (forked child)"
    return "torch's OpenMP team" if _openmp_team() is not None else "Python threads"


def available_threads() -> int:
    """How many threads the CPU kernel may use now."""
    return 1 if _forked else torch.get_num_threads()


@lru_cache(maxsize=1)
def _openmp_team() -> Any | None:
    for library in sorted((Path(torch.__file__).parent / "lib").glob("libgomp*")):
        try:
            team = ctypes.CDLL(str(library)).GOMP_parallel
        except (OSError, AttributeError):
            continue
        team.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
        team.restype = None
        return team
    return None


@lru_cache(maxsize=1)
def _python_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="chebact")
