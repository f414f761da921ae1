"""Machine code that Numba compiles when it is first used and keeps on disk; written anew where it is broken."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

_log = logging.getLogger("chebact")
_said: set[str] = set()


@lru_cache(maxsize=1)
def why_not() -> str | None:
    """Why Numba cannot compile here, or None where it can."""
    try:
        import numba
    except Exception as error:  # a broken install raises anything
        return f"Numba cannot be imported ({type(error).__name__}: {error})"
    if numba.config.DISABLE_JIT:
        return "Numba does not compile, since NUMBA_DISABLE_JIT is set"
    return None


def compile_kept(function: Any, signature: Any, kind: str) -> Any:
    """The compiled C function: from disk, or compiled and put there, or compiled for this process alone.

    `kind` tells it from others that were made at the same line. Numba keeps one list of files per name, and two
    processes that add to it at once can swap what it says.
    """
    from numba import cfunc

    function.__qualname__ = kind
    try:
        return cfunc(signature, cache=True)(function)
    except Exception as error:  # no folder for it can be written, or what lies there is broken, or it does not compile
        first = error
    with suppress(Exception):
        folder = _remove_kept(function)
        compiled = cfunc(signature, cache=True)(function)
        _warn_once(f"the compiled code in {folder} was broken ({_described(first)}) and has been written anew")
        return compiled
    compiled = cfunc(signature)(function)
    _warn_once(
        f"the compiled code cannot be kept on disk ({_described(first)}), so every process compiles it again for "
        "some 10 s; name a folder that can be written in NUMBA_CACHE_DIR"
    )
    return compiled


def _remove_kept(function: Any) -> Path:
    """Remove the files that Numba keeps for this function; their folder."""
    from numba.core.caching import FunctionCache

    folder = Path(FunctionCache(function).cache_path)
    for file in folder.glob(f"*.{function.__qualname__}-*.nb[ci]"):
        file.unlink(missing_ok=True)
    return folder


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"


def _warn_once(sentence: str) -> None:
    """Say it once per process and kind: the sentences of other functions differ in their details alone."""
    kind = sentence.partition("(")[0]
    if kind not in _said:
        _said.add(kind)
        _log.warning(sentence)
