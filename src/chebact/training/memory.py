"""Memory and garbage collection settings for trainings with many short steps."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import platform
from collections.abc import Iterator

__all__ = ["frozen_garbage", "keep_freed_memory"]

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # the parameter numbers of glibc's mallopt
MEBIBYTE = 2**20


def keep_freed_memory() -> bool:
    """Make the C library keep freed memory instead of returning it to the system; True if it can (glibc).

    A training step frees its activations. By default their pages are unmapped and mapped again at every step, which
    costs up to half of the time. The setting affects the process until it ends, so only programs call this.

    >>> isinstance(keep_freed_memory(), bool)
    True
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    settings = {TRIM_THRESHOLD: 1024 * MEBIBYTE, TOP_PAD: 64 * MEBIBYTE, MMAP_THRESHOLD: 32 * MEBIBYTE}
    return all(mallopt(parameter, value) == 1 for parameter, value in settings.items())


@contextlib.contextmanager
def frozen_garbage() -> Iterator[None]:
    """Inside the block the garbage collector scans only objects that were created inside it.

    Every step creates small objects that trigger the collector, which would scan all imported modules again: a tenth
    of a short step. If something is frozen already, this does nothing.

    >>> with frozen_garbage():
    ...     total = sum(range(10))
    """
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
