"""Compiles the operations on first use and caches them on disk."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy

__all__ = ["Code"]


@dataclass(frozen=True)
class Code:
    """The compiled operations for one type and one vector width (in numbers of this type)."""

    double: bool
    lanes: int
    tall: bool
    """Whether there are enough registers for tall tiles of products."""

    @property
    def numbers(self) -> Any:
        """The type of its numbers for NumPy."""
        return numpy.float64 if self.double else numpy.float32

    def function(self, module: str, name: str, *choices: int | float, maker: str = "programs") -> Any:
        """The C function `name` that `maker` of ops/`module` returns for these options."""
        return _compiled(module, maker, name, self.double, self.lanes, choices)


@lru_cache(maxsize=512)
def _compiled(module: str, maker: str, name: str, double: bool, lanes: int, choices: tuple[Any, ...]) -> Any:
    from numba import float32, float64, types

    from chebact.kernels.cpu.compiler import compile_kept

    programs = getattr(import_module(f"chebact.training.fused.ops.{module}"), maker)
    function = programs(float64 if double else float32, lanes, _source_hash(), *choices)[name]
    signature = types.void(*[types.int64] * function.__code__.co_argcount)
    kind = "_".join(re.sub(r"\W", "_", str(part)) for part in (name, "double" if double else "single", lanes, *choices))
    return compile_kept(function, signature, kind)


@lru_cache(maxsize=1)
def _source_hash() -> int:
    """A number that changes with the source of the operations: Numba checks only one file per function."""
    from chebact.kernels.cpu import lanes, vector_code

    below = [Path(str(module.__file__)) for module in (lanes, vector_code)]
    sources = [*sorted((Path(__file__).parent / "ops").glob("*.py")), *below]
    return zlib.crc32(b"".join(source.read_bytes() for source in sources))
