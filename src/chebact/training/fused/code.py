"""Compiles the operations when they are first used, and keeps them on disk."""

from __future__ import annotations

import logging
import time
import zlib
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["Code"]

_log = logging.getLogger("chebact")


@dataclass(frozen=True)
class Code:
    """The compiled operations for one type of numbers and one width of vectors (in numbers of this type)."""

    double: bool
    lanes: int

    def function(self, module: str, name: str, *choices: int | float, maker: str = "programs") -> Any:
        """The C function `name` that `maker` of ops/`module` makes for these choices."""
        return _compiled(module, maker, name, self.double, self.lanes, choices)


@lru_cache(maxsize=512)
def _compiled(module: str, maker: str, name: str, double: bool, lanes: int, choices: tuple[Any, ...]) -> Any:
    from numba import cfunc, float32, float64, types

    programs = getattr(import_module(f"chebact.training.fused.ops.{module}"), maker)
    function = programs(float64 if double else float32, lanes, _edition(), *choices)[name]
    signature, start = types.void(*[types.int64] * function.__code__.co_argcount), time.perf_counter()
    try:
        found = cfunc(signature, cache=True)(function)
    except Exception:  # no folder for the cache can be written, or what lies there is broken
        found = cfunc(signature)(function)
    if time.perf_counter() - start > 0.2:  # from the disk it takes a few milliseconds
        _log.info("compiled %s.%s for the fused trainer in %.1f s", module, name, time.perf_counter() - start)
    return found


@lru_cache(maxsize=1)
def _edition() -> int:
    """A number that changes with the source of the operations: Numba itself watches one file per function."""
    from chebact.kernels.cpu import lanes

    sources = [*sorted((Path(__file__).parent / "ops").glob("*.py")), Path(lanes.__file__)]
    return zlib.crc32(b"".join(source.read_bytes() for source in sources))
