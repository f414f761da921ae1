"""Machine code of the CPU kernel: compiled when first used, kept on disk by Numba, written anew where it is broken."""

from __future__ import annotations

import logging
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from chebact.kernels.cpu.registers import native_lanes
from chebact.kernels.cpu.threads import Program

LONG = 0.5  # seconds: reading from disk takes less, once Numba itself is ready
NO_LOOPS = frozenset(("__init__.py", "compiler.py", "threads.py"))

_log = logging.getLogger("chebact")
_said: set[str] = set()


@lru_cache(maxsize=256)
def program(step: str, form: str, double: bool, *choices: bool) -> Program:
    """The machine code of one step of one kind of call, for float64 or float32.

    The form is that of `form_of`; the four choices are those of `cubic.programs`, and tables and the last sums know
    none of them but whether there are lines.
    """
    if step in ("tables", "finish") and any(choices[:1] + choices[2:]):
        return program(step, form, double, False, choices[1], False, False)
    from numba import types

    with _announced(f"{step}, {'float64' if double else 'float32'}"):
        lanes = native_lanes() // (2 if double else 1)
        kind = f"{step}_{form}_{'double' if double else 'single'}{lanes}_{''.join('ny'[choice] for choice in choices)}"
        return Program(compile_kept(_function(step, form, double, lanes, choices), types.void(types.int64), kind))


def _function(step: str, form: str, double: bool, lanes: int, choices: tuple[bool, ...]) -> Any:
    from numba import float32, float64

    dtype = float64 if double else float32
    if form == "cubic":
        from chebact.kernels.cpu.cubic import programs as power_programs

        return power_programs(dtype, lanes, _edition(), *choices)[step]
    from chebact.kernels.cpu.above_cubic import programs

    return programs(dtype, lanes, _edition(), form, *choices)[step]


@contextmanager
def _announced(what: str) -> Iterator[None]:
    """Say before the first one that it may take long, and of each that did how long it took."""
    start = time.perf_counter()
    if "first" not in _said:
        _said.add("first")
        _log.info("preparing the CPU kernel: what is not on disk yet is compiled, for some 10 s, and kept there")
    yield
    seconds = time.perf_counter() - start
    if seconds > LONG:
        _log.info("the CPU kernel is ready (%s) after %.1f s", what, seconds)


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
        _warn_once(f"the compiled CPU kernel in {folder} was broken ({_described(first)}) and has been written anew")
        return compiled
    compiled = cfunc(signature)(function)
    _warn_once(
        f"the compiled CPU kernel cannot be kept on disk ({_described(first)}), so every process compiles it again for "
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


@lru_cache(maxsize=1)
def _edition() -> int:
    """A number that changes with the source of the loops: Numba itself watches one file per function."""
    sources = sorted(file for file in Path(__file__).parent.glob("*.py") if file.name not in NO_LOOPS)
    return zlib.crc32(b"".join(source.read_bytes() for source in sources))
