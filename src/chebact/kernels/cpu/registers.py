"""The vector registers of the processor that Numba compiles for."""

from __future__ import annotations

import os

WIDTHS = (4, 8, 16)  # of float32; half as many float64


def native_lanes() -> int:
    """How many float32 fill a vector register here: 16 with AVX-512, 8 with AVX, else 4. `CHEBACT_LANES` overrides it.

    >>> native_lanes() in WIDTHS
    True
    """
    asked = asked_lanes()
    if asked is not None:
        return asked
    features = _target_features()
    return 16 if "+avx512f" in features else 8 if "+avx" in features else 4


def asked_lanes() -> int | None:
    """What `CHEBACT_LANES` asks for, or None."""
    asked = os.environ.get("CHEBACT_LANES")
    if not asked:
        return None
    if asked not in map(str, WIDTHS):
        raise ValueError(f"CHEBACT_LANES must be one of {', '.join(map(str, WIDTHS))}, got {asked!r}; or unset it")
    return int(asked)


def has_many_registers() -> bool:
    """Whether there are 32 vector registers (AVX-512, ARM) and not 16."""
    features = _target_features()
    return "+avx512vl" in features or "+neon" in features


def _target_features() -> list[str]:
    """What the processor that Numba compiles for can do."""
    from numba.core.registry import cpu_target  # heavy, and not wanted before something is compiled

    return str(cpu_target.target_context.codegen().magic_tuple()[2]).split(",")
