"""Two habits of the process that cost a training of many short steps dearly: returning memory, collecting garbage."""

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
    """Tell the C library not to hand freed memory back to the system; True where that is possible (glibc).

    A training step frees its activations; without this they are unmapped and mapped again, page by page, at every
    step, which costs up to half of the time. It holds for the whole process until it ends, so programs call it,
    libraries do not.

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
    """Within this context the garbage collector looks only at what was made inside it.

    Every step makes small objects that bring the collector up, and it would go through all modules that were ever
    imported, again and again: a tenth of a short step. Where something is frozen already, this does nothing.

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
