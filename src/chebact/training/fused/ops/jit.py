"""How the functions inside the operations are compiled, and the integers that an operation gets."""

from __future__ import annotations

from typing import Any

import numba

ARENA, COUNT, RATES, STEP, LOSS = range(5)
"""The context of a worker: the address of its memory, the points of this batch, the address of the step sizes, how
many steps this replica has made (from 1), and the address of the loss of this batch (float64)."""
CONTEXT_LENGTH = 8
RECORD_LENGTH = 16
"""Integers of an operation's record: the address of its C function, then what that function reads."""

jit: Any = numba.njit(error_model="numpy", nogil=True)
