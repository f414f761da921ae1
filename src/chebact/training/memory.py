"""Keep freed memory in the process: training frees and takes the same buffers thousands of times."""

from __future__ import annotations

import ctypes
import platform

__all__ = ["keep_freed_memory"]

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # the parameter numbers of glibc's mallopt
MEBIBYTE = 2**20


def keep_freed_memory() -> bool:
    """Tell the C library not to hand freed memory back to the system; True where that is possible (glibc).

    A training step frees its activations; without this they are unmapped and mapped anew, page by page, at every
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
