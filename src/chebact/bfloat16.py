"""Whether this processor computes products in bfloat16, tried in a child process.

On some machines (AMX in a virtual machine) torch's library for them, oneDNN, uses an instruction that the machine does
not have, and the process is killed without a message. An environment variable that is read when torch starts keeps the
library from using it.

This file imports the standard library only: the tests read it before torch is imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from typing import Literal

__all__ = ["LIMIT", "Answer", "ask", "why_not"]

Answer = Literal["works", "works limited", "dies"]
LIMIT = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}
PROGRAM = """
import torch
a = torch.randn(64, 64).bfloat16()
a @ a
network, x = torch.nn.Conv2d(16, 32, 3), torch.randn(8, 16, 8, 8, requires_grad=True)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = network(x.contiguous(memory_format=torch.channels_last))
y.float().sum().backward()
"""
TIMEOUT = 120  # seconds; a machine that is so busy is not one that dies


@cache
def ask(program: str = PROGRAM) -> Answer:
    """Run products in bfloat16 in a child process, and if they kill it, once more with `LIMIT` set."""
    if survives(program, {}):
        return "works"
    return "works limited" if survives(program, LIMIT) else "dies"


def survives(program: str, more: Mapping[str, str]) -> bool:
    """Whether a Python program ends, or raises an error, with these variables in its environment."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, **more}, capture_output=True, timeout=TIMEOUT
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode in (0, 1)


def why_not() -> str | None:
    """None if products in bfloat16 work in this process, or a sentence that says what to do.

    >>> why_not() is None or "bfloat16" in why_not()
    True
    """
    answer = ask(PROGRAM)
    if answer == "works":
        return None
    advice = "use float32"
    if answer == "works limited":
        (name, value), *_ = LIMIT.items()
        advice = f"set {name}={value} in the environment and run the same command again, or use float32"
    return f"torch's products in bfloat16 kill the process on this processor: {advice}"
